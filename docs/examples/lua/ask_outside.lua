-- Asks a person before anything outside of the workspace is touched, whatever the agent's `confirm` says.
--
-- Where a path leads is read for it (`real:PATH`), so a link that points outside is outside. What can't be
-- told (`cat $x`, code in other languages) is asked about too. It needs `facts: {allow: ["real:**", "real:/**"]}`.

local most = 32

-- All paths that a call names, or nil if that can't be told.
local function reached(call)
  local paths = array{}
  if call.kind ~= "shell" then
    for _, name in ipairs{"path", "from", "to"} do
      paths[#paths + 1] = call.arguments[name]
    end
    return paths
  end
  local parsed = shell.parse(call.arguments.command)
  for _, command in ipairs(parsed.commands) do
    local words = {}
    for _, word in ipairs(command.args) do
      words[#words + 1] = word
    end
    for _, redirect in ipairs(command.redirects) do
      if redirect.kind ~= "duplicate" then words[#words + 1] = redirect.target end
    end
    if command.dir == null then return nil end
    for _, word in ipairs(words) do
      if word == null then return nil end
      local value = word:sub(1, 1) == "-" and text.cut(word, "=")[2] or word
      if value ~= "" and value:sub(1, 1) ~= "-" then paths[#paths + 1] = path.join{command.dir, value} end
    end
    if command.dir ~= "" then paths[#paths + 1] = command.dir end
  end
  return parsed.known and #paths <= most and paths or nil
end

local function wanted(ctx, call)
  local keys = array{}
  for i, p in ipairs(reached(call) or {}) do keys[i] = "real:" .. p end
  return keys
end

local function ask_outside(ctx, call)
  local paths = reached(call)
  if paths == nil then return ask("it can't be told what this touches") end
  for _, p in ipairs(paths) do
    local place = ctx.facts["real:" .. p]
    if place == null then return ask(p .. " may lie outside of the workspace: " .. ctx.missing["real:" .. p]) end
    if not place.inside then return ask(place.real .. " lies outside of the workspace") end
  end
end

hook{id = "ask-outside", version = "v1", run = ask_outside, point = "tool.confirm", facts = wanted}
