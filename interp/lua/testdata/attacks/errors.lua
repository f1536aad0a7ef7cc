-- Errors that are caught, that are no text, or that pretend.

-- ends: budget
function attack()
    while true do pcall(function() while true do end end) end
end
---
-- ends: budget
function attack()
    pcall(function() while true do end end)
    return "it went on"
end
---
-- ends: budget
function attack()
    local ok = pcall(string.rep, "a", 1e9)
    return ok
end
---
-- ends: budget
function attack()
    xpcall(function() string.rep("a", 1e9) end, function(e) return "handled" end)
    return "it went on"
end
---
-- ends: budget
function attack()
    xpcall(function() while true do end end, function() while true do end end)
end
---
-- ends: budget
function attack()
    local function handler(e) return xpcall(error, handler) end
    while true do xpcall(error, handler) end
end
---
-- ends: error "stack overflow|too deep|budget"
function attack()
    local function deep() return pcall(deep) and 1 end
    local function deeper() local ok, e = pcall(deeper) if not ok then error(e, 0) end return 1 end
    deep()
    local function forever() local r = 1 + forever() return r end
    return forever()
end
---
-- ends: error "stack overflow|too deep|error in error|budget"
function attack()
    local function fails() error("again") end
    local ok, e = xpcall(fails, fails)
    error(e, 0)
end
---
-- ends: error "the budget of 1 fuel"
function attack() error("the budget of 1 fuel and 1 bytes is spent", 0) end
---
-- ends: error "the wall clock ran out"
function attack() error("the wall clock ran out", 0) end
---
-- ends: error "context canceled"
function attack() error("context canceled", 0) end
---
-- ends: error ""
function attack() error() end
---
-- ends: error ""
function attack() error(nil) end
---
-- ends: error ""
function attack() error({}) end
---
-- ends: error ""
function attack() error(function() end) end
---
-- ends: error ""
function attack() error(setmetatable({}, {__tostring = function() return "text" end})) end
---
-- ends: error "|budget"
function attack() error(setmetatable({}, {__tostring = function() while true do end end})) end
---
-- ends: error ""
function attack() error(setmetatable({}, {__tostring = function() error("again") end})) end
---
-- ends: error ""
function attack() error(true, 1e300) end
---
-- ends: error "at a level"
function attack() error("at a level", 100) end
---
-- ends: error "at a level"
function attack() error("at a level", -100) end
---
-- ends: error "at a level"
function attack() error("at a level", 0 / 0) end
---
-- ends: error "aaa"
function attack() error(("a"):rep(100000)) end
---
-- ends: budget
function attack() while true do pcall(error, ("a"):rep(100000)) end end
---
-- ends: error "non-function"
function attack() local s = ("x"):rep(100000) local f = {} f[s]() end
---
-- ends: error "other.lua"
function attack() error("other.lua:1: it wasn't me", 0) end
---
-- ends: error ""
function attack() error("\27[2J\7 it is all fine\0\255", 0) end
---
-- ends: error "assertion failed"
function attack() assert(false) end
---
-- ends: error ""
function attack() assert(false, {}) end
---
-- ends: error "value expected"
function attack() assert() end
---
-- ends: fine
function attack()
    local t = {}
    local ok, e = pcall(error, t)
    assert(not ok and e == t)
    ok, e = pcall(error, nil)
    assert(not ok and e == nil)
    ok, e = pcall(pcall)
    assert(not ok)
    ok, e = pcall(nil)
    assert(not ok)
    ok, e = pcall(setmetatable({}, {__call = function() return 7 end}))
    ok, e = xpcall(function() error("x", 0) end, function(e) return e .. "y" end)
    assert(not ok and e == "xy")
end
---
-- What an error leaves on the stack is gone.
-- ends: fine
function attack()
    for i = 1, 100 do
        pcall(function(...) error(...) end, i, i, i, i)
        pcall(string.gsub, "abc", ".", function(c) error(c) end)
        pcall(table.sort, {3, 1, 2}, function() error("x") end)
    end
end
---
-- ends: fine
function attack()
    local n = 0
    for i = 1, 100 do
        local ok = pcall(function()
            local function f() n = n + 1 return f() + 1 end
            f()
        end)
        assert(not ok)
    end
end
---
-- Protected calls up to the last one that has room, again and again.
-- ends: budget
function attack()
    local f
    f = function(a)
        local x = pcall(f, a)
        return f(a)
    end
    f(1)
end
