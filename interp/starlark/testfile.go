package starlark

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/interp"
)

var _ interp.Tester = (*Engine)(nil)

// testFile is a loaded file of tests.
type testFile struct {
	funcs  []*starlark.Function
	limits meter.Limits
	host   interp.TestHost
}

// OpenTests implements interp.Tester.
func (e *Engine) OpenTests(ctx context.Context, src interp.Source, module interp.Module, limits meter.Limits, host interp.TestHost) (interp.TestFile, error) {
	r := newRun(ctx, limits)
	r.loading = newLoading(e.tests(), src, module, limits)
	r.loading.Tests = true
	globals, err := r.loadMain(src)
	if err != nil {
		return nil, err
	}
	f := &testFile{limits: limits, host: host}
	for _, name := range globals.Keys() {
		if fn, ok := globals[name].(*starlark.Function); ok && strings.HasPrefix(name, interp.TestPrefix) {
			f.funcs = append(f.funcs, fn)
		}
	}
	slices.SortStableFunc(f.funcs, func(a, b *starlark.Function) int { return int(a.Position().Line - b.Position().Line) })
	return f, nil
}

// Funcs implements interp.TestFile.
func (f *testFile) Funcs() []interp.TestFunc {
	out := make([]interp.TestFunc, len(f.funcs))
	for i, fn := range f.funcs {
		out[i] = interp.TestFunc{Name: fn.Name(), File: fn.Position().Filename(), Line: int(fn.Position().Line)}
	}
	return out
}

// Run implements interp.TestFile.
func (f *testFile) Run(ctx context.Context, name string, print func(text string)) (hookpoints.Usage, error) {
	i := slices.IndexFunc(f.funcs, func(fn *starlark.Function) bool { return fn.Name() == name })
	if i < 0 {
		return hookpoints.Usage{}, fmt.Errorf("there is no test %s", name)
	}
	r := newRun(ctx, f.limits)
	r.host = f.host
	r.print = interp.Listener{Test: print, Left: interp.MaxPrinted}
	_, err := r.invoke(f.funcs[i], nil)
	return r.usage(), err
}

// testBuiltins are those that only test files have.
func testBuiltins() []*builtin {
	return []*builtin{
		newBuiltin("assert.eq", steps(1), assertEq),
		newBuiltin("assert.ok", steps(1), assertOK),
		newBuiltin("assert.fails", steps(1), assertFails),
		newBuiltin("decide", steps(1), decide),
	}
}

func assertEq(r *run, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var got, want starlark.Value
	if err := starlark.UnpackArgs("assert.eq", args, kwargs, "got", &got, "want", &want); err != nil {
		return nil, err
	}
	eq, err := r.equal(got, want, 0)
	if err != nil {
		return nil, err
	}
	if !eq {
		return nil, fmt.Errorf("assert.eq: got %s, want %s", preview(got), preview(want))
	}
	return starlark.None, nil
}

func assertOK(_ *run, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var cond starlark.Value
	var msg string
	if err := starlark.UnpackArgs("assert.ok", args, kwargs, "cond", &cond, "msg?", &msg); err != nil {
		return nil, err
	}
	switch {
	case bool(cond.Truth()):
		return starlark.None, nil
	case msg != "":
		return nil, fmt.Errorf("assert.ok: %s", msg)
	}
	return nil, fmt.Errorf("assert.ok: it is %s", preview(cond))
}

// assertFails calls a function that must fail. What it spent stays spent, and a spent budget or the
// wall clock is no failure of the function but of the test.
func assertFails(r *run, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var fn starlark.Callable
	var pattern string
	if err := starlark.UnpackArgs("assert.fails", args, kwargs, "fn", &fn, "pattern", &pattern); err != nil {
		return nil, err
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("assert.fails: %w", err)
	}
	_, err = starlark.Call(&r.thread, fn, nil, nil)
	switch {
	case r.meter.Spent() || r.late:
		return nil, err
	case err == nil:
		return nil, fmt.Errorf("assert.fails: it didn't fail, want an error that matches %q", pattern)
	case !re.MatchString(err.Error()):
		return nil, fmt.Errorf("assert.fails: it failed with %q, want a match of %q", hookpoints.Cut(err.Error(), interp.MaxMessage), pattern)
	}
	return starlark.None, nil
}

func decide(r *run, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if r.host.Decide == nil {
		return nil, errors.New("decide: there is nothing to decide with here")
	}
	trees, _, err := r.arrange("decide", interp.DecideParams, false, args, kwargs)
	if err != nil {
		return nil, err
	}
	out, err := r.host.Answer(r.ctx, trees)
	if err != nil {
		return nil, err
	}
	return r.show(out)
}
