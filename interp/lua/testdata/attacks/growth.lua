-- Values that grow. Each chunk's attack() is run three times under a small budget and must end the same.

-- ends: budget
function attack()
    local x = "a"
    while true do x = x .. x end
end
---
-- ends: budget
function attack()
    local x = "a"
    for _ = 1, 60 do x = x .. x .. x .. x end
    return #x
end
---
-- ends: budget
function attack()
    local x = ("a"):rep(1000)
    for i = 1, 1e9 do x = x .. i end
end
---
-- ends: budget
function attack()
    return #string.rep("a", 1e9)
end
---
-- ends: budget
function attack()
    return #("abc"):rep(2 ^ 53)
end
---
-- ends: budget
function attack()
    return #("ab"):rep(1 / 0)
end
---
-- ends: fine
function attack()
    return #("ab"):rep(-1 / 0) + #("ab"):rep(0 / 0) + #(""):rep(1e300)
end
---
-- ends: budget
function attack()
    return #string.rep(("9"):rep(100), "1e9")
end
---
-- ends: budget
function attack()
    return #string.rep(12345678, 1e8)
end
---
-- ends: budget
function attack()
    local t = {}
    for i = 1, 1e9 do t[i] = i end
end
---
-- ends: budget
function attack()
    local t = {}
    for i = 1, 1e9 do t["k" .. i] = i end
end
---
-- ends: budget
function attack()
    local t = {}
    for i = 1, 1e9 do t[-i] = i end
end
---
-- ends: budget
function attack()
    local t = {}
    for i = 1, 1e9 do t[i + 0.5] = i end
end
---
-- ends: budget
function attack()
    local t = {}
    while true do t = {t} end
end
---
-- ends: budget
function attack()
    local t = {}
    for i = 1, 1e9 do t[#t + 1] = {} end
end
---
-- ends: budget
function attack()
    local t = {}
    for i = 1, 1e9 do t[{}] = true end
end
---
-- ends: budget
function attack()
    local t = {}
    for i = 1, 1e9 do t[function() return i end] = true end
end
---
-- ends: budget
function attack()
    local t = {}
    for i = 1, 1e9 do table.insert(t, i) end
end
---
-- ends: budget
function attack()
    local t = {}
    for i = 1, 1e9 do table.insert(t, 1, i) end
end
---
-- One assignment must not fill the table up to its key.
-- ends: fine
function attack()
    local t = {}
    t[3e7] = 1
    return t[3e7]
end
---
-- ends: budget
function attack()
    local kept = {}
    for i = 1, 1e6 do
        local t = {}
        t[65535] = 1
        kept[i] = t
    end
end
---
-- ends: budget
function attack()
    for i = 1, 1e6 do
        local t = {}
        for e = 0, 15 do t[2 ^ e] = 1 end
        t[60000] = 1
    end
end
---
-- ends: budget
function attack()
    for i = 1, 1e6 do
        local t = {}
        rawset(t, 65000, 1)
    end
end
---
-- ends: budget
function attack()
    for i = 1, 1e6 do
        table.insert({}, 65000, 1)
    end
end
---
-- ends: budget
function attack()
    local t = {}
    for i = 1, 200 do t[i] = ("x"):rep(1000) end
    local s = table.concat(t)
    for _ = 1, 1e6 do
        for i = 1, 200 do t[i] = s end
        s = table.concat(t, s)
    end
end
---
-- ends: budget
function attack()
    local t = {}
    for i = 1, 1000 do t[i] = "" end
    return #table.concat(t, ("x"):rep(1e6))
end
---
-- ends: budget
function attack()
    local s = ("a"):rep(1000)
    return (s:gsub("a", s):gsub("a", s):gsub("a", s))
end
---
-- ends: budget
function attack()
    local s = ("a"):rep(10000)
    return (s:gsub("", ("%0"):rep(5) .. s))
end
---
-- ends: budget
function attack()
    local s = ("a"):rep(4000)
    return (s:gsub(".+", ("%0"):rep(10000)))
end
---
-- ends: budget
function attack()
    local s = ("a"):rep(1000)
    while true do s = s:gsub("a", function(c) return c .. c end) end
end
---
-- ends: budget
function attack()
    local s = ("a"):rep(1000)
    while true do s = s:gsub("a", {a = "aa"}) end
end
---
-- ends: budget
function attack()
    local s = "x"
    while true do s = string.format("%s%s", s, s) end
end
---
-- ends: budget
function attack()
    local s = "\0"
    while true do s = string.format("%q", s) end
end
---
-- ends: budget
function attack()
    local s = "\"\\"
    while true do s = string.format("%q%q", s, s) end
end
---
-- ends: budget
function attack()
    while true do string.format(("%99.99f"):rep(4), 1e308, 1e308, 1e308, 1e308) end
end
---
-- ends: error "invalid format \\(width or precision too long\\)"
function attack()
    return string.format("%1000000000d", 1)
end
---
-- ends: error "invalid format \\(width or precision too long\\)"
function attack()
    return string.format("%.1000000000f", 1)
end
---
-- ends: budget
function attack()
    local kept = {}
    for i = 1, 1e6 do kept[i] = ("a"):rep(100000 + i) end
end
---
-- ends: budget
function attack()
    local s = ("a"):rep(100000)
    while true do s = s:upper() .. s:lower() .. s:reverse() end
end
---
-- ends: budget
function attack()
    local t = {}
    for i = 1, 1e6 do t[i] = ("word "):gmatch("%a") end
end
---
-- Closures that hold closures.
-- ends: budget
function attack()
    local f = function() end
    while true do
        local g = f
        f = function() return g end
    end
end
---
-- ends: budget
function attack()
    local t = {}
    for i = 1, 1e6 do
        local a, b, c, d = i, i, i, i
        t[i] = function() return a, b, c, d end
    end
end
