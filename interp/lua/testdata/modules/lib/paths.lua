local M = {}
function M.inside(p, base) return path.inside(p, base) end
return M
