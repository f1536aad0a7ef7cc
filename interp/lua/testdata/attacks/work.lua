-- Much work behind little code: one instruction or one call that walks far.

-- ends: budget
function attack()
    while true do end
end
---
-- ends: budget
function attack()
    repeat until false
end
---
-- ends: budget
function attack()
    for i = 1, 0, -0 do end
    for i = 1, 1 / 0 do end
end
---
-- ends: budget
function attack()
    for i = 1, 2, 1e-300 do end
end
---
-- A loop whose step is no number, or zero, doesn't run.
-- ends: fine
function attack()
    for i = 1, 2, 0 / 0 do end
end
---
-- ends: fine
function attack()
    for i = 1, 2, 0 do end
end
---
-- Long texts that are alike.
-- ends: budget
function attack()
    local a, b = ("a"):rep(1e6) .. "x", ("a"):rep(1e6) .. "x"
    local n = 0
    while true do if a == b then n = n + 1 end end
end
---
-- ends: budget
function attack()
    local a, b = ("a"):rep(1e6) .. "x", ("a"):rep(1e6) .. "y"
    local n = 0
    while true do if a < b then n = n + 1 end end
end
---
-- ends: budget
function attack()
    local a, b = ("a"):rep(1e6) .. "x", ("a"):rep(1e6) .. "y"
    local n = 0
    while true do if not (a >= b) and a ~= b then n = n + 1 end end
end
---
-- ends: budget
function attack()
    local a, b = ("a"):rep(1e6) .. "x", ("a"):rep(1e6) .. "x"
    while true do rawequal(a, b) end
end
---
-- A key is hashed each time it is used.
-- ends: budget
function attack()
    local k = ("k"):rep(1e6)
    local t = {[k] = 1}
    local n = 0
    while true do n = n + t[k] end
end
---
-- ends: budget
function attack()
    local k = ("k"):rep(1e6)
    local t = {}
    while true do t[k] = 1 end
end
---
-- ends: budget
function attack()
    local k = ("k"):rep(1e6)
    local t = {}
    while true do t = {[k] = 1} end
end
---
-- ends: budget
function attack()
    local k = ("k"):rep(1e6)
    local t = {[k] = 1}
    while true do rawget(t, k) end
end
---
-- ends: budget
function attack()
    local k = ("k"):rep(1e6)
    local t = {[k] = 1}
    while true do next(t, k) end
end
---
-- Text that is a number in arithmetic, up to a length.
-- ends: error "arithmetic on a string"
function attack()
    local s = ("9"):rep(1e6)
    local n = 0
    while true do n = n + s end
end
---
-- ends: budget
function attack()
    local s = ("0"):rep(1e6) .. "1"
    for i = s, s + 1e9 do local x = -s end
end
---
-- ends: budget
function attack()
    local s = ("9"):rep(1e6)
    while true do tonumber(s) end
end
---
-- ends: budget
function attack()
    local s = (" "):rep(1e6) .. "1"
    while true do tonumber(s, 36) end
end
---
-- ends: budget
function attack()
    local s = ("z"):rep(1e6)
    while true do tonumber(s, 36) end
end
---
-- ends: budget
function attack()
    local s = "1." .. ("3"):rep(1e6)
    while true do math.floor(s) end
end
---
-- The length of a table whose end was cleared.
-- ends: budget
function attack()
    local t = {}
    for i = 1, 3000 do t[i] = i end
    for i = 3000, 2, -1 do t[i] = nil end
    local n = 0
    while true do n = n + #t end
end
---
-- ends: budget
function attack()
    local t = {}
    t[60000] = 1
    t[60000] = nil
    local n = 0
    while true do n = n + #t end
