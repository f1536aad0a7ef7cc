-- Runs the checks after a turn that changed something. If they pass, the change is committed; if they
-- don't, the agent is sent back to work with what they said, three times at most.
--
-- It needs `facts: {allow: ["git.status"]}` and `grants: {checks: [run], checked: [git.commit]}`.

local checks = {"make", "check"}

local function check(ctx, turn)
  local changed = ctx.facts["git.status"]
  if changed ~= null and #changed > 0 then
    return effect("run", {argv = checks})
  end
end

hook{id = "checks", version = "v1", run = check, point = "turn.after", facts = {"git.status"}, effects = {"run"}}

local function is_ours(argv)
  return #argv == #checks and argv[1] == checks[1] and argv[2] == checks[2]
end

local function text_of(v)
  return type(v) == "string" and v or ""
end

local function checked(ctx, done)
  if not is_ours(done.arguments.argv) then
    return nil
  end
  if done.status == "succeeded" then
    return {effect("git.commit", {message = "Checks passed", all = true}), remember{failed = null}}
  end
  local failed = ctx.state:get("failed", 0) + 1
  if failed > 3 then
    return {context("The checks still fail. Leave it, and say so."), remember{failed = null}}
  end
  local said = text_of(done.value.stdout) .. text_of(done.value.stderr)
  if said == "" then
    said = done.value.error
  end
  return {proceed("The checks fail, so nothing is committed:\n" .. text.truncate(said, 2000)), remember{failed = failed}}
end

hook{id = "checked", version = "v1", run = checked, point = "effect.after", targets = {"run"}, effects = {"git.commit"}}
