local function read(path)
  return decide{
    point = "tool.before", kind = "read",
    payload = {name = "read", tool_id = "read", implementation_id = null, parameters = {}, arguments = {path = path}},
  }
end

function test_a_guarded_file_stays_closed()
  assert.eq(read("a/.env").outcome, "rejected")
end

function test_another_file_is_read()
  assert.eq(read("a/env.md").outcome, "continue")
end
