-- Calls within calls, and values that come in crowds.

-- ends: error "stack overflow|too deep"
function attack()
    local function f() return 1 + f() end
    return f()
end
---
-- ends: budget
function attack()
    local function f() return f() end
    return f()
end
---
-- ends: error "stack overflow|too deep"
function attack()
    local function f(...) return 1 + f(1, ...) end
    return f()
end
---
-- ends: budget
function attack()
    local function f(...) return f(...) end
    return f(unpack({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}))
end
---
-- ends: error "stack overflow|too deep|overflow"
function attack()
    local function f(a) return pcall(f, a) end
    local function g(a) return {pcall(g, a)} end
    local t = g(1)
    while type(t) == "table" do
        if t[1] == false then error(t[2], 0) end
        t = t[2]
    end
end
---
-- ends: error "stack overflow|too deep"
function attack()
    local function a(n) return select(2, 1, (string.gsub("x", "x", function() return a(n + 1) end))) .. "" end
    return a(1)
end
---
-- ends: error "stack overflow|too deep"
function attack()
    local a, b
    a = function() return b() + 1 end
    b = function() return a() + 1 end
    return a()
end
---
-- ends: fine
function attack()
    local function count(n) if n == 0 then return 0 end return 1 + count(n - 1) end
    assert(count(50) == 50)
end
---
-- Overflow leaves the state as it was.
-- ends: fine
function attack()
    local function f() return 1 + f() end
    for _ = 1, 20 do
        local ok, e = pcall(f)
        assert(not ok and e:find("overflow"))
    end
    local function count(n) if n == 0 then return 0 end return 1 + count(n - 1) end
    assert(count(50) == 50)
end
---
-- ends: error ""
function attack() return select(-5, 1) end
---
-- ends: error ""
function attack() return select(0, 1) end
---
-- ends: error ""
function attack() return select("x", 1) end
---
-- ends: error ""
function attack() return select(0 / 0, 1) end
---
-- ends: fine
function attack()
    assert(select("#") == 0 and select("#", nil, nil) == 2)
    assert(select(2, 1, 2, 3) == 2 and select(-1, 1, 2, 3) == 3)
    assert(select("#", select(1e300, 1, 2)) == 0)
    assert(select("#", unpack({1, nil, 3}, 1, 3)) == 3)
end
---
-- Variables of running functions that closures hold.
-- ends: error "variables of running functions|budget|stack overflow|overflow"
function attack()
    local kept = {}
    local function f(n)
        local a, b, c, d, e = n, n, n, n, n
        kept[n] = function() return a, b, c, d, e end
        return f(n + 1) + 1
    end
    return f(1)
end
---
-- ends: budget
function attack()
    local fs = {}
    for i = 1, 1e9 do
        local x = i
        fs[i % 10 + 1] = function() x = x + 1 return x end
    end
end
---
-- A variable that two functions share stays shared after a loop, and after an error.
-- ends: fine
function attack()
    local get, set
    pcall(function()
        local x = 1
        get, set = function() return x end, function(v) x = v end
        error("out")
    end)
    set(5)
    assert(get() == 5)
    local fs = {}
    for i = 1, 3 do fs[i] = function() i = i + 1 return i end end
    assert(fs[1]() == 2 and fs[1]() == 3 and fs[2]() == 3)
end
---
-- A loop whose body begins with a jump. The interpreter's compiler, left alone, makes some of them
-- jump elsewhere.
-- ends: fine
function attack()
    local t = {1,2}
    local n = 0
    while n < 5 do n = n + 1 for k, v in pairs(t) do break end end
    assert(n == 5)
    for i = 1, 3 do for k, v in pairs(t) do if false then n = n + 100 end n = n + 1 end end
    assert(n == 11, n)
    while n < 20 do if not true then n = n + 100 end n = n + 1 end
    assert(n == 20)
    repeat if nil then n = n + 100 end n = n + 1 until n > 30
    assert(n == 31)
    do
        ::top::
        if false then n = n + 100 end
        n = n + 1
        if n < 40 then goto top end
    end
    assert(n == 40)
    for _, v in ipairs{1,2,3} do
        do do while false do n = n + 1 end end end
        local x = v
        if x == 2 then goto continue end
        n = n + 1
        ::continue::
    end
    assert(n == 42)
    for _, v in ipairs{1, 2} do do break end end
    for _, v in ipairs{1, 2} do while true do break end n = n + 1 end
    assert(n == 44)
    for _, v in ipairs{1, 2} do repeat break until true n = n + 1 end
    for _, v in ipairs{1, 2} do repeat until true n = n + 1 end
    assert(n == 48)
end
---
-- Variables that closures hold stay one when an error is caught.
-- ends: fine
function attack()
    local x = 1
    local function get() return x end
    pcall(error, "e")
    x = 2
    assert(get() == 2)
    xpcall(function() x = 3 error("e") end, function() x = x + 1 end)
    assert(get() == 4 and x == 4)
    pcall(string.gsub, "a", "a", function() x = 5 error("e") end)
    assert(get() == 5)
    local inner
    pcall(function()
        local y = 1
        inner = function() y = y + 1 return y end
        inner()
        pcall(error)
        y = y + 10
        error("e")
    end)
    assert(inner() == 13)
    pcall(function() local z = 100 local f = function() z = z + 1 end f() error(z) end)
    local a, b, c = 7, 8, 9
    local function sum() return a + b + c end
    a = 1
    assert(inner() == 14 and sum() == 18 and get() == 5)
end
---
-- A list that begins with nothing keeps its length, and an iterator of gmatch ends with nothing.
-- ends: fine
function attack()
    local function fails() return nil, "why" end
    local t = {fails()}
    assert(#t == 2 and select("#", unpack(t)) == 2 and select(2, unpack(t)) == "why")
    assert(#{nil, 2} == 2)
    local next = ("a"):gmatch(".")
    assert(next() == "a" and select("#", next()) == 0)
end
