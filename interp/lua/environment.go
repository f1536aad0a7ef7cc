package lua

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"agentd/builtins"
)

// environment is everything that a file may name without binding it, made once and shared by all runs:
// nothing ever writes to it again.
type environment struct {
	base *lua.LTable
	meta *lua.LTable // of the globals of a file
	text *lua.LTable // of text

	// jsonNames are the names of the builtins that take and return JSON values: decisions and shared ones.
	jsonNames map[string]bool
}

// newEnvironment gathers Lua's library, the operators, the decisions, hook, the shared builtins with
// their modules, and those of a host.
func newEnvironment(extra ...*builtin) *environment {
	var all []*builtin
	all = append(all, operators()...)
	all = append(all, library()...)
	all = append(all, ownFunctions()...)
	env := &environment{base: &lua.LTable{Metatable: libraryMeta}, jsonNames: map[string]bool{}}
	for _, d := range builtins.Deciders() {
		all = append(all, decider(d))
		env.jsonNames[d.Name] = true
	}
	for _, f := range builtins.All() {
		all = append(all, shared(f))
		env.jsonNames[f.Name] = true
	}
	env.register(append(all, extra...))
	env.base.RawSetString("null", nullValue)
	env.meta = lockedMeta()
	env.meta.RawSetString("__index", env.base)
	env.text = lockedMeta()
	for event, do := range ordered(textArithmetic()) {
		env.text.RawSetString(event, newBuiltin(event, steps(2), do).value)
	}
	if t, ok := env.base.RawGetString("string").(*lua.LTable); ok {
		env.text.RawSetString("__index", t)
	}
	return env
}

// library is Lua's own.
func library() []*builtin {
	return slices.Concat(baseLibrary(), stringLibrary(), tableLibrary(), mathLibrary())
}

// libraryValues are the members of library tables that are no functions.
var libraryValues = mathValues

// register puts builtins under their names, in sorted order: it is the order in which pairs sees them.
func (e *environment) register(all []*builtin) {
	values := maps.Clone(libraryValues)
	for _, b := range all {
		if values[b.name] != nil {
			panic("lua: two builtins are called " + b.name)
		}
		values[b.name] = b.value
	}
	for name, v := range ordered(values) {
		module, member, inModule := strings.Cut(name, ".")
		if !inModule {
			e.base.RawSetString(name, v)
			continue
		}
		t, ok := e.base.RawGetString(module).(*lua.LTable)
		if !ok {
			t = e.moduleTable(module)
		}
		t.RawSetString(member, v)
	}
}

// moduleTable makes the table of a module. Where a function has the module's name, as assert in tests,
// the table can be called like it.
func (e *environment) moduleTable(name string) *lua.LTable {
	t := &lua.LTable{Metatable: libraryMeta}
	if f, ok := e.base.RawGetString(name).(*lua.LFunction); ok {
		t.Metatable = callableMeta(f)
	}
	e.base.RawSetString(name, t)
	return t
}

// ordered walks a map by its keys.
func ordered[K cmp.Ordered, V any](m map[K]V) func(yield func(K, V) bool) {
	return func(yield func(K, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
