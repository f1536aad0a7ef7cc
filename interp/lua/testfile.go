package lua

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/interp"
)

var _ interp.Tester = (*Engine)(nil)

// testFile is a loaded file of tests.
type testFile struct {
	names  []string
	funcs  []*lua.LFunction
	limits meter.Limits
	host   interp.TestHost
	frozen frozen
	states *pool
}

// OpenTests implements interp.Tester. A test is a global function.
func (e *Engine) OpenTests(ctx context.Context, src interp.Source, module interp.Module, limits meter.Limits, host interp.TestHost) (interp.TestFile, error) {
	r := newRun(ctx, limits)
	r.loading = newLoading(e, e.tests(), src, module, limits)
	r.loading.Tests = true
	globals, err := r.loadMain(src)
	if err != nil {
		return nil, err
	}
	f := &testFile{limits: limits, host: host, frozen: r.frozen, states: e.states}
	for k, v := globals.Next(lua.LNil); k != lua.LNil; k, v = globals.Next(k) {
		name, _ := k.(lua.LString)
		if fn, ok := v.(*lua.LFunction); ok && !fn.IsG && strings.HasPrefix(string(name), interp.TestPrefix) {
			f.names, f.funcs = append(f.names, string(name)), append(f.funcs, fn)
		}
	}
	return f, nil
}

// Funcs implements interp.TestFile.
func (f *testFile) Funcs() []interp.TestFunc {
	out := make([]interp.TestFunc, len(f.funcs))
	for i, fn := range f.funcs {
		out[i] = interp.TestFunc{Name: f.names[i], File: fn.Proto.SourceName, Line: fn.Proto.LineDefined}
	}
	slices.SortStableFunc(out, func(a, b interp.TestFunc) int { return a.Line - b.Line })
	return out
}

// Run implements interp.TestFile.
func (f *testFile) Run(ctx context.Context, name string, print func(text string)) (hookpoints.Usage, error) {
	i := slices.Index(f.names, name)
	if i < 0 {
		return hookpoints.Usage{}, fmt.Errorf("there is no test %s", name)
	}
	r := newRun(ctx, f.limits)
	r.host = f.host
	r.frozen = f.frozen
	r.print = interp.Listener{Test: print, Left: interp.MaxPrinted}
	_, err := r.invoke(f.states, f.funcs[i])
	return r.usage(), err
}

// testBuiltins are those that only test files have. assert can be called as in Lua, too.
func testBuiltins() []*builtin {
	return []*builtin{
		newBuiltin("assert.eq", steps(4), assertEq),
		newBuiltin("assert.ok", steps(1), assertOK),
		newBuiltin("assert.fails", steps(8), assertFails),
		newBuiltin("decide", steps(8), decide),
	}
}

// assertEq compares by content: tables, views and plain values alike.
func assertEq(r *run, L *lua.LState) (int, error) {
	got, want := L.Get(1), L.Get(2)
	eq, err := r.equal(L, got, want)
	if err != nil || eq {
		return 0, err
	}
	if got != lua.LNil && want != lua.LNil {
		a, aerr := r.tree(got, hookpoints.MaxResultDepth)
		b, berr := r.tree(want, hookpoints.MaxResultDepth)
		if aerr == nil && berr == nil {
			if eq, err = r.sameTree(a, b); err != nil || eq {
				return 0, err
			}
		}
	}
	return 0, fmt.Errorf("assert.eq: got %s, want %s", r.preview(got), r.preview(want))
}

// preview is a short text of a value.
func (r *run) preview(v lua.LValue) string {
	const most = 400
	if v == lua.LNil {
		return "nil"
	}
	tree, err := r.tree(v, hookpoints.MaxResultDepth)
	if err != nil {
		return "a " + typeName(v)
	}
	return hookpoints.Cut(tree.String(), most)
}

func assertOK(r *run, L *lua.LState) (int, error) {
	if lua.LVAsBool(L.Get(1)) {
		return 0, nil
	}
	if msg, ok := L.Get(2).(lua.LString); ok && msg != "" {
		return 0, fmt.Errorf("assert.ok: %s", string(msg))
	}
	return 0, fmt.Errorf("assert.ok: it is %s", r.preview(L.Get(1)))
}

// assertFails calls a function that must fail. What it spent stays spent, and a spent budget or the
// wall clock is no failure of the function but of the test.
func assertFails(r *run, L *lua.LState) (int, error) {
	fn, err := functionOperand(L, 1, "assert.fails")
	if err != nil {
		return 0, err
	}
	pattern, err := textOperand(L, 2, "assert.fails")
	if err != nil {
		return 0, err
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return 0, fmt.Errorf("assert.fails: %w", err)
	}
	L.Push(fn)
	ok, failure, err := r.protect(L, 0)
	if err != nil {
		return 0, err
	}
	if ok {
		return 0, fmt.Errorf("assert.fails: it didn't fail, want an error that matches %q", pattern)
	}
	text := errorText(&lua.ApiError{Object: failure})
	if !re.MatchString(text) {
		return 0, fmt.Errorf("assert.fails: it failed with %q, want a match of %q", hookpoints.Cut(text, interp.MaxMessage), pattern)
	}
	return 0, nil
}

func decide(r *run, L *lua.LState) (int, error) {
	if r.host.Decide == nil {
		return 0, errors.New("decide: there is nothing to decide with here")
	}
	trees, _, err := r.arrange(L, "decide", interp.DecideParams, false)
	if err != nil {
		return 0, err
	}
	out, err := r.host.Answer(r.ctx, trees)
	if err != nil {
		return 0, err
	}
	v, err := r.show(out)
	L.Push(v)
	return 1, err
}

// callableMeta is the metatable of a library table that can be called like a function.
func callableMeta(f *lua.LFunction) *lua.LTable {
	mt := lockedMeta()
	mt.RawSetString("__call", calling(f))
	mt.RawSetString(libraryMark, lua.LTrue)
	return mt
}

// calling is a function without its first operand, which is the table that was called.
func calling(f *lua.LFunction) *lua.LFunction {
	return &lua.LFunction{IsG: true, Env: nowhere, GFunction: func(L *lua.LState) int {
		L.Remove(1)
		return f.GFunction(L)
	}}
}
