package lua

func baseLibrary() []*builtin { return nil }
