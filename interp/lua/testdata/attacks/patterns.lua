-- Patterns that try for ever, or that are faulty, and what replaces their matches.

-- ends: budget
function attack()
    return (("a"):rep(28)):find(("a?"):rep(28) .. ("a"):rep(29))
end
---
-- ends: budget
function attack()
    return (("a"):rep(1000)):match((".-"):rep(50) .. "b")
end
---
-- ends: budget
function attack()
    return (("a"):rep(1000)):match(("a*"):rep(50) .. "b")
end
---
-- ends: budget
function attack()
    return (("a"):rep(5000)):find("(a*)(a*)(a*)b")
end
---
-- ends: budget
function attack()
    return (("a"):rep(100000)):find("a-b")
end
---
-- ends: budget
function attack()
    return (("a"):rep(100000)):find("(a*)%1b")
end
---
-- ends: budget
function attack()
    return (("("):rep(100000)):find("%b()")
end
---
-- ends: budget
function attack()
    return (("a"):rep(100000)):find("[" .. ("b"):rep(100000) .. "]")
end
---
-- ends: budget
function attack()
    return (("a"):rep(100000)):find("%f[" .. ("b"):rep(100000) .. "]")
end
---
-- ends: budget
function attack()
    return (("a"):rep(200000)):find(("a"):rep(100000) .. "b", 1, true)
end
---
-- ends: budget
function attack()
    return (("a"):rep(200000)):find(("a"):rep(100000) .. "b.")
end
---
-- ends: budget
function attack()
    local s = ("ab"):rep(100000)
    while true do s:find("zz", 1, true) end
end
---
-- ends: budget
function attack()
    local s = ("ab"):rep(100000)
    while true do s:find("b", -1) s:find("", 1) s:find("^b") end
end
---
-- ends: error "pattern too complex"
function attack()
    return (("a"):rep(1000)):find(("a*"):rep(1000))
end
---
-- ends: error "pattern too complex"
function attack()
    return (("a"):rep(100000)):find(("a?"):rep(50000))
end
---
-- ends: error "too many captures"
function attack()
    return ("a"):find(("("):rep(100000))
end
---
-- ends: error "too many captures"
function attack()
    return ("a"):find(("()"):rep(100000))
end
---
-- ends: error "malformed pattern \\(missing ']'\\)"
function attack()
    return ("a"):find(("["):rep(10000))
end
---
-- ends: error "malformed pattern \\(ends with '%'\\)"
function attack()
    return ("a"):rep(1000):gsub("a%", "b")
end
---
-- ends: error "missing '\\[' after '%f' in pattern"
function attack()
    return ("a"):find("%f")
end
---
-- ends: error "unbalanced pattern"
function attack()
    return ("a"):find("%b")
end
---
-- ends: error "invalid capture index"
function attack()
    return ("a"):gsub("a", "%9")
end
---
-- ends: error "invalid use of '%' in replacement string"
function attack()
    return ("a"):gsub("a", "%")
end
---
-- ends: error "unfinished capture"
function attack()
    return ("a"):gsub("(a", "%1")
end
---
-- ends: error "invalid pattern capture"
function attack()
    return ("a"):find(".)")
end
---
-- ends: error "invalid replacement value \\(a table\\)"
function attack()
    return ("a"):gsub("a", function() return {} end)
end
---
-- ends: error "invalid replacement value \\(a function\\)"
function attack()
    return ("a"):gsub("a", {a = print or type})
end
---
-- ends: error "string/function/table expected, got nil"
function attack()
    return ("a"):gsub("a", nil)
end
---
-- ends: error "stack overflow"
function attack()
    local function again(c) return (("a"):rep(100):gsub("a", again)) end
    return ("a"):gsub("a", again)
end
---
-- A replacement that calls gsub within gsub goes as deep as calls may.
-- ends: error "stack overflow|too deep|budget"
function attack()
    local function again(c) return (c:gsub(".", again)) end
    return again("a")
end
---
-- ends: error "stop"
function attack()
    return ("aaaa"):gsub("a", function() error("stop") end)
end
---
-- ends: budget
function attack()
    return ("a"):rep(100000):gsub("a", function() pcall(error) return false end)
end
---
-- ends: budget
function attack()
    local t = setmetatable({}, {__index = function(t, k) return k .. k end})
    return #(("a"):rep(100000):gsub(".", t))
end
---
-- ends: error "stack overflow|too deep|budget|loop"
function attack()
    local t = {}
    setmetatable(t, {__index = function(_, k) return (k:gsub(".", t)) end})
    return ("a"):gsub(".", t)
end
---
-- ends: budget
function attack()
    local n = 0
    for a in ("a"):rep(1e6):gmatch("") do n = n + 1 end
    return n
end
---
-- ends: budget
function attack()
    for a in (("a"):rep(5000) .. "b"):gmatch("(a-)(a-)c") do end
end
---
-- An iterator that is called after its end starts nothing anew.
-- ends: fine
function attack()
    local next = ("ab"):gmatch(".")
    assert(next() == "a" and next() == "b")
    for _ = 1, 100 do assert(next() == nil) end
end
---
-- An iterator remembers where it is, which no call may leave behind.
-- ends: error "made while the file was loaded"
local next = ("a b c"):gmatch("%a")
next()
function run(ctx, call)
    return annotate{word = next()}
end
---
-- ends: error "made while the file was loaded"
local kept = {next = ("a b c"):gmatch("%a")}
function run(ctx, call)
    for word in kept.next do end
end
---
-- ends: fine
function attack()
    local all = {}
    for i = 0, 255 do all[i + 1] = string.char(i) end
    local text = table.concat(all)
    for i = 0, 255, 3 do
        local c = string.char(i)
        pcall(string.find, text, c)
        pcall(string.find, text, "%" .. c)
        pcall(string.find, text, "[" .. c .. "]")
        pcall(string.find, text, "[%" .. c .. "-]")
        pcall(string.gsub, "a", "a", "%" .. c)
        pcall(string.format, "%" .. c, 1)
    end
end
---
-- ends: fine
function attack()
    for i = 0, 255, 7 do
        for _, p in ipairs{"%f", "%b", "(", "[", "[^", "^", "$", "%1", "()"} do
            pcall(string.find, "aXb", p .. string.char(i))
            pcall(string.gsub, "aXb", string.char(i) .. p, "%1")
        end
    end
end
