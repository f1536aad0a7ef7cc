-- Source that is hard to read for a machine.

-- ends: error "nest|deep|too"
local x = @{300 "("}1@{300 ")"}
---
-- ends: error "nest|deep|too|source"
local x = @{50000 "("}1@{50000 ")"}
---
-- ends: error "nest|deep|too|source"
local x = @{100000 "{"}@{100000 "}"}
---
-- ends: error "nest|deep|too|source"
local x = @{60000 "not "}1
---
-- ends: error "nest|deep|too|source"
local x = @{100000 "- "}1
---
-- ends: error "nest|deep|too|source"
local x = @{100000 "-(#"}1
---
-- ends: error "nest|deep|too|source"
@{20000 "do "}@{20000 "end "}
---
-- ends: error "nest|deep|too|source"
@{10000 "if x then "}@{10000 "end "}
---
-- ends: error "nest|deep|too|source|many"
@{10000 "while x do "}@{10000 "end "}
---
-- ends: error "nest|deep|too|source|many"
@{10000 "local function f# () "}@{10000 "end "}
---
-- ends: error "nest|deep|too|source|many"
local x = @{5000 "function() return "}1@{5000 " end"}
---
-- ends: error "nest|deep|too|source|many"
if x then @{5000 "elseif x then "} end
---
-- ends: error "nest|deep|too|source|many|spine|follow"
local x = 1@{50000 " + 1"}
---
-- ends: error "nest|deep|too|source|many|follow"
local x = "a"@{30000 " .. \"a\""}
---
-- ends: error "nest|deep|too|source|many|follow"
local x = y@{50000 ".a"}
---
-- ends: error "nest|deep|too|source|many|follow"
local x = y@{50000 "()"}
---
-- ends: error "nest|deep|too|source|many|follow"
local x = y@{30000 "[1]"}
---
-- ends: error "nest|deep|too|source|many|follow"
local x = y@{30000 "{}"}
---
-- ends: error "nest|deep|too|source|many|follow"
local x = 2@{50000 "^2"}
---
-- ends: error "nest|deep|too|source|many|follow"
local x = 1@{30000 " and 1 or 1"}
---
-- ends: error "more than 2000|constants"
local t = {@{30000 "#, "}}
---
-- ends: error "more than 2000|constants"
local t = {@{20000 "\"k#\", "}}
---
-- ends: error "more than 2000|constants"
local t = {@{20000 "k# = 1, "}}
---
-- ends: error "more than 2000|constants|global"
@{20000 "g# = 1 "}
---
-- ends: error "many|too|registers|variables"
@{300 "local v# = 1 "}
---
-- ends: error "many|too|registers|variables|overflow"
local f, x local x = f(@{5000 "x, "}x)
---
-- ends: error "many|too|registers|variables|upvalues"
@{150 "local a# = 1 "}
function f()
@{150 "local b# = 1 "}
    return function() return 0 @{150 "+ a#"} @{150 "+ b#"} end
end
---
-- ends: error "register overflow"
function f(@{1000 "a#, "}z) end
---
-- ends: error "many|too|registers|variables"
local @{1000 "a#, "}z = 1
---
-- ends: error "many|too|functions"
@{15000 "f=function()end "}
---
-- ends: error "name|long|many|too"
local @{200000 "a"} = 1
---
-- ends: error "length|long|bytes|KB|256"
-- @{300000 "a"}
---
-- ends: fine
-- @{200000 "a"}
---
-- ends: fine
local s = "@{200000 "a"}"
---
-- ends: fine
local s = [==[@{100000 "]]"}]==]
---
-- ends: error ""
local s = "@{200000 "a"}
---
-- ends: error ""
local s = [==[@{200000 "]"}
---
-- ends: error ""
--[==[ @{80000 "]]"}
---
-- ends: fine
local x = "\300"
---
-- ends: error ""
local x = 'a
b'
---
-- ends: error ""
local x = @{100000 "9"}e
---
-- ends: error ""
local x = 0x@{100000 "f"}
---
-- ends: error ""
return return
---
-- ends: error ""
break
---
-- ends: error ""
goto x
---
-- ends: budget
::x:: local n = 1 goto x
---
-- ends: budget
function attack()
    for i = 1, 10 do
        ::again::
        goto again
    end
end
---
-- ends: error ""
local x = ...  local function f() return ... end
---
-- ends: error ""
#!/usr/bin/lua
os.exit()
---
-- ends: error ""
LuaQ
---
-- ends: error "more than 2000"
@{2500 "hook{id = \"h#\", version = \"1\", run = type} "}
---
-- ends: error ""
\0\1\2\255
---
-- ends: fine
;local x = 1;
---
-- ends: budget
local t = {}
while true do t[#t + 1] = 1 end
---
-- ends: budget
for i = 1, 1e9 do kept = {kept} end
---
-- ends: error "follow one another|nest"
function a@{50000 ".a"}() end
---
-- ends: error "follow one another|nest"
local x = a@{20000 ":b()"}
---
-- ends: error "follow one another|nest"
local x = a@{30000 "\"s\""}
---
-- ends: error "follow one another|nest"
a@{20000 ":b()"}
---
-- ends: error "follow one another|nest"
a@{20000 ".b"} = 1
---
-- ends: error "follow one another|nest|more than"
local x = @{20000 "a == "}a
---
-- ends: error "follow one another|nest|more than"
local x = @{20000 "a < b or "}a
---
-- ends: error "follow one another|nest|more than"
local x = @{20000 "#a .. "}a
---
-- ends: error "more than"
@{20000 "::l#:: "}
---
-- ends: error "more than|label|goto|local|register"
@{8000 "goto l# "}
---
-- ends: error "more than|register|local"
local @{240 "a#, "}z = @{240 "#, "}0
---
-- ends: error "more than|register|local|deep"
@{150 "for i# = 1, 2 do "}@{150 "end "}
---
-- ends: fine
@{190 "repeat local a# = 1 "}@{190 "until true "}
---
-- ends: error "more than|register|overflow|values"
local f local x = f(@{250 "f(), "}f())
---
-- ends: error "more than|register|overflow|values"
local f return @{250 "f(), "}f()
---
-- ends: error "more than|register|overflow|values"
local f local x = {@{60 "f(), f(), f(), f(), f(), "}f()} return @{255 "1, "}1
---
-- ends: fine
local x = {@{1500 "{}, "}}
---
-- ends: fine
local x = {@{1000 "[#] = #, "}}
---
-- ends: fine
local x = {} @{1500 "x[65#] = 1 "}
---
-- ends: error "register overflow"
local s = ""@{900 " .. 'a'"}
---
-- ends: fine
local s = ""@{150 " .. 'a'"}
---
-- ends: fine
local x, z @{400 "if x then y = 1 elseif z then y = 2 end "}
---
-- ends: error "number 9007199254740993 would be rounded"
local x = 9007199254740993
---
-- ends: error "number 0x20000000000001 would be rounded"
local x = 0x20000000000001
---
-- ends: error "number 9+.* would be rounded"
local x = @{400 "9"}
---
-- ends: fine
local x = 9007199254740992 + 0x20000000000000 + 1e300 + 18446744073709551616 + 0.1 + 12345678901234.5
