-- Names that nothing defines. Looking for what may have been meant is paid for, and bounded.

-- ends: error "undefined: os: hooks can't reach the machine"
function attack() return os.getenv("HOME") end
---
-- ends: error "undefined: _G: hooks have no table"
function attack() return _G["print"] end
---
-- ends: error "undefined: load: hooks run no other text"
function attack() return pcall(load, "return 1") end
---
-- ends: error "undefined: setfenv"
setfenv(1, {})
---
-- ends: error "undefined: x0"
function attack() return @{900 "x# + "}0 end
---
-- ends: error "undefined: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
@{600 "g# = 1 "}
return bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
---
-- ends: error "undefined: b"
@{1200 "do local aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa# end "}
return bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
---
-- ends: error "a name has 300 bytes, at most 200 are allowed"
return @{300 "a"}
---
-- A name can't be made without being written.
-- ends: error "undefined: hidden"
function attack()
    rawset(string, "hidden", 1)
    return hidden
end
---
-- ends: error "the library can't be changed"
hidden = nil
function attack()
    rawset(string, "hidden", 1)
end
---
-- A function of a module that makes a global makes none of the main file's.
-- ends: error "the global variable secret of lib/a.lua can't be changed once that is loaded"
secret = "mine"
require("lib.a").set()
=== lib/a.lua
return {set = function() secret = "theirs" end}
