package starlark

import (
	"slices"
	"strings"

	"agentd/builtins"
)

// Callables names everything that works for a charge: builtins, methods as "type.method", and what
// rewriting makes of operators, displays, loops and spreads, in its own names. It is for whoever has
// to say something about each of them.
func Callables() []string {
	var names []string
	for name := range universe() {
		if name != "None" && name != "True" && name != "False" {
			names = append(names, name)
		}
	}
	for _, f := range builtins.All() {
		names = append(names, f.Name)
	}
	for _, d := range builtins.Deciders() {
		names = append(names, d.Name)
	}
	names = append(names, "hook")
	for _, b := range operators() {
		if !strings.HasPrefix(b.name, ".") || b.name == opAttr || b.name == opMethod {
			names = append(names, b.name)
		}
	}
	for typ, m := range map[string]methods{
		"string": stringMethods, "bytes": bytesMethods, "list": listMethods, "dict": dictMethods, "set": setMethods, "view": objectMethods,
	} {
		for name := range m {
			names = append(names, typ+"."+name)
		}
	}
	slices.Sort(names)
	return names
}
