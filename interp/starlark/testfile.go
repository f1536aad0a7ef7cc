package starlark

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"agentd/builtins"
	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
)

// TestHost is what a test file can ask of its host.
type TestHost struct {
	// Decide answers decide(point, payload, hook =, config =, scope =, facts =, state =, kind =). It
	// gets an object with the arguments that were given, and returns what the script sees as a view.
	// Its error fails the test. Nil: there is nothing to decide.
	Decide func(ctx context.Context, request payload.Value) (payload.Value, error)
}

// TestFile is a loaded file of tests. Its tests share nothing, so they may run at once.
type TestFile struct {
	funcs  []*starlark.Function
	limits meter.Limits
	host   TestHost
}

// TestFunc is one test: a function at the top of the file whose name begins with "test_".
type TestFunc struct {
	Name string
	File string
	Line int
}

// testPrefix begins the name of a test.
const testPrefix = "test_"

// OpenTests loads a file of tests. It has what a hook's file has but hook, and beside that
// assert.eq(got, want), assert.ok(cond, msg = ""), assert.fails(fn, pattern) and decide. Limits bound
// the loading and each test; what a decision costs isn't counted. A fault in the file is an
// *interp.Error.
func (e *Engine) OpenTests(ctx context.Context, src interp.Source, module interp.Module, limits meter.Limits, host TestHost) (*TestFile, error) {
	r := newRun(ctx, limits)
	r.loading = newLoading(e.tests(), src, module, limits)
	r.loading.noHooks = true
	globals, err := r.loadMain(src)
	if err != nil {
		return nil, err
	}
	f := &TestFile{limits: limits, host: host}
	for _, name := range globals.Keys() {
		if fn, ok := globals[name].(*starlark.Function); ok && strings.HasPrefix(name, testPrefix) {
			f.funcs = append(f.funcs, fn)
		}
	}
	slices.SortStableFunc(f.funcs, func(a, b *starlark.Function) int { return int(a.Position().Line - b.Position().Line) })
	return f, nil
}

// Funcs lists the tests in the order of the file.
func (f *TestFile) Funcs() []TestFunc {
	out := make([]TestFunc, len(f.funcs))
	for i, fn := range f.funcs {
		out[i] = TestFunc{fn.Name(), fn.Position().Filename(), int(fn.Position().Line)}
	}
	return out
}

// Run runs one test. Print gets what it prints, line by line; nil drops it. A test that fails gives an
// *interp.Error that says where.
func (f *TestFile) Run(ctx context.Context, name string, print func(text string)) (hookpoints.Usage, error) {
	i := slices.IndexFunc(f.funcs, func(fn *starlark.Function) bool { return fn.Name() == name })
	if i < 0 {
		return hookpoints.Usage{}, fmt.Errorf("there is no test %s", name)
	}
	r := newRun(ctx, f.limits)
	r.host = f.host
	r.print = listener{test: print, left: maxPrinted}
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
		return nil, fmt.Errorf("assert.fails: it failed with %q, want a match of %q", hookpoints.Cut(err.Error(), maxMessage), pattern)
	}
	return starlark.None, nil
}

// decideParams are the arguments of decide.
var decideParams = []builtins.Param{
	{Name: "point", Kinds: payload.String}, {Name: "payload", Kinds: payload.Object},
	{Name: "hook", Kinds: payload.String, Optional: true}, {Name: "config", Kinds: payload.Object, Optional: true},
	{Name: "scope", Kinds: payload.Object, Optional: true}, {Name: "facts", Kinds: payload.Object, Optional: true},
	{Name: "state", Kinds: payload.Object, Optional: true}, {Name: "kind", Kinds: payload.String, Optional: true},
}

func decide(r *run, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if r.host.Decide == nil {
		return nil, errors.New("decide: there is nothing to decide with here")
	}
	trees, _, err := r.arrange("decide", decideParams, false, args, kwargs)
	if err != nil {
		return nil, err
	}
	var fields []payload.Field
	for i, p := range decideParams {
		v := trees[i]
		if !v.Exists() || p.Optional && v.Kind() == payload.Null {
			if !p.Optional {
				return nil, fmt.Errorf("decide: argument %s is missing", p.Name)
			}
			continue
		}
		if v.Kind()&p.Kinds == 0 {
			return nil, fmt.Errorf("decide: argument %s is %s, want %s", p.Name, v.Kind(), p.Kinds)
		}
		fields = append(fields, payload.Field{Name: p.Name, Value: v})
	}
	out, err := r.host.Decide(r.ctx, payload.NewObject(fields...))
	if err != nil {
		return nil, fmt.Errorf("decide: %w", err)
	}
	return r.show(out)
}
