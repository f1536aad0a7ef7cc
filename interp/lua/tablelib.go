package lua

func tableLibrary() []*builtin { return nil }
