-- What the rewritten operators mean.
assert.eq("a" .. 1 .. "b" .. 2.5, "a1b2.5")
assert.eq(1 .. "", "1")
local t = {1, 2, 3}
assert.eq(#t, 3)
t[#t + 1] = 4
assert.eq(t, {1, 2, 3, 4})
t.x, t.y = 1, 2
assert.eq(t.x + t.y, 3)
local k = "x"
t[k] = t[k] + 10
assert.eq(t.x, 11)
assert.eq(7 % 3, 1)
assert.eq(-7 % 3, 2)
assert.eq(7 % -3, -2)
assert.eq(5.5 % 2, 1.5)
assert.eq(2 ^ 10, 1024)
assert.eq(2 ^ -1, 0.5)
assert.eq(9 ^ 0.5, 3)
assert.ok("a" < "b" and "b" > "a" and "a" <= "a" and "a" >= "a" and not ("b" < "a"))
assert.ok(1 < 2 and 2 > 1 and 1 <= 1 and 1 >= 1)
local a, b = 3, 4
assert.ok(a < b and a <= b and not (a > b) and not (a >= b) and a ~= b and not (a == b))
assert.ok("1" ~= 1)
assert.eq("10" + 5, 15)
assert.eq("0x10" * 2, 32)
assert.eq(-"2", -2)
assert.eq(#"abc", 3)
---
-- Assignments to several places are computed before any is written.
local t = {1, 2}
t[1], t[2] = t[2], t[1]
assert.eq(t, {2, 1})
local i = 1
i, t[i] = i + 1, 20
assert.eq(i, 2)
assert.eq(t, {20, 1})
local function two() return 7, 8, 9 end
t.a, t.b = two()
assert.eq(t.a * 10 + t.b, 78)
t.a, t.b = (two())
assert.eq(t.b, nil)
g1, t.c, g2 = 1, two(), two()
assert.eq(g1, 1)
assert.eq(t.c, 7)
assert.eq(g2, 7)
t.d, t.e = 1, 2, 3
assert.eq(t.e, 2)
---
-- Functions: methods, closures, recursion, varargs, tail calls.
local Account = {}
Account.__index = Account
function Account.new(n) local a = {n = n} return a end
function Account:add(n) self.n = self.n + n return self end
local acc = Account.new(1)
Account.add(acc, 2)
assert.eq(acc.n, 3)
local function counter()
  local n = 0
  return function() n = n + 1 return n end
end
local c = counter()
c() c()
assert.eq(c(), 3)
local function fact(n) if n <= 1 then return 1 end return n * fact(n - 1) end
assert.eq(fact(10), 3628800)
local function loop(n) if n == 0 then return "done" end return loop(n - 1) end
assert.eq(loop(5000), "done")
---
local function all(...) return ... end
local function count(...) local t = {...} return #t end
assert.eq(count(all(1, 2, 3)), 3)
assert.eq(count(all(1, 2, 3), 4), 2)
assert.eq(count((all(1, 2, 3))), 1)
local t = {all(1, 2), all(3, 4)}
assert.eq(t, {1, 3, 4})
---
-- Control flow.
local out = ""
for i = 1, 10 do
  if i == 3 then goto continue end
  if i == 6 then break end
  out = out .. i
  ::continue::
end
assert.eq(out, "1245")
for i = 3, 1, -1 do out = out .. i end
assert.eq(out, "1245321")
local n = 0
while true do n = n + 1 if n > 4 then break end end
repeat local done = n > 9 n = n + 1 until done
assert.eq(n, 11)
if n == 1 then n = 0 elseif n == 11 then n = 12 else n = 13 end
assert.eq(n, 12)
for i = 1, 2 do i = "key" local u = {} u[i] = 1 assert.eq(u.key, 1) end
---
-- A variable that an inner function changes, in each kind of scope.
local function run(param)
  local function set(v) param = v end
  set(5)
  local out = param
  for i = 1, 2 do
    local function up() i = i + 10 end
    up()
    out = out + i
  end
  repeat
    local x = 1
    local function inc() x = x + 1 end
    inc()
    out = out + x
  until x == 2
  return out
end
assert.eq(run(1), 5 + 11 + 12 + 2)
---
local t = nil
t.x = 1 --> "^attempt to index a nil value$"
---
local t = nil
local v = t.x --> "attempt to index a non-table object\\(nil\\) with key 'x'"
---
local t, k = nil, {}
local v = t[k] --> "^attempt to index a nil value$"
---
local t = {}
t[nil] = 1 --> "^table index is nil$"
---
local t = {}
t[0/0] = 1 --> "^table index is NaN$"
---
local v = 1 < "2" --> "attempt to compare number with string"
---
local a, b = {}, {}
local v = a < b --> "attempt to compare two table values"
---
local v = "a" .. {} --> "attempt to concatenate a table value"
---
local v = {} .. "a" --> "attempt to concatenate a table value"
---
local v = "a" + 1 --> "attempt to perform arithmetic on a string value"
---
local n = nil
local v = #n --> "attempt to get length of a nil value"
---
local v = 2 ^ 0.3 --> "only whole numbers"
---
undefined = nil
undefined() --> "attempt to call a non-function object"
---
local x = = 1 --> "syntax error"
---
for i = 1, 2 do
  if x then
end --> "syntax error near end at the end of the file"
---
local v = "a" .. null --> "attempt to concatenate a null value"
---
local v = null < "a" --> "attempt to compare null with string"
---
string.rep(reject("no"), 2) --> "string expected, got decision"
---
-- Whole numbers are written so that no two become the same text.
local n = json.decode("10000000000000002")
assert.eq(tostring(n), "10000000000000002")
assert.eq("order " .. -n, "order -10000000000000002")
assert.eq(tostring(2 ^ 53), "9007199254740992")
assert.eq(2 ^ 60 .. "", "1152921504606847000")
assert.eq(tostring(1e20), "100000000000000000000")
assert.eq(tostring(1e21), "1e+21")
assert.eq(tostring(2 ^ 0.5 * 1e15), "1.4142135623731e+15")
---
local function f(n) return f(n + 1) + 1 end --> "stack overflow"
f(1)
