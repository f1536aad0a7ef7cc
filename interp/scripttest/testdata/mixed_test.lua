local helper = require("lib.helper")

local limit = 100

-- The tests run in this order.
function test_passes()
  print("one", 1)
  print("two")
  assert.eq(helper.doubled(2), 4)
  assert.fails(function() error("no") end, "no$")
  assert(true, "assert is Lua's own, too")
end

function test_unequal()
  assert.eq({a = 1}, {a = 2})
end

function test_fails_in_a_module()
  helper.broken()
end

function test_decides()
  local got = decide("tool.before", {name = "x", arguments = {n = 1.50}}, {hook = "h", config = {c = limit},
    scope = {turn = 1}, facts = {f = null}, state = {s = {1}}, kind = "shell"})
  assert.eq(got.outcome, "continue")
  assert.eq(got.payload, {name = "x", arguments = {n = 1.5}})
  assert.eq(got.payload.arguments.n, 1.5)
  assert.eq({got.point, got.hook, got.kind}, {"tool.before", "h", "shell"})
  assert.eq(got.config.c, 100)
  assert.eq(got.scope, {turn = 1})
  assert.eq(got.facts, {f = null})
  assert.eq(got.state.s, {1})
  assert.eq(decide{point = "tool.before", payload = {}, kind = "read"}.kind, "read")
  assert.fails(function() decide("tool.before") end, "argument payload is missing")
  assert.fails(function() decide("tool.before", 1) end, "argument payload is number, want object")
  assert.fails(function() decide("tool.before", {}, {nothing = 1}) end, "there is no argument nothing")
end

function test_decides_nowhere()
  decide("", {})
end

local function endless()
  while true do end
end

function test_never_ends()
  endless()
end

function test_catches_no_budget()
  assert.fails(endless, ".*")
  error("not reached")
end

function helper_test_() -- no test
  error("not run")
end

local function test_local() -- a test is a global function
  error("not run")
end
