package starlark

import (
	"errors"
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

// newEnvironment gathers the universe, the operators, the decisions, hook, the shared builtins with
// their modules, and those of a host, which may be called "module.name" as well.
func newEnvironment(extra ...*builtin) *environment {
	env := &environment{starlark.StringDict{}}
	modules := map[string]*module{}
	for name, v := range universe() {
		env.add(name, v)
	}
	for _, b := range operators() {
		env.add(b.name, b.value)
	}
	for _, d := range builtins.Deciders() {
		env.add(d.Name, decider(d).value)
	}
	env.add("hook", newBuiltin("hook", steps(128), defineHook).value)
	for _, f := range builtins.All() {
		env.addMember(modules, shared(f))
	}
	for _, b := range extra {
		env.addMember(modules, b)
	}
	return env
}

func (e *environment) add(name string, v starlark.Value) {
	if e.has(name) {
		panic("starlark: two builtins are called " + name)
	}
	e.values[predeclared(name)] = v
}

// addMember adds "module.name" to its module, or "name" to the top.
func (e *environment) addMember(modules map[string]*module, b *builtin) {
	e.add(b.name, b.value)
	mod, name, inModule := strings.Cut(b.name, ".")
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

func (m *module) String() string        { return fmt.Sprintf("<module %q>", m.name) }
func (m *module) Type() string          { return "module" }
func (m *module) Freeze()               {}
func (m *module) Truth() starlark.Bool  { return true }
func (m *module) Hash() (uint32, error) { return 0, errors.New("unhashable: module") }
