package lua

func stringLibrary() []*builtin { return nil }
