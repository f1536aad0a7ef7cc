-- A name that nothing defines is refused when the file is loaded, whether its line would run or not.
local MAX_LIMIT = 100
local function f(n)
  return n <= MAX_LIMT --> "^undefined: MAX_LIMT \\(did you mean MAX_LIMIT\\?\\)$"
end
---
if false then
  os.execute("true") --> "^undefined: os: hooks can't reach the machine"
end
---
hook{id = "call", version = "1", run = function(ctx, call)
  if call.name == SHELL then return reject("no") end --> "^undefined: SHELL \\(did you mean shell\\?\\)$"
end}
---
hook{id = "call", version = "1", run = decision} --> "^undefined: decision"
---
local s = strng.upper("a") --> "^undefined: strng \\(did you mean string\\?\\)$"
---
function helper() end
halper() --> "^undefined: halper \\(did you mean helper\\?\\)$"
---
local a = first --> "^undefined: first \\(and 2 more\\)$"
local b, c = secnd, third
local d = first
---
-- The first line counts, wherever in it the name is.
local t = {
  [1] = function() return lower end, --> "^undefined: lower \\(and 1 more\\)$"
  [upper] = 1,
}
---
local function even(n)
  return n == 0 or odd(n - 1) --> "^undefined: odd here; the local variable of line 35 reaches from there to the end of its block$"
end
local function odd(n) return n ~= 0 and even(n - 1) end
---
do local inner = 1 end
local x = inner --> "^undefined: inner here; the local variable of line 37"
---
local x = x1 or x1 --> "^undefined: x1"
---
-- "..." is no arg.
local function f(...) return arg[1] end --> "^undefined: arg: hooks have no arg"
---
for _, name in ipairs{"x"} do goto done local y = name ::done:: end
local y2 = done --> "^undefined: done"
---
-- What is assigned anywhere in the file is defined, also where that comes later or never.
local function get() return later end
assert.eq(get(), nil)
later = 1
assert.eq(get(), 1)
---
if false then never = 1 end
assert.eq(never, nil)
---
a, b = 1, 2
a, b = b, a
assert.eq(a, 2)
---
function outer() function within() return 3 end end
outer()
assert.eq(within(), 3)
---
even = function(n) return n == 0 or odd(n - 1) end
odd = function(n) return n ~= 0 and even(n - 1) end
assert.eq(even(4), true)
---
count = (count or 0) + 1
assert.eq(count, 1)
---
-- A name that may not be there is asked for once it is assigned.
DEBUG = nil
if DEBUG then error("no") end
---
-- Members of what there is are looked up when the line runs.
local ok, message = pcall(function() return string.uper("a") end)
assert.eq(ok, false)
assert.eq(string.uper, nil)
---
local t = {name = 1, other = {}}
t.other.new, t["x"] = t.name, 2
function t.other.make() return t.name end
function t.other:method() return self.new end
assert.eq(t.other:method(), 1)
---
-- Parameters, loops and vararg functions declare.
local function f(a, ...)
  local n = 0
  for i = 1, a do for k, v in pairs({...}) do n = n + i * k + v end end
  repeat local stop = n until stop == n
  return n
end
assert.eq(f(1, 1), 2)
---
-- All of the library is there.
local all = {assert, error, getmetatable, ipairs, next, pairs, pcall, print, rawequal, rawget, rawset, select, setmetatable, tonumber, tostring, type, unpack, xpcall,
  string, table, math, require, null, array, merge, hook, patch, reject, json, re, text, path, glob}
assert.eq(#all, 33)
---
-- A global is its file's own: what a module assigns is not there, and a function of a module doesn't make one here.
local lib = require("lib.globals")
assert.eq(lib.read(), 1)
assert.fails(lib.write, "the global variable mine of lib/globals.lua can't be changed once that is loaded")
assert.eq(lib.read(), 1)
---
require("lib.globals")
local x = mine --> "^undefined: mine"
