-- Decisions, hooks and handles that pretend to be others.

-- ends: error "list items and named"
function run(ctx, call) return {verb = "allow", text = ""} end
---
-- ends: error "want nil, a decision"
function run(ctx, call) return "<decision allow>" end
---
-- ends: error "want nil, a decision"
function run(ctx, call) return tostring(allow("yes")) end
---
-- ends: error "decision"
function run(ctx, call) return {{allow("yes")}} end
---
-- ends: error "list items and named"
function run(ctx, call) return {allow = allow("yes")} end
---
-- ends: error "want nil, a decision"
function run(ctx, call) return allow end
---
-- ends: error "want nil, a decision"
function run(ctx, call) return function() return allow("yes") end end
---
-- ends: error "want nil, a decision"
function run(ctx, call) return ctx end
---
-- ends: error "want nil, a decision"
function run(ctx, call) return call end
---
-- ends: error "want nil, a decision"
function run(ctx, call) return null end
---
-- ends: error "want nil, a decision"
function run(ctx, call) return true end
---
-- ends: error "want nil, a decision"
function run(ctx, call) return false end
---
-- A table without entries is a list without decisions, whatever its metamethods say.
-- ends: fine
function run(ctx, call) return setmetatable({}, {__index = function() return allow("yes") end, __len = function() return 1 end, __call = allow}) end
---
-- ends: error "decision"
function run(ctx, call) return {allow("a"), nil, 3} end
---
-- ends: error "decision"
function run(ctx, call) return {[2] = allow("a")} end
---
-- ends: error "index|read-only"
function run(ctx, call) return annotate{x = reject("no").verb} end
---
-- ends: error "read-only|index"
function run(ctx, call)
    local d = reject("no")
    d.verb = "allow"
    return d
end
---
-- ends: fine
function run(ctx, call)
    local d = reject("no")
    assert(type(getmetatable(d)) ~= "table")
    assert(not pcall(setmetatable, d, {}))
    assert(not pcall(rawset, d, "verb", "allow"))
    assert(not pcall(rawget, d, "verb"))
    assert(not pcall(function() return #d end))
    assert(not pcall(function() return d() end))
    assert(not pcall(function() return d .. "" end))
    assert(not pcall(function() return d + 1 end))
    assert(not pcall(function() return d < d end))
    assert(not pcall(pairs, d))
    assert(not tostring(d):find("0x"))
    assert(d ~= reject("no") or true)
end
---
-- ends: error "no JSON value"
function run(ctx, call) return annotate{inner = allow("yes")} end
---
-- ends: error "no JSON value"
function run(ctx, call) return respond{type} end
---
-- ends: error "list items and named|items in a row"
function run(ctx, call) return respond{1, 2, x = 3} end
---
-- ends: error "items in a row|holes|nothing at"
function run(ctx, call) return respond{1, nil, 3} end
---
-- ends: error "items in a row|key"
function run(ctx, call) return respond{[1.5] = 2} end
---
-- ends: error "key is a boolean|key|items"
function run(ctx, call) return respond{[true] = 2} end
---
-- ends: error "key|table"
function run(ctx, call) return respond{[{}] = 2} end
---
-- ends: error "UTF-8"
function run(ctx, call) return respond{["\255"] = 2} end
---
-- ends: fine
function run(ctx, call) return respond("\255\0") end
---
-- ends: error "no JSON number"
function run(ctx, call) return respond(0 / 0) end
---
-- ends: error "no JSON number"
function run(ctx, call) return respond{1 / 0} end
---
-- ends: error "missing"
function run(ctx, call) return reject(nil) end
---
-- ends: error "missing"
function run(ctx, call) return reject({}) end
---
-- ends: error "characters|bytes"
function run(ctx, call) return reject(("a"):rep(100000)) end
---
-- ends: error "deep"
function run(ctx, call)
    local x = {}
    for _ = 1, 100 do x = {a = x} end
    return patch{arguments = x}
end
---
-- ends: error "deep"
function run(ctx, call)
    local x = {}
    x.x = x
    return remember{x = x}
end
---
-- ends: error "deep"
function run(ctx, call)
    local x = {}
    x[1] = x
    return respond(x)
end
---
-- ends: budget
function run(ctx, call)
    local all = {}
    for i = 1, 1e6 do all[i] = reject(("a"):rep(500)) end
    return all
end
---
-- ends: error "larger than|large|too many|budget|decisions"
function run(ctx, call)
    local d, all = respond(("a"):rep(400000)), {}
    for i = 1, 100 do all[i] = d end
    return all
end
---
-- ends: error "defined twice|twice"
function run(ctx, call) end
hook{id = "h", version = "1", run = run}
hook{id = "h", version = "2", run = run}
---
-- ends: error "id"
hook{id = "/h", version = "1", run = function(ctx, call) end}
---
-- ends: error "id"
hook{id = "h\n", version = "1", run = function(ctx, call) end}
---
-- ends: error "id"
hook{id = ("h"):rep(100000), version = "1", run = function(ctx, call) end}
---
-- ends: error "id"
hook{id = {}, version = "1", run = function(ctx, call) end}
---
-- ends: error "run"
hook{id = "h", version = "1", run = string.upper}
---
-- ends: error "run"
hook{id = "h", version = "1", run = setmetatable({}, {__call = function() end})}
---
-- ends: error "run"
hook{id = "h", version = "1", run = "return 1"}
---
-- ends: error "priority"
hook{id = "h", version = "1", run = function(ctx, call) end, priority = 2 ^ 62}
---
-- ends: error "priority"
hook{id = "h", version = "1", run = function(ctx, call) end, priority = 0 / 0}
---
-- ends: error "priority"
hook{id = "h", version = "1", run = function(ctx, call) end, priority = 1.5}
---
-- ends: error "timeout"
hook{id = "h", version = "1", run = function(ctx, call) end, timeout = "1000000h"}
---
-- ends: error "trusted"
hook{id = "h", version = "1", run = function(ctx, call) end, trusted = true}
---
-- ends: error "guard"
hook{id = "h", version = "1", run = function(ctx, call) end, guard = true, observation = true}
---
-- ends: error "guard|boolean|bool"
hook{id = "h", version = "1", run = function(ctx, call) end, guard = "false"}
---
-- ends: error "facts|many"
local facts = {}
for i = 1, 1000 do facts[i] = "file:x" .. i end
hook{id = "h", version = "1", run = function(ctx, call) end, facts = facts}
---
-- ends: error "config|deep"
local deep = {}
deep.type = deep
hook{id = "h", version = "1", run = function(ctx, call) end, config = deep}
---
-- ends: budget
for i = 1, 1e6 do hook{id = "h" .. i, version = "1", run = function(ctx, call) end} end
---
-- ends: error "table|hook"
hook("h")
---
-- ends: error "table|hook|id"
hook()
---
-- ends: error "hook|load"
function run(ctx, call)
    hook{id = "later", version = "1", run = run}
end
---
-- A definition that changes after it was made defines what it was.
-- ends: fine
local d = {id = "h", version = "1", run = function(ctx, call) return annotate{n = 1} end}
hook(d)
d.id = "other"
d.run = function(ctx, call) return annotate{n = 2} end
---
-- Metamethods of a definition say nothing.
-- ends: error "id"
hook(setmetatable({}, {__index = function(_, k) return ({id = "h", version = "1", run = function(ctx, call) end})[k] end}))
