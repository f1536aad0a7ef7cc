package builtins

import (
	"cmp"
	"slices"
)

// modules are the shared modules, each in a file of its own.
var modules = []func() []*Func{
	globModule,
	jsonModule,
	pathModule,
	reModule,
	shellModule,
	textModule,
	toolModule,
}

// sorted gathers the modules by name, so that every language and the manifest see one order.
func sorted() []*Func {
	var list []*Func
	for _, module := range modules {
		list = append(list, module()...)
	}
	slices.SortFunc(list, func(a, b *Func) int { return cmp.Compare(a.Name, b.Name) })
	return list
}
