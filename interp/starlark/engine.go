// Package starlark runs hooks written in Starlark on the stock go.starlark.net, behind two things of
// its own: a syntax tree that is rewritten so that whatever may cost more than a step is a call of a
// metered builtin (rewrite.go, ops.go), and values of its own for dicts, sets and payloads (dict.go,
// view.go), which do nothing unless such a builtin asks them to.
//
// One number, the thread's step counter, is the fuel of bytecode and builtins alike. The same script
// and payload always use the same.
package starlark

import (
	"context"
	"sync"

	"agentd/builtins/meter"
	"agentd/interp"
)

// Engine fulfils interp.Engine. It is immutable.
type Engine struct {
	env   *environment
	tests func() *environment // of test files
}

// New makes the engine with the decision builtins and the shared builtins.
func New() *Engine {
	return &Engine{newEnvironment(), sync.OnceValue(func() *environment { return newEnvironment(testBuiltins()...) })}
}

var _ interp.Engine = (*Engine)(nil)

const (
	interpreter = "go.starlark.net"
	// pinned is the interpreter's version where the binary doesn't say it, as in tests; a test holds
	// it against go.mod.
	pinned = "v0.0.0-20260908191801-89a6a09411d5"
)

// Identity implements interp.Engine.
func (*Engine) Identity() interp.Identity {
	return interp.Identity{Language: "starlark", Interpreter: interpreter + "@" + version(), Dialect: "set"}
}

// version is the one that was really linked.
var version = sync.OnceValue(func() string { return interp.Linked(interpreter, pinned) })

// Load implements interp.Engine. Limits bound the loading, modules included, and each call of the
// hooks that it returns; compiling is bounded apart, see SourceCost.
func (e *Engine) Load(ctx context.Context, src interp.Source, module interp.Module, limits meter.Limits) ([]interp.Definition, error) {
	l := newLoading(e.env, src, module, limits)
	r := newRun(ctx, limits)
	r.loading = l
	if _, err := r.loadMain(src); err != nil {
		return nil, err
	}
	return l.Defs, nil
}
