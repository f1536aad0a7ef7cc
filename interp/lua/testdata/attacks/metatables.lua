-- Metatables that loop, lie, or stand where they shouldn't.

-- ends: error "loop|too many|too long"
function attack()
    local t = setmetatable({}, {})
    getmetatable(t).__index = t
    return t.x
end
---
-- ends: error "loop|too many|too long"
function attack()
    local t = {}
    for _ = 1, 1000 do t = setmetatable({}, {__index = t}) end
    return t.x
end
---
-- ends: budget
function attack()
    local t = {}
    for _ = 1, 7 do t = setmetatable({}, {__index = t}) end
    local n = 0
    while true do n = n + (t.x or 1) end
end
---
-- ends: error "loop|too many|too long"
function attack()
    local t = setmetatable({}, {})
    getmetatable(t).__newindex = t
    t.x = 1
end
---
-- ends: error "stack overflow|too deep"
function attack()
    local t = setmetatable({}, {__index = function(t, k) return t[k] end})
    return t.x .. "" -- no tail call
end
---
-- ends: error "stack overflow|too deep"
function attack()
    local t = setmetatable({}, {__newindex = function(t, k, v) t[k] = v end})
    t.x = 1
end
---
-- ends: error "stack overflow|too deep"
function attack()
    local mt = {}
    mt.__eq = function(a, b) return a == b end
    return setmetatable({}, mt) == setmetatable({}, mt)
end
---
-- ends: error "stack overflow|too deep"
function attack()
    local mt = {}
    mt.__lt = function(a, b) return not (a < b) end
    return setmetatable({}, mt) < setmetatable({}, mt)
end
---
-- ends: error "stack overflow|too deep"
function attack()
    local mt = {}
    mt.__concat = function(a, b) return (a .. b) .. "" end
    return setmetatable({}, mt) .. "x"
end
---
-- ends: error "stack overflow|too deep"
function attack()
    local mt = {}
    mt.__add = function(a, b) return a + b + 1 end
    return setmetatable({}, mt) + 1
end
---
-- ends: error "stack overflow|too deep"
function attack()
    local mt = {}
    mt.__unm = function(a) return -a + 1 end
    return -setmetatable({}, mt)
end
---
-- ends: error "stack overflow|too deep|number"
function attack()
    local mt = {}
    mt.__len = function(a) return #a + 1 end
    return #setmetatable({}, mt)
end
---
-- ends: error "stack overflow|too deep|call"
function attack()
    local mt = {}
    local t = setmetatable({}, mt)
    mt.__call = function(...) return 1 + t(...) end
    return t()
end
---
-- ends: error "stack overflow|too deep|call|budget"
function attack()
    local mt = {}
    local t = setmetatable({}, mt)
    mt.__call = t
    return t()
end
---
-- ends: error "stack overflow|too deep"
function attack()
    local t = setmetatable({}, {__tostring = function(t) return "x" .. tostring(t) end})
    return tostring(t)
end
---
-- ends: error "string"
function attack()
    return tostring(setmetatable({}, {__tostring = function() return {} end}))
end
---
-- ends: error "stack overflow|too deep"
function attack()
    local t = setmetatable({}, {__tostring = function(t) return string.format("%s", t) .. "" end})
    return ("%s"):format(t)
end
---
-- ends: budget
function attack()
    local mt = {__eq = function() return false end, __lt = function() return true end, __le = function() return true end}
    local a, b = setmetatable({}, mt), setmetatable({}, mt)
    while true do local x = a == b or a < b or a <= b or a > b end
end
---
-- ends: budget
function attack()
    local mt = {__index = function(t, k) return k end, __newindex = function() end, __call = function() return 1 end,
        __len = function() return 1e308 end, __concat = function() return "" end, __unm = function() return 1 end}
    local t = setmetatable({}, mt)
    while true do t.x = t.y local a = t() + #t + -t .. t end
end
---
-- A length that lies changes nothing that walks a list.
-- ends: fine
function attack()
    local t = setmetatable({1, 2, 3}, {__len = function() return 2 ^ 53 end})
    assert(table.concat(t, ",") == "1,2,3")
    table.insert(t, 4)
    assert(t[4] == 4)
    table.sort(t, function(a, b) return a > b end)
    assert(t[1] == 4)
    assert(select("#", unpack(t)) == 4)
end
---
-- ends: fine
function attack()
    local t = setmetatable({}, {__metatable = "mine"})
    assert(getmetatable(t) == "mine")
    assert(not pcall(setmetatable, t, {}))
end
---
-- ends: fine
function attack()
    assert(not pcall(setmetatable, 1, {}))
    assert(not pcall(setmetatable, nil, {}))
    assert(not pcall(setmetatable, print or type, {}))
    assert(not pcall(setmetatable, true, {}))
    assert(not pcall(setmetatable, {}, 1))
    assert(not pcall(setmetatable, {}))
end
---
-- Order functions that contradict themselves.
-- ends: fine
function attack()
    local t = {}
    for i = 1, 100 do t[i] = i % 7 end
    table.sort(t, function() return true end)
    table.sort(t, function() return false end)
    local flip = false
    table.sort(t, function() flip = not flip return flip end)
    table.sort(t, function(a, b) return a <= b end)
    assert(#t == 100)
end
---
-- Sorting is stable.
-- ends: fine
function attack()
    local t = {}
    for i = 1, 200 do t[i] = {key = i % 5, at = i} end
    table.sort(t, function(a, b) return a.key < b.key end)
    for i = 2, 200 do
        assert(t[i - 1].key < t[i].key or t[i - 1].key == t[i].key and t[i - 1].at < t[i].at)
    end
end
---
-- A list that changes while it is sorted.
-- ends: fine
function attack()
    local t = {3, 1, 2, 5, 4}
    table.sort(t, function(a, b)
        for i = 1, 5 do t[i] = nil end
        t[100] = 1
        return a < b
    end)
    assert(t[1] == 1 and t[5] == 5)
end
---
-- ends: error "compare"
function attack() table.sort({3, "a", {}}) end
---
-- ends: error "compare"
function attack() table.sort({1, 2, nil, 4, nil, 6, 7}) table.sort({{}, {}}) end
---
-- ends: error "x"
function attack() table.sort({3, 1, 2}, function() error("x") end) end
---
-- ends: error "function expected"
function attack() table.sort({3, 1, 2}, 1) end
---
-- ends: error "stack overflow|too deep"
function attack()
    local function before(a, b) table.sort({2, 1}, before) return a < b end
    table.sort({3, 1, 2}, before)
end
---
-- ends: budget
function attack()
    local t = {}
    for i = 1, 300 do t[i] = i end
    table.sort(t, function(a, b)
        table.sort({unpack(t, 1, 100)}, function(c, d) return c > d end)
        return a < b
    end)
end
