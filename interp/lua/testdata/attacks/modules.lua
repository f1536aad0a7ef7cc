-- Modules that load each other, that are many, or that pretend.

-- ends: error "cycle|itself|loop|being loaded"
local a = require("lib.a")
=== lib/a.lua
return require("lib.b")
=== lib/b.lua
return require("lib.a")
---
-- ends: error "cycle|itself|loop|being loaded"
local a = require("lib.a")
=== lib/a.lua
return require("lib.a")
---
-- ends: error "no such|lib.missing"
local a = require("lib.missing")
---
-- ends: error "name|require|string"
local a = require(("lib."):rep(1000))
---
-- ends: error "name|require|string"
local a = require({})
---
-- ends: error "name|require|no such"
local a = require("lib/a")
=== lib/a.lua
return 1
---
-- ends: error "name|require|no such"
local a = require("..lib.a")
=== lib/a.lua
return 1
---
-- ends: error "name|require|no such"
local a = require("")
---
-- ends: error "name|require|no such"
local a = require("lib.a\0")
=== lib/a.lua
return 1
---
-- ends: error "load|require"
function run(ctx, call) require("lib.a") end
=== lib/a.lua
return 1
---
-- ends: error "hook"
local a = require("lib.a")
=== lib/a.lua
hook{id = "x", version = "1", run = function(ctx, call) end}
return 1
---
-- ends: error "boom"
local a = require("lib.a")
=== lib/a.lua
error("boom")
---
-- A module that failed fails again, and doesn't count as loaded.
-- ends: error "boom"
pcall(require, "lib.a")
local a = require("lib.a")
=== lib/a.lua
error("boom")
---
-- ends: budget
local a = require("lib.a")
=== lib/a.lua
while true do end
---
-- ends: budget
pcall(require, "lib.a")
=== lib/a.lua
while true do end
---
-- ends: error ""
local a = require("lib.a")
=== lib/a.lua
local x = (
---
-- What a module returned is the same for all, and can't be changed by a call.
-- ends: error "changed by a call|remember"
local a = require("lib.a")
function run(ctx, call) a.x = 1 end
=== lib/a.lua
return {}
---
-- ends: error "changed by a call|remember|changed"
local a = require("lib.a")
function run(ctx, call) a.set(1) end
=== lib/a.lua
local x = 0
return {set = function(v) x = v end}
---
-- A module has globals of its own.
-- ends: fine
local a = require("lib.a")
leaked = nil
function run(ctx, call)
    assert(leaked == nil)
    assert(a.read() == 1)
end
=== lib/a.lua
leaked = 1
return {read = function() return leaked end}
---
-- ends: fine
local a, b = require("lib.a"), require("lib.b")
assert(a == b.a)
function run(ctx, call) return annotate{n = b.a.n} end
=== lib/a.lua
return {n = 1}
=== lib/b.lua
return {a = require("lib.a")}
---
-- ends: error "more than 2000 functions"
local a = require("lib.a")
=== lib/a.lua
@{15000 "f=function()end "}
---
-- ends: fine
local a = require("lib.a")
function run(ctx, call) return annotate{a = type(a)} end
=== lib/a.lua
local x = 1
