-- Numbers that are none, that are too large, and that no float holds.

-- ends: error "NaN"
function attack() local t = {} t[0 / 0] = 1 end
---
-- ends: error "NaN"
function attack() return {[0 / 0] = 1} end
---
-- ends: error "NaN"
function attack() rawset({}, 0 / 0, 1) end
---
-- ends: error "nil"
function attack() local t = {} t[nil] = 1 end
---
-- ends: error "nil"
function attack() return {[nil] = 1} end
---
-- ends: fine
function attack()
    local t = {}
    assert(t[0 / 0] == nil and t[nil] == nil and rawget(t, 0 / 0) == nil)
    t[2 ^ 53] = 1
    t[1e300] = 2
    t[-1 / 0] = 3
    t[1 / 0] = 4
    t[-0] = 5
    assert(t[2 ^ 53] == 1 and t[1e300] == 2 and t[-1 / 0] == 3 and t[1 / 0] == 4 and t[0] == 5)
end
---
-- Numbers are written alike on each machine.
-- ends: fine
function attack()
    assert(tostring(1 / 0) == "inf" and tostring(-1 / 0) == "-inf" and tostring(0 / 0) == "nan" and tostring(-(0 / 0)) == "nan")
    assert(tostring(2 ^ 53) == "9007199254740992")
    assert(tostring(1e15) == "1e+15" or tostring(1e15) == "1000000000000000")
    assert(tostring(2 ^ 63) == "9223372036854776000", tostring(2 ^ 63))
    assert(tostring(-2 ^ 63) == "-9223372036854776000")
    assert(2 ^ 63 .. "" == tostring(2 ^ 63))
    assert(tostring(0.1) == "0.1" and tostring(1 / 3) == "0.33333333333333")
    assert(tostring(-0) == "0" or tostring(-0) == "-0")
    assert(string.format("%d", 3.7) == "3" and string.format("%d", -3.7) == "-3")
    assert(string.format("%5.1f|%-8.3e|%g", 2.25, 12345.678, 1e20) == "  2.2|1.235e+04|1e+20")
    assert(string.format("%x %X %o %#x", 255, 255, 8, 255) == "ff FF 10 0xff")
    assert(string.format("%05d|%+d|% d|%-5d|%.3d", 42, 42, 42, 42, 7) == "00042|+42| 42|42   |007")
end
---
-- ends: error "no integer representation"
function attack() return string.format("%d", 1e300) end
---
-- ends: error "no integer representation"
function attack() return string.format("%x", 0 / 0) end
---
-- ends: error "no integer representation"
function attack() return string.format("%d", 2 ^ 63) end
---
-- ends: error "invalid value"
function attack() return string.char(256) end
---
-- ends: error "invalid value"
function attack() return string.char(-1) end
---
-- ends: error "invalid value"
function attack() return string.char(0 / 0) end
---
-- ends: error "invalid value"
function attack() return string.char(2 ^ 32 + 65) end
---
-- Places far outside a text are at its ends.
-- ends: fine
function attack()
    local s = "abc"
    assert(s:sub(-1e300, 1e300) == "abc" and s:sub(1e300) == "" and s:sub(0 / 0) == "abc" and s:sub(2 ^ 53, -2 ^ 53) == "")
    assert(s:sub(2 ^ 32 + 1, 2 ^ 32 + 2) == "")
    assert(s:byte(1e300) == nil and s:byte(-1e300) == nil)
    assert(s:find("a", -1e300) == 1 and s:find("c", 1e300) == nil)
    assert(s:rep(0 / 0) == "" and s:rep(-1e300) == "")
    assert(select("#", unpack({}, 1e300, -1e300)) == 0)
end
---
-- Text that spells a number does so as in Lua, not as in Go.
-- ends: fine
function attack()
    for _, s in ipairs{"1_000", "0b1", "0o7", "inf", "nan", "Infinity", "+-1", "1e", "0x", "1 2", "", " ", "e5", ".", "0x1p4", "1__0", "--1"} do
        assert(tonumber(s) == nil, s)
        assert(not pcall(function() return s + 0 end), s)
    end
    assert(tonumber("010") == 10 and "010" + 0 == 10)
    assert(tonumber("0x10") == 16 and tonumber("0X1f") == 31 and tonumber("-0x10") == -16)
    assert(tonumber(" 5. ") == 5 and tonumber(".5") == 0.5 and tonumber("1e2") == 100 and tonumber("5\n") == 5)
    assert(tonumber("1e400") == 1 / 0 or tonumber("1e400") == nil)
    assert(tonumber("ff", 16) == 255 and tonumber("zz", 36) == 1295 and tonumber("8", 8) == nil and tonumber("-7", 8) == -7)
    assert(tonumber({}) == nil and tonumber(true) == nil and tonumber("1\0") == nil)
end
---
-- ends: error "base"
function attack() return tonumber("1", 1) end
---
-- ends: error "base"
function attack() return tonumber("1", 37) end
---
-- ends: error "base"
function attack() return tonumber("1", 0 / 0) end
---
-- Literals are read as in Lua.
-- ends: fine
function attack()
    assert(010 == 10)
    assert(0x10 == 16)
    assert(1e2 == 100 and .5 == 0.5 and 3. == 3)
end
---
-- ends: error ""
local x = 0b1
---
-- ends: error ""
local x = 1_000
---
-- ends: error ""
local x = 0o7
---
-- ends: fine
local x = 1e400
---
-- Powers are those that all machines agree on.
-- ends: error "exponent|power"
function attack() return 2 ^ 0.3 end
---
-- ends: fine
function attack()
    assert(2 ^ 10 == 1024 and 2 ^ -1 == 0.5 and 4 ^ 0.5 == 2 and (-2) ^ 3 == -8 and 0 ^ 0 == 1 and 10 ^ 2 == 100)
    assert(2 ^ 1023 * 2 == 1 / 0 and 2 ^ -1000 > 0)
    local e, b = 10, 2
    assert(b ^ e == 1024)
end
---
-- ends: error "exponent|power"
function attack() return 2 ^ (0 / 0) end
---
-- ends: error "exponent|power|budget"
function attack() return 2 ^ (1 / 0) end
---
-- ends: fine
function attack()
    assert(5 % 3 == 2 and -5 % 3 == 1 and 5 % -3 == -1 and 5.5 % 2 == 1.5)
    assert((5 % 0) ~= (5 % 0) and (1 / 0 % 2) ~= (1 / 0 % 2))
    assert(math.fmod(-5, 3) == -2 and math.fmod(5, 0) ~= math.fmod(5, 0))
    assert(math.max(1, 0 / 0, 3) == 3 and math.min(2, 1) == 1)
    assert(not pcall(math.max))
    assert(math.floor(-0.5) == -1 and math.ceil(-0.5) == 0 and math.sqrt(2) == 2 ^ 0.5)
    assert(math.ldexp(1, 1e300) == 1 / 0 and math.ldexp(1, -1e300) == 0)
    local f, i = math.modf(-1 / 0)
    assert(f == -1 / 0 and i == 0)
    assert(math.huge == 1 / 0 and math.pi > 3.14)
end
---
-- ends: fine
function attack()
    for _, name in ipairs{"sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "exp", "log", "log10", "pow"} do
        assert(math[name] == nil, name)
    end
end
