-- NAME rejects calls that would touch a file of one of these names, wherever it lies.

hook{
  id = "NAME", version = "v1",
  point = "tool.before", kinds = {"read", "write", "edit"}, guard = true,
  config = {
    type = "object", required = {"names"}, additionalProperties = false,
    properties = {names = {type = "array", items = {type = "string"}}},
  },
  default = {names = {".env", "id_rsa"}},

  run = function(ctx, call)
    local p = call.arguments.path
    if p == nil or p == null then
      return nil -- no opinion
    end
    for _, name in ipairs(ctx.config.names) do
      if path.same(path.base(p), name) then
        return reject(name .. " stays closed", "guarded")
      end
    end
  end,
}
