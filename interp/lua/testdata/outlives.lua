-- What a file leaves behind when it is loaded can't be changed by a call.
local n = 0
hook{id = "call", version = "1", run = function(ctx, call)
  n = n + 1 --> "the variable n was made while the file was loaded"
end}
---
count = 0
hook{id = "call", version = "1", run = function(ctx, call)
  count = count + 1 --> "the global variable count can't be changed by a call"
end}
---
local cache = {}
hook{id = "call", version = "1", run = function(ctx, call)
  cache.x = 1 --> "this table was made while the file was loaded"
end}
---
local cache = {deep = {deeper = {}}}
hook{id = "call", version = "1", run = function(ctx, call)
  cache.deep.deeper[1] = 1 --> "this table was made while the file was loaded"
end}
---
local function counter()
  local n = 0
  return function() n = n + 1 return n end --> "the variable n was made while the file was loaded"
end
local c = counter()
assert.eq(c(), 1)
assert.eq(c(), 2)
hook{id = "call", version = "1", run = function(ctx, call) c() end}
---
-- What a call makes it may change.
hook{id = "call", version = "1", run = function(ctx, call)
  local n, t = 0, {}
  local function inc() n = n + 1 t[n] = n end
  inc() inc()
  assert.eq(n, 2)
  assert.eq(#t, 2)
end}
---
function helper() end
hook{id = "call", version = "1", run = function(ctx, call)
  function helper() end --> "the global variable helper can't be changed"
end}
---
function path.clean() end --> "the library can't be changed"
---
re.match = nil --> "the library can't be changed"
---
local lib = glob
lib["match"] = 1 --> "the library can't be changed"
---
hook{id = "call", version = "1", run = function(ctx, call)
  require("lib.paths") --> "require is only for files that are being loaded"
end}
---
hook{id = "call", version = "1", run = function(ctx, call)
  hook{} --> "hook can only be called while a file loads"
end}
---
local paths = require("lib.paths")
paths.extra = 1 --> "this table was made while the file was loaded"
---
local paths = require("lib.paths")
assert.ok(paths == require("lib.paths"))
assert.ok(paths.inside("/a", "/a/b"))
---
require("lib.none") --> "require \"lib.none\": there is no such module"
---
require("lib/paths") --> "require takes names like"
---
require("..paths") --> "require takes names like"
---
local cache = {3, 1, 2}
local Class = {}
Class.__index = Class
function Class:change() rawset(self, "x", 1) end
local object = setmetatable({}, Class)
hook{id = "call", version = "1", run = function(ctx, call)
  setmetatable(cache, {}) --> "this table was made while the file was loaded"
end}
---
local cache = {3, 1, 2}
local Class = {}
Class.__index = Class
function Class:change() rawset(self, "x", 1) end
local object = setmetatable({}, Class)
hook{id = "call", version = "1", run = function(ctx, call)
  table.insert(cache, 1) --> "this table was made while the file was loaded"
end}
---
local cache = {3, 1, 2}
local Class = {}
Class.__index = Class
function Class:change() rawset(self, "x", 1) end
local object = setmetatable({}, Class)
hook{id = "call", version = "1", run = function(ctx, call)
  table.remove(cache) --> "this table was made while the file was loaded"
end}
---
local cache = {3, 1, 2}
local Class = {}
Class.__index = Class
function Class:change() rawset(self, "x", 1) end
local object = setmetatable({}, Class)
hook{id = "call", version = "1", run = function(ctx, call)
  table.sort(cache) --> "this table was made while the file was loaded"
end}
---
local cache = {3, 1, 2}
local Class = {}
Class.__index = Class
function Class:change() rawset(self, "x", 1) end
local object = setmetatable({}, Class)
hook{id = "call", version = "1", run = function(ctx, call)
  rawset(cache, 1, 2) --> "this table was made while the file was loaded"
end}
---
local cache = {3, 1, 2}
local Class = {}
Class.__index = Class
function Class:change() rawset(self, "x", 1) end
local object = setmetatable({}, Class)
hook{id = "call", version = "1", run = function(ctx, call)
  array(cache) --> "this table was made while the file was loaded"
end}
---
local cache = {3, 1, 2}
local Class = {}
Class.__index = Class
function Class:change() rawset(self, "x", 1) end
local object = setmetatable({}, Class)
hook{id = "call", version = "1", run = function(ctx, call)
  getmetatable(object).__index = nil --> "this table was made while the file was loaded"
end}
---
local cache = {3, 1, 2}
local Class = {}
Class.__index = Class
function Class:change() rawset(self, "x", 1) end
local object = setmetatable({}, Class)
hook{id = "call", version = "1", run = function(ctx, call)
  object.x = 1 --> "this table was made while the file was loaded"
end}
---
local cache = {3, 1, 2}
local Class = {}
Class.__index = Class
function Class:change() rawset(self, "x", 1) end --> "this table was made while the file was loaded"
local object = setmetatable({}, Class)
hook{id = "call", version = "1", run = function(ctx, call)
  object:change()
end}
---
-- What a loaded class makes in a call is the call's own.
local Class = {}
Class.__index = Class
Class.__newindex = function(t, k, v) rawset(t, k, v * 2) end
Class.__len = function() return 7 end
Class.__call = function(self, n) return n + 1 end
Class.__eq = function() return true end
Class.__lt = function() return true end
Class.__le = function() return false end
Class.__concat = function(a, b) return "joined" end
Class.__add = function() return "added" end
Class.__mod = function() return "rest" end
Class.__pow = function() return "power" end
Class.__unm = function() return "minus" end
Class.__tostring = function() return "text" end
hook{id = "call", version = "1", run = function(ctx, call)
  local a, b = setmetatable({}, Class), setmetatable({}, Class)
  a.n = 2
  assert.eq(a.n, 4)
  assert.eq(rawget(a, "n"), 4)
  assert.ok(#a == 7 and a(1) == 2)
  assert.ok(a == b and a < b and not (a <= b) and b > a and not (b >= a) and not rawequal(a, b))
  assert.eq({a .. "x", "x" .. a, a + 1, 1 + a, a % 2, a ^ 2, -a, tostring(a)}, {"joined", "joined", "added", "added", "rest", "power", "minus", "text"})
end}
