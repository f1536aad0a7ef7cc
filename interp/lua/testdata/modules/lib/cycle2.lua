return require("lib.cycle")
