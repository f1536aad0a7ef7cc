package lua

func mathLibrary() []*builtin { return nil }
