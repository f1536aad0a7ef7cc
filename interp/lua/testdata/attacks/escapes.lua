-- Ways out: what the language has elsewhere and not here, and what would reach the host.

-- ends: error "os|nil"
function attack() os.execute("true") end
---
-- ends: error "io|nil"
function attack() io.open("/etc/passwd") end
---
-- ends: error "debug|nil"
function attack() debug.getregistry() end
---
-- ends: error "package|nil"
function attack() package.loaded.x = 1 end
---
-- ends: error "load|nil|non-function"
function attack() load(function() return "return 1" end)() end
---
-- ends: error "loadstring|nil|non-function"
function attack() loadstring("return 1")() end
---
-- ends: error "loadfile|nil|non-function"
function attack() loadfile("x.lua") end
---
-- ends: error "dofile|nil|non-function"
function attack() dofile("x.lua") end
---
-- ends: error "dump|nil|non-function"
function attack() string.dump(attack) end
---
-- ends: error "getfenv|nil|non-function"
function attack() getfenv(0).x = 1 end
---
-- ends: error "setfenv|nil|non-function"
function attack() setfenv(1, {}) end
---
-- ends: error "newproxy|nil|non-function"
function attack() newproxy(true) end
---
-- ends: error "collectgarbage|nil|non-function"
function attack() collectgarbage() end
---
-- ends: error "coroutine|nil"
function attack() coroutine.create(function() while true do end end) end
---
-- ends: error "channel|nil"
function attack() channel.make() end
---
-- ends: error "module|nil|non-function"
function attack() module("x") end
---
-- ends: error "_printregs|nil|non-function"
function attack() _printregs() end
---
-- ends: error "randomseed|nil|non-function"
function attack() math.randomseed(1) end
---
-- Names of the rewriting can't be written, nor found.
-- ends: fine
function attack()
    for _, name in ipairs{"@index", "@set", "@call", "@concat", "@born", "@mutate", "@global", "@table", "@function"} do
        assert(rawget(string, name) == nil)
        assert(("")[name] == nil)
    end
end
---
-- ends: error ""
function attack() return @index({}, 1) end
---
-- ends: fine
function attack()
    for _, lib in ipairs{string, table, math} do
        for k in pairs(lib) do assert(k:find("^%a+$"), k) end
    end
end
---
-- The metatable of text is locked.
-- ends: error "changed|index|protected|nil|boolean"
function attack()
    getmetatable("").__index = function() return "mine" end
end
---
-- ends: fine
function attack()
    local mt = getmetatable("")
    assert(type(mt) ~= "table")
    assert(not pcall(setmetatable, "", {}))
    assert(("x").upper == string.upper)
end
---
-- ends: error "changed|protected|library"
function attack() string.upper = function() return "mine" end end
---
-- ends: error "changed|protected|library"
function attack() rawset(string, "upper", function() return "mine" end) end
---
-- ends: error "changed|protected|library"
function attack() table.insert(math, 1) end
---
-- ends: error "changed|protected|library"
function attack() table.sort(string) math[1] = 2 end
---
-- ends: error "changed|protected|metatable"
function attack() setmetatable(string, {__index = function() return "mine" end}) end
---
-- ends: fine
function attack()
    for _, lib in ipairs{string, table, math, json or string, re or string, path or string} do
        assert(not pcall(setmetatable, lib, {}))
        assert(not pcall(setmetatable, lib, nil))
        assert(not pcall(rawset, lib, "x", 1))
        assert(not pcall(function() lib.x = 1 end))
        assert(not pcall(table.insert, lib, 1))
        assert(type(getmetatable(lib)) ~= "table")
    end
end
---
-- No text shows where something lies.
-- ends: fine
function attack()
    local function plain(s) return not s:find("0x") and not s:find("%x%x%x%x%x%x") end
    for _, v in ipairs{{}, function() end, print or type, string.rep, string, ("x"):gmatch("x")} do
        assert(plain(tostring(v)), tostring(v))
        assert(plain(string.format("%s", v)))
        assert(not pcall(string.format, "%p", v))
        assert(not pcall(string.format, "%v", v))
        assert(not pcall(string.format, "%d", v))
        assert(not pcall(function() return "" .. v end))
    end
end
---
-- ends: fine
function attack()
    local _, e = pcall(error, {})
    assert(not tostring(e):find("0x"))
    _, e = pcall(function() return {} .. "" end)
    assert(not e:find("0x"), e)
    _, e = pcall(function() return {} + 1 end)
    assert(not e:find("0x"), e)
    _, e = pcall(function() return {} < {} end)
    assert(not e:find("0x"), e)
    _, e = pcall(function() local t = {} t[nil] = 1 end)
    assert(not e:find("0x"), e)
    _, e = pcall(function() ({})() end)
    assert(not e:find("0x"), e)
end
---
-- ends: error "%!|option|'format'"
function attack()
    return string.format("%!", 1)
end
---
-- Formats of Go mean nothing.
-- ends: fine
function attack()
    for _, f in ipairs{"%v", "%T", "%p", "%t", "%b", "%U", "%w", "%[1]d", "%*d", "%#v", "%+v", "%a", "%n", "%"} do
        assert(not pcall(string.format, f, 1), f)
    end
    assert(string.format("%%v") == "%v")
    assert(string.format("%5s|%-5s|%.1s", "ab", "ab", "ab") == "   ab|ab   |a")
end
---
-- A finalizer never runs.
-- ends: fine
function attack()
    for _ = 1, 1000 do setmetatable({}, {__gc = function() error("it ran") end, __mode = "kv"}) end
end
---
-- The order of a library's names is the same each time.
-- ends: fine
function run(ctx, call)
    local names = {}
    for _, lib in ipairs{string, table, math} do
        for k in pairs(lib) do names[#names + 1] = k end
    end
    return annotate{names = array(names)}
end
---
-- ends: error "require|module|nil|no such"
function attack() require("os") end
---
-- ends: error "require|module|nil|no such|name"
local x = require("../../etc/passwd")
---
-- ends: error "require|module|nil|no such|name"
local x = require("/etc/passwd")
---
-- ends: error "require|module|nil|no such|name"
local x = require("lib" .. ("."):rep(10000))
