local programs = {"cat", "cd", "cp", "date", "diff", "echo", "grep", "head", "ls", "mkdir", "mv", "printf", "pwd", "rm", "sort", "tail", "test", "touch", "true", "wc"}
local secret, facts, unknown = ".env", {"trail:200", "cwd"}, "nobody knows what was read"

local function reaches(name, cwd) -- the secret, another file of its name, or a folder that it lies in
  local clean = path.clean(name)
  return path.fold(path.base(name)) == secret or path.inside(clean, secret) or path.inside(clean, path.join{cwd, secret})
end

local function line_reads(line, cwd) -- it names the secret, or nobody can tell what it names
  local parsed = shell.parse(line)
  for _, command in ipairs(parsed.commands) do
    local names = {}
    for _, word in ipairs(command.args) do names[#names + 1] = word end
    for _, r in ipairs(command.redirects) do
      if r.kind == "read" or r.kind == "readwrite" then names[#names + 1] = r.target end
    end
    if command.dir == null then return true end
    for _, name in ipairs(names) do
      if name == null or reaches(path.join{command.dir, name}, cwd) then return true end
      for _, part in ipairs(re.split("=", name)) do
        if reaches(part, cwd) then return true end
      end
    end
  end
  return not parsed.known
end

local function reads(action, cwd)
  local state = action.state
  if action.kind ~= "tool" or state == "rejected" or state == "stopped" or state == "responded" then return false end -- it didn't run
  if action.arguments == null or action.cut == true then return true end -- nobody can tell
  local command, name = action.arguments:get("command", null), action.arguments:get("path", null)
  if command ~= null then return line_reads(command, cwd) end
  return name ~= null and reaches(name, cwd)
end

local function read_by(ctx)
  local trail, cwd = ctx.facts["trail:200"], ctx.facts.cwd
  if trail == null or cwd == null then return unknown end
  for _, action in ipairs(trail) do
    if reads(action, cwd) then return action.id end
  end
  return ctx.state.read_by
end

local function note(ctx, call) -- a trail is short and a session is long
  local by = read_by(ctx)
  if by ~= nil and by ~= unknown and by ~= ctx.state.read_by then return remember{read_by = by} end
end

local function wall(ctx, call)
  local by = read_by(ctx)
  if by == nil then return nil end
  local why = ctx.kind == "fetch" and "it goes out" or shell.refusal{line = call.arguments.command, programs = programs, writes = {"."}}
  if why == "" then return nil end
  return reject(secret .. " was read before (" .. by .. "), so what may go out doesn't run: " .. why, "secret_read")
end

hook{id = "secret-note", version = "v1", run = note, point = "tool.before", facts = facts, state = "secret"}
hook{id = "secret-wall", version = "v1", run = wall, point = "tool.before", kinds = {"shell", "fetch"}, guard = true, facts = facts, state = "secret"}
