-- Guards whatever agent asks, by what its call would do and not by what its tools are called: nothing is fetched by a
-- command, and no .env is read or written.

local fetchers = {"curl", "wget"}

local function secret(p)
  return path.base(path.fold((p:gsub("\\", "/")))) == ".env"
end

local function guard(ctx, call)
  for _, p in ipairs(tool.paths(call)) do
    if secret(p) then
      return reject(p .. " is a secret", "secret")
    end
  end
  for _, command in ipairs(tool.commands(call)) do
    if command.shell == "powershell" or command.shell == "cmd" then
      return reject("what a command for " .. command.shell .. " does can't be told", "unknown_shell")
    end
    for _, program in ipairs(fetchers) do
      if shell.runs(command.line, program) == "yes" then
        return reject(program .. " fetches", "fetches")
      end
    end
    for _, part in ipairs(shell.parse(command.line).commands) do
      for _, word in ipairs(part.args) do
        if word ~= null and secret(word) then
          return reject(word .. " is a secret", "secret")
        end
      end
    end
  end
end

hook{id = "any-agent", version = "v1", run = guard, point = "tool.before", guard = true}
