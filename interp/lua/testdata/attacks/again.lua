-- Modules that fail, and are asked for again and again: each is found, read and parsed once.

-- ends: budget
for i = 1, 1e9 do pcall(require, "lib.a") end
=== lib/a.lua
@{2000 "local aaaaaaaaaaaaaaaaaaaaaaaaaaaaa# "}
---
-- A file that is too long is refused before it is charged.
-- ends: budget
for i = 1, 1e9 do pcall(require, "lib.a") end
=== lib/a.lua
@{20000 "require('lib.a') "}
---
-- ends: budget
for i = 1, 1e9 do pcall(require, "lib.a") end
=== lib/a.lua
@{5000 "x = 1+2+3+4+5+6 "} error("x")
---
-- Each time it says the same.
-- ends: fine
local _, one = pcall(require, "lib.a") local _, two = pcall(require, "lib.a")
assert(one == two and one:find("undefined: missing"), "not the same")
function attack() end
=== lib/a.lua
return missing
---
-- A module runs again after it failed, with globals of its own again.
-- ends: fine
local _, one = pcall(require, "lib.a")
local _, two = pcall(require, "lib.a")
assert(one.n == 1 and two.n == 1 and one ~= two)
function attack() end
=== lib/a.lua
n = (n or 0) + 1
error({n = n})
---
-- What a module raises carries its functions and tables out, and they are frozen like others.
-- ends: error "the global variable n can't be changed by a call"
local _, e = pcall(require, "lib.a")
function attack() return e.f() end
=== lib/a.lua
n = 0
error({f = function() n = n + 1 return n end})
---
-- ends: error "changed"
local _, e = pcall(require, "lib.a")
function attack() return e.f() end
=== lib/a.lua
local n = 0
error({f = function() n = n + 1 return n end})
---
-- ends: error "changed by a call"
local _, e = pcall(require, "lib.a")
function attack() e.n = 1 end
=== lib/a.lua
error({})
