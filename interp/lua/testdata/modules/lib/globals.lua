mine = 1
local M = {}
function M.read() return mine end
function M.write() mine = 2 end
return M
