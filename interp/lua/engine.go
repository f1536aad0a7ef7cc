// Package lua runs hooks written in Lua 5.1 on the stock gopher-lua, behind three things of its own: a
// syntax tree that is rewritten so that whatever may cost more than a step is a call of a metered
// builtin (rewrite.go, ops.go), a library of its own (base.go and its neighbours), and tables that are
// frozen once a file is loaded (freeze.go).
//
// The interpreter asks a state's context before each instruction whether it is done: the run of a
// script is that context, and counts. One number is the fuel of instructions and builtins alike. The
// same script and payload always use the same.
package lua

import (
	"context"
	"sync"

	lua "github.com/yuin/gopher-lua"

	"agentd/builtins/meter"
	"agentd/interp"
)

// Engine fulfils interp.Engine. It is immutable, but for the states that it keeps for the next call.
type Engine struct {
	env    func() *environment // made when it is first needed: most programs run no Lua
	tests  func() *environment // of test files
	states *pool
}

// New makes the engine with the library, the decision builtins and the shared builtins.
func New() *Engine {
	env := sync.OnceValue(func() *environment { return newEnvironment() })
	tests := sync.OnceValue(func() *environment { return newEnvironment(testBuiltins()...) })
	return &Engine{env, tests, &pool{text: func() *lua.LTable { return env().text }}}
}

// NewUnpooled makes an engine that keeps no states: each call gets a fresh one. It is there to measure
// what keeping them saves.
func NewUnpooled() *Engine {
	e := New()
	e.states.none = true
	return e
}

var _ interp.Engine = (*Engine)(nil)

const (
	interpreter = "github.com/yuin/gopher-lua"
	// pinned is the interpreter's version where the binary doesn't say it, as in tests; a test holds
	// it against go.mod.
	pinned = "v1.1.2"
)

// What the interpreter keeps in variables of its package. They are set before anything runs, and never again.
func init() {
	lua.MaxArrayIndex = maxArrayIndex
	lua.MaxTableGetLoop = maxIndexChain
	lua.CompatVarArg = false
}

// Identity implements interp.Engine.
func (*Engine) Identity() interp.Identity {
	return interp.Identity{Language: "lua", Interpreter: interpreter + "@" + version(), Dialect: "5.1 hooks"}
}

// version is the one that was really linked.
var version = sync.OnceValue(func() string { return interp.Linked(interpreter, pinned) })

// Load implements interp.Engine. Limits bound the loading, modules included, and each call of the
// hooks that it returns.
func (e *Engine) Load(ctx context.Context, src interp.Source, module interp.Module, limits meter.Limits) ([]interp.Definition, error) {
	l := newLoading(e, e.env(), src, module, limits)
	r := newRun(ctx, limits)
	r.loading = l
	if _, err := r.loadMain(src); err != nil {
		return nil, err
	}
	return l.Defs, nil
}
