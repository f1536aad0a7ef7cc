package starlark

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"agentd/builtins"
)

// environment is everything that a file may name without binding it, made once and shared by all
// runs: it is immutable.
type environment struct {
	values starlark.StringDict // by predeclared name
}

// newEnvironment gathers the universe, the operators, the decisions, hook, and the shared builtins
// with their modules. extra are those of a host.
func newEnvironment(extra ...*builtin) *environment {
	env := &environment{starlark.StringDict{}}
	for name, v := range universe() {
		env.add(name, v)
	}
	for _, b := range operators() {
		env.add(b.name, b.value)
	}
	for _, d := range builtins.Deciders() {
		env.add(d.Name, decider(d).value)
	}
	env.add("hook", newBuiltin("hook", steps(8), defineHook).value)
	modules := map[string]*module{}
	for _, f := range builtins.All() {
		env.addShared(modules, f)
	}
	for _, b := range extra {
		env.add(b.name, b.value)
	}
	return env
}

func (e *environment) add(name string, v starlark.Value) {
	if e.has(name) {
		panic("starlark: two builtins are called " + name)
	}
	e.values[predeclared(name)] = v
}

// addShared adds "module.name" to its module, or "name" to the top.
func (e *environment) addShared(modules map[string]*module, f *builtins.Func) {
	b := shared(f)
	mod, name, inModule := strings.Cut(f.Name, ".")
	e.add(f.Name, b.value)
	if !inModule {
		return
	}
	m := modules[mod]
	if m == nil {
		m = &module{mod, map[string]starlark.Value{}}
		modules[mod] = m
		e.add(mod, m)
	}
	m.members[name] = b.value
}

func (e *environment) has(name string) bool { return e.values.Has(predeclared(name)) }

// declares tells the resolver what there is. It also claims the names of the interpreter's own
// universe, so that none of them is ever found there.
func (e *environment) declares(name string) bool {
	return e.values.Has(name) || starlark.Universe.Has(name)
}

// module is a set of builtins under one name.
type module struct {
	name    string
	members map[string]starlark.Value
}

func (m *module) String() string        { return fmt.Sprintf("<module %s>", m.name) }
func (m *module) Type() string          { return "module" }
func (m *module) Freeze()               {}
func (m *module) Truth() starlark.Bool  { return true }
func (m *module) Hash() (uint32, error) { return 0, unhashable(m) }
