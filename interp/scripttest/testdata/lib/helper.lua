local M = {}
function M.doubled(n) return 2 * n end

function M.broken()
  error("from the module")
end
return M
