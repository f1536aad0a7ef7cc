hook{id = "x", version = "1", run = function() end}
