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
