-- Ways to change what a hook may only read, and to keep something for the next call. The runner looks
-- whether the payload is what it was, and runs a hook that means well in between.

-- ends: error "read-only"
function run(ctx, call) call.name = "x" end
---
-- ends: error "read-only"
function run(ctx, call) call.arguments.n = 2 end
---
-- ends: error "read-only"
function run(ctx, call) call.arguments.deep[1] = 9 end
---
-- ends: error "read-only"
function run(ctx, call) call.arguments.new = 9 end
---
-- ends: error "read-only"
function run(ctx, call) call.arguments.n, x = nil, nil end
---
-- ends: error "read-only"
function run(ctx, call)
    local alias = {call.arguments}
    alias[1].n = 1
end
---
-- ends: error "read-only"
function run(ctx, call) for _, v in pairs(call) do if type(v) == "table" then v.x = 1 end end end
---
-- ends: error "read-only"
function run(ctx, call) for _, v in ipairs{call, ctx} do v[1] = 1 end end
---
-- ends: error "table expected|read-only"
function run(ctx, call) rawset(call.arguments, "n", 1) end
---
-- ends: error "table expected|read-only"
function run(ctx, call) table.insert(call.arguments.deep, 1) end
---
-- ends: error "table expected|read-only"
function run(ctx, call) table.remove(call.arguments.deep) end
---
-- ends: error "table expected|read-only"
function run(ctx, call) table.sort(call.arguments.deep) end
---
-- ends: error "read-only"
function run(ctx, call)
    local merged = merge(call.arguments, {x = {1}})
    merged.x[1] = 2
end
---
-- ends: error "read-only|table expected"
function run(ctx, call) setmetatable(call.arguments, {}) end
---
-- ends: error "table expected|read-only|array"
function run(ctx, call) array(call.arguments) end
---
-- ends: error "read-only"
function run(ctx, call) ctx.state = {a = 1} end
---
-- ends: error "read-only"
function run(ctx, call) ctx.config.limit = 100000 end
---
-- ends: error "read-only"
function run(ctx, call) ctx.scope.run = "x" end
---
-- ends: error "read-only"
function run(ctx, call) null.x = 1 end
---
-- ends: fine
function run(ctx, call)
    for _, v in ipairs{call, call.arguments, call.arguments.deep, ctx, ctx.config, null} do
        assert(type(getmetatable(v)) ~= "table")
        assert(not pcall(setmetatable, v, {}))
        assert(not pcall(setmetatable, v, nil))
        assert(not pcall(rawset, v, 1, 1))
        assert(not tostring(v):find("0x"), tostring(v))
    end
end
---
-- Nothing that was made while the file loaded can be changed by a call.
-- ends: error "remember|changed by a call"
count = 0
function run(ctx, call) count = count + 1 end
---
-- ends: error "remember|changed by a call"
local count = 0
function run(ctx, call) count = count + 1 end
---
-- ends: error "remember|changed by a call"
local kept = {}
function run(ctx, call) kept[1] = call end
---
-- ends: error "remember|changed by a call"
local kept = {inner = {{}}}
function run(ctx, call) kept.inner[1].x = 1 end
---
-- ends: error "remember|changed by a call"
local kept = {1, 2, 3}
function run(ctx, call) table.insert(kept, 4) end
---
-- ends: error "remember|changed by a call"
local kept = {3, 2, 1}
function run(ctx, call) table.sort(kept) end
---
-- ends: error "remember|changed by a call"
local kept = {3, 2, 1}
function run(ctx, call) table.remove(kept) end
---
-- ends: error "remember|changed by a call"
local kept = {}
function run(ctx, call) rawset(kept, 1, 1) end
---
-- ends: error "remember|changed by a call|metatable"
local kept = {}
function run(ctx, call) setmetatable(kept, {__index = call}) end
---
-- ends: error "remember|changed by a call|metatable"
local kept = setmetatable({}, {})
function run(ctx, call) getmetatable(kept).__index = call end
---
-- ends: error "remember|changed by a call|array"
local kept = {}
function run(ctx, call) array(kept) end
---
-- ends: error "remember|changed by a call"
local kept = {}
local function keep() return kept end
function run(ctx, call) keep().x = 1 end
---
-- ends: error "remember|changed by a call"
local function counter()
    local n = 0
    return function() n = n + 1 return n end
end
local next = counter()
function run(ctx, call) return annotate{n = next()} end
---
-- ends: error "remember|changed by a call"
local object = setmetatable({}, {__index = (function() local cache = {} return function(_, k) cache[k] = true return 1 end end)()})
function run(ctx, call) return annotate{n = object.x} end
---
-- ends: error "remember|changed by a call"
local kept = {[function() end] = 1}
local key = next(kept)
function run(ctx, call)
    local t = {}
    kept[key] = 2
end
---
-- ends: error "remember|changed by a call|nil value"
function run(ctx, call)
    function helper() return 1 end
    return annotate{n = helper()}
end
---
-- ends: error "remember|changed by a call"
local t = {}
function run(ctx, call) function t.helper() return 1 end end
---
-- ends: error "remember|changed by a call"
local t = {}
function run(ctx, call) for _, v in ipairs{t} do v.x = 1 end end
---
-- ends: error "remember|changed by a call"
local a, b = 1, {}
function run(ctx, call) a, b.x = 2, 3 end
---
-- ends: error "remember|changed by a call"
local t = setmetatable({}, {__newindex = function(t, k, v) rawset(t, k, v) end})
function run(ctx, call) t.x = 1 end
---
-- ends: error "remember|changed by a call"
local inner = {}
local t = setmetatable({}, {__newindex = inner})
function run(ctx, call) t.x = 1 end
---
-- ends: error "changed by a call|made while|remember"
local step, view = pairs(json.decode('{"a": 1, "b": 2}'))
function run(ctx, call)
    local k = step(view)
    return annotate{k = k}
end
---
-- ends: fine
local steps = {pairs({1, 2})}
function run(ctx, call)
    local k = steps[1](steps[2], steps[3])
    return annotate{k = k}
end
---
-- ends: error "changed|remember|nil|global"
function run(ctx, call) _G.x = 1 end
---
-- ends: error "changed|remember|nil|global|table expected"
function run(ctx, call) rawset(_G, "type", nil) end
---
-- ends: error "changed|remember|global"
function run(ctx, call) type = nil end
---
-- ends: error "changed|remember|global"
function run(ctx, call) string = nil end
---
-- What a file rebinds while it loads is its own.
-- ends: fine
tostring = function() return "mine" end
string = {rep = function() return "mine" end}
function run(ctx, call) return annotate{a = tostring(1), b = ("x"):rep(3)} end
---
-- ends: fine
local M = {}
function M.f() return 1 end
local cache = {}
for i = 1, 10 do cache[i] = i * i end
function run(ctx, call)
    local mine = {}
    for i, v in ipairs(cache) do mine[i] = v + M.f() end
    return annotate{n = #mine}
end
