return require("lib.cycle2")
