-- math.random draws by the seed of the operation, and by nothing else.
hook{id = "call", version = "1", run = function(ctx, call)
  local a, b, c = math.random(), math.random(6), math.random(-3, 3)
  assert.ok(a >= 0 and a < 1)
  assert.ok(b >= 1 and b <= 6 and b % 1 == 0)
  assert.ok(c >= -3 and c <= 3 and c % 1 == 0)
  assert.eq(math.random(5, 5), 5)
  local seen = {}
  for i = 1, 300 do seen[math.random(3)] = true end
  assert.eq(seen, {true, true, true})
  assert.eq(math.random(1000000), 84498)
end}
---
local x = math.random() --> "there is none while a file is loaded"
---
hook{id = "call", version = "1", run = function(ctx, call)
  math.random(0) --> "bad argument #1 to 'random' \\(interval is empty"
end}
---
hook{id = "call", version = "1", run = function(ctx, call)
  math.random(3, 1) --> "bad argument #2 to 'random' \\(interval is empty"
end}
---
hook{id = "call", version = "1", run = function(ctx, call)
  math.random(0/0) --> "bad argument #1 to 'random' \\(number nan has no integer"
end}
---
hook{id = "call", version = "1", run = function(ctx, call)
  math.random(-2^53, 2^53) --> "interval is empty or too large"
end}