end
---
-- ends: budget
function attack()
    local t = {}
    t[60000] = 1
    t[60000] = nil
    while true do
        t[#t + 1] = 1
        t[#t] = nil
    end
end
---
-- ends: budget
function attack()
    local t = {}
    t[60000] = 1
    t[60000] = nil
    while true do table.insert(t, 1) table.remove(t) end
end
---
-- Keys that were deleted are still walked over.
-- ends: budget
function attack()
    local t = {}
    for i = 1, 500 do t["k" .. i] = i end
    for i = 1, 500 do t["k" .. i] = nil end
    t.last = 1
    while true do next(t) end
end
---
-- ends: budget
function attack()
    local t = {}
    t[60000] = 1
    while true do next(t) end
end
---
-- ends: budget
function attack()
    local t = {}
    t[60000] = 1
    while true do for k, v in pairs(t) do break end end
end
---
-- ends: budget
function attack()
    local t = {}
    t[60000] = 1
    while true do table.maxn(t) end
end
---
-- ends: budget
function attack()
    local t = {}
    for i = 1, 2000 do t[i] = i end
    while true do table.insert(t, 1, table.remove(t, 1)) end
end
---
-- ends: budget
function attack()
    table.insert({}, -1e15, 1)
    table.insert({}, -1e9, 1)
end
---
-- ends: budget
function attack()
    local t = {1, 2, 3}
    table.remove(t, -2 ^ 40)
    while true do table.remove(t, 1) end
end
---
-- ends: error "invalid value|budget"
function attack()
    return table.concat({}, "", 1, 1e15)
end
---
-- ends: error "invalid value|budget"
function attack()
    return table.concat({}, "", -2 ^ 31, 2 ^ 31)
end
---
-- ends: budget
function attack()
    local t = {}
    for i = 1, 2000 do t[i] = (i * 7919) % 2003 end
    while true do
        local c = {unpack(t, 1, 100)}
        table.sort(t, function(a, b) return a > b end)
        table.sort(t)
    end
end
---
-- ends: budget
function attack()
    local t = {}
    local long = ("a"):rep(10000)
    for i = 1, 500 do t[i] = long .. i end
    while true do
        table.sort(t)
        table.sort(t, function(a, b) return a > b end)
    end
end
---
-- ends: error "too many results|budget|values"
function attack()
    local t = {}
    for i = 1, 2000 do t[i] = i end
    return select("#", unpack(t))
end
---
-- ends: error "too many|budget|values"
function attack()
    return unpack({}, 1, 1e8)
end
---
-- ends: error "too many|budget|values"
function attack()
    return unpack({}, -2 ^ 53, 2 ^ 53)
end
---
-- ends: error "too long|too many"
function attack()
    return string.byte(("a"):rep(100000), 1, -1)
end
---
-- ends: budget
function attack()
    local s = ("a"):rep(150)
    while true do string.char(s:byte(1, -1)) end
end
---
-- Many values are handed on in one instruction.
-- ends: budget
function attack()
    local t = {}
    for i = 1, 200 do t[i] = i end
    local function hand(...) return select("#", ...) end
    while true do hand(unpack(t)) end
end
---
-- ends: budget
function attack()
    local t = {}
    for i = 1, 200 do t[i] = i end
    local function f(...)
        while true do local a = {...} end
    end
    f(unpack(t))
end
---
-- ends: budget
function attack()
    local function f(...)
        while true do local a, b, c = select(-1, ...) end
    end
    f(unpack({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}))
end
---
-- ends: error "too many|budget|values|overflow"
function attack()
    local function double(n, ...)
        if n == 0 then return select("#", ...) end
        return double(n - 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ...)
    end
    return double(80, 1)
end
---
-- A remainder is made a bit at a time.
-- ends: budget
function attack()
    local n = 0
    while true do n = n + 1e308 % 3e-308 end
end
---
-- ends: budget
function attack()
    while true do math.fmod(1e308, 5e-324) end
end
---
-- ends: budget
function attack()
    local x = 1.0000001
    while true do x = x ^ 2147483647 % 3 end
end
---
-- ends: budget
function attack()
    while true do
        local x = string.format("%99.99f %.99e", 1.7976931348623157e308, 5e-324)
    end
end
---
-- ends: budget
function attack()
    while true do local s = 1e308 .. "" .. 5e-324 end
end
---
-- ends: budget
function attack()
    while true do tostring(5e-324) tostring(1.7976931348623157e308) end
end
---
-- ends: budget
function attack()
    while true do pcall(error) end
end
---
-- ends: budget
function attack()
    while true do pcall(error, {}) end
end
---
-- ends: budget
function attack()
    while true do pcall(string.rep) end
end
---
-- ends: budget
function attack()
    while true do xpcall(error, function() end) end
end
---
-- ends: budget
function attack()
    while true do xpcall(function() local x = nil + 1 end, tostring) end
end
