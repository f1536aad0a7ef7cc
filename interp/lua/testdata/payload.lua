-- What a hook sees: views, null, numbers that Lua can't hold.
hook{id = "call", version = "1", run = function(ctx, call)
  local a = call.arguments
  assert.eq(a.limit, 5000)
  assert.eq(a.missing, nil)
  assert.eq(a.none, null)
  assert.ok(a.none == null and a.none ~= nil)
  assert.eq(a.get, "mine")
  assert.eq(a:get("limit"), 5000)
  assert.eq(a:get("missing"), nil)
  assert.eq(a:get("missing", 7), 7)
  assert.eq(a:get("get"), "mine")
  assert.eq(#a.items, 5)
  assert.eq(a.items[1], 1)
  assert.eq(a.items[2], "two")
  assert.eq(a.items[3], null)
  assert.eq(a.items[5].k, array{})
  assert.eq(a.items[0], nil)
  assert.eq(a.items[6], nil)
  assert.eq(a.items[1.5], nil)
  assert.eq(a.items.x, nil)
  local i = 2
  assert.eq(a.items[i], "two")
  local key = "limit"
  assert.eq(a[key], 5000)
  assert.eq(#call, 4)
  assert.eq(#call:keys(), 4)
  assert.eq(call:keys()[2], "arguments")
  assert.eq(call:values()[1], "shell")
  assert.ok(call.arguments == call.arguments)
  assert.ok(call.empty ~= call.arguments)
  assert.eq(call.empty, {})
  assert.eq(call.list, array{})
  local names = ""
  for k, v in a:items() do names = names .. k .. "," end
  assert.eq(names, "limit,q,items,get,big,long,huge,exact,over,e,none,")
  assert.eq(a.exact + 0, 9007199254740992)
  assert.eq(a.e, 15)
  assert.ok(a.big == a.big)
  assert.ok(a.big ~= a.huge)
end}
---
hook{id = "call", version = "1", run = function(ctx, call)
  return patch{arguments = merge(call.arguments, {limit = 1, more = {a = null, l = array{}, o = {}}})}
end}
---
hook{id = "call", version = "1", run = function(ctx, call)
  call.arguments.limit = 1 --> "it is read-only; merge"
end}
---
hook{id = "call", version = "1", run = function(ctx, call)
  call.list[1] = 1 --> "it is read-only; merge"
end}
---
hook{id = "call", version = "1", run = function(ctx, call)
  ctx.config = 1 --> "it is read-only"
end}
---
hook{id = "call", version = "1", run = function(ctx, call)
  return call.arguments.big + 1 --> "attempt to calculate with the number 123456789012345678901234567890, which Lua can't hold exactly"
end}
---
hook{id = "call", version = "1", run = function(ctx, call)
  return call.arguments.over % 2 --> "attempt to calculate with the number 9007199254740993"
end}
---
hook{id = "call", version = "1", run = function(ctx, call)
  return -call.arguments.huge --> "attempt to calculate with the number 1e400"
end}
---
hook{id = "call", version = "1", run = function(ctx, call)
  local big = call.arguments.big
  return big > call.arguments.limit --> "attempt to compare the number 1234"
end}
---
hook{id = "call", version = "1", run = function(ctx, call)
  local big = call.arguments.long
  return big < call.arguments.big --> "attempt to compare the number 0.123"
end}
---
hook{id = "call", version = "1", run = function(ctx, call)
  return call.arguments.big < 10 --> "attempt to compare"
end}
---
hook{id = "call", version = "1", run = function(ctx, call)
  array(call.list) --> "bad argument #1 to 'array' \\(table expected, got read-only view\\)"
end}
---
hook{id = "call", version = "1", run = function(ctx, call)
  table.insert(call.list, 1) --> "table expected, got read-only view"
end}
---
hook{id = "call", version = "1", run = function(ctx, call)
  string.format("%d", call.arguments.over) --> "number expected, got 9007199254740993, which Lua can't hold exactly"
end}
---
hook{id = "call", version = "1", run = function(ctx, call)
  local names = {}
  names[call.arguments.over] = true --> "the number 9007199254740993, which Lua can't hold exactly, can't be a key; tostring gives one"
end}
---
hook{id = "call", version = "1", run = function(ctx, call)
  local blocked = {[9007199254740992] = true}
  return blocked[call.arguments.over] --> "the number 9007199254740993, which Lua can't hold exactly, can't be a key"
end}
---
hook{id = "call", version = "1", run = function(ctx, call)
  return {[call.arguments.over] = true} --> "the number 9007199254740993, which Lua can't hold exactly, can't be a key"
end}
---
hook{id = "call", version = "1", run = function(ctx, call)
  assert.eq("order " .. call.arguments.over .. "!", "order 9007199254740993!")
  assert.eq(call.arguments.over .. "", "9007199254740993")
  assert.eq(call.arguments.over .. setmetatable({}, {__concat = function(a) return a end}), call.arguments.over)
  assert.eq(setmetatable({}, {__concat = function(_, b) return b end}) .. "n" .. call.arguments.over, "n9007199254740993")
  assert.eq(table.concat({call.arguments.over, 1}, "/"), "9007199254740993/1")
end}
---
hook{id = "call", version = "1", run = function(ctx, call) --> "call: it returned a null, want nil, a decision or a list"
  return null
end}
---
hook{id = "call", version = "1", run = function(ctx, call)
  error(reject("no")) --> "error object is a decision value"
end}
---
hook{id = "call", version = "1", run = function(ctx, call)
  return call.arguments.over.x --> "attempt to index a (non-table object|number)"
end}
---
hook{id = "call", version = "1", run = function(ctx, call)
  return ctx.confg --> "ctx has no field confg"
end}
---
hook{id = "call", version = "1", run = function(ctx, call)
  assert.eq(ctx.point, "tool.before")
  assert.eq(ctx.binding_id, "project/clamp-limit")
  assert.eq(ctx.config.max_limit, 100)
  assert.eq(ctx.seed, "seed")
  assert.eq(ctx.now, "2023-11-14T22:13:20.000Z")
  assert.eq(ctx.state, {})
  assert.eq(ctx.facts, {})
end}
---
hook{id = "call", version = "1", run = function(ctx, call)
  return patch{arguments = {1, 2, x = 3}} --> "patch: at \"arguments\": a table has list items and named fields"
end}
---
hook{id = "call", version = "1", run = function(ctx, call)
  return patch{arguments = {1, nil, 3}} --> "patch: at \"arguments\": the list has nothing at 2 of 3; null stands"
end}
---
hook{id = "call", version = "1", run = function(ctx, call)
  return patch{arguments = {f = function() end}} --> "patch: at \"arguments\"\"f\": a function is no JSON value"
end}
---
hook{id = "call", version = "1", run = function(ctx, call)
  return patch{arguments = {n = 0/0}} --> "is no JSON number"
end}
---
hook{id = "call", version = "1", run = function(ctx, call)
  return patch{arguments = {d = halt()}} --> "a decision is no JSON value"
end}
---
hook{id = "call", version = "1", run = function(ctx, call)
  local t = {}
  t.t = t
  return patch{arguments = t} --> "the value nests too deeply"
end}
---
hook{id = "call", version = "1", run = function(ctx, call) --> "call: it returned a table|item 1 of the list"
  return {"x"}
end}
---
hook{id = "call", version = "1", run = function(ctx, call) --> "call: it returned a string, want nil, a decision or a list of decisions"
  return "x"
end}
---
hook{id = "call", version = "1", run = function(ctx, call)
  return call.list:keys() --> "a list has no method keys; use #list"
end}
