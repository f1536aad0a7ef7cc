package interp

import (
	"context"
	"errors"
	"fmt"

	"agentd/builtins"
	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// TestPrefix begins the name of a test: of a function at the top of a test file.
const TestPrefix = "test_"

// TestHost is what a test file can ask of its host.
type TestHost struct {
	// Decide answers decide(point, payload, hook =, config =, scope =, facts =, state =, kind =). It
	// gets an object with the arguments that were given, and returns what the script sees as a view.
	// Its error fails the test. Nil: there is nothing to decide.
	Decide func(ctx context.Context, request payload.Value) (payload.Value, error)
}

// TestFunc is one test.
type TestFunc struct {
	Name string
	File string
	Line int
}

// TestFile is a loaded file of tests. Its tests share nothing, so they may run at once.
type TestFile interface {
	// Funcs lists the tests in the order of the file.
	Funcs() []TestFunc
	// Run runs one test. Print gets what it prints, line by line; nil drops it. A test that fails
	// gives an *Error that says where.
	Run(ctx context.Context, name string, print func(text string)) (hookpoints.Usage, error)
}

// Tester is an engine that can run tests.
type Tester interface {
	Engine
	// OpenTests loads a file of tests. It has what a hook's file has but hook, and beside that
	// assert.eq(got, want), assert.ok(cond, msg), assert.fails(fn, pattern) and decide. Limits bound
	// the loading and each test; what a decision costs isn't counted. A fault in the file is an *Error.
	OpenTests(ctx context.Context, src Source, module Module, limits meter.Limits, host TestHost) (TestFile, error)
}

// DecideParams are the arguments of decide.
var DecideParams = []builtins.Param{
	{Name: "point", Kinds: payload.String}, {Name: "payload", Kinds: payload.Object},
	{Name: "hook", Kinds: payload.String, Optional: true}, {Name: "config", Kinds: payload.Object, Optional: true},
	{Name: "scope", Kinds: payload.Object, Optional: true}, {Name: "facts", Kinds: payload.Object, Optional: true},
	{Name: "state", Kinds: payload.Object, Optional: true}, {Name: "kind", Kinds: payload.String, Optional: true},
}

// Answer checks the arguments of decide, one a parameter, and asks the host.
func (h TestHost) Answer(ctx context.Context, args []payload.Value) (payload.Value, error) {
	if h.Decide == nil {
		return payload.Value{}, errors.New("decide: there is nothing to decide with here")
	}
	var fields []payload.Field
	for i, p := range DecideParams {
		v := args[i]
		if !v.Exists() || p.Optional && v.Kind() == payload.Null {
			if !p.Optional {
				return payload.Value{}, fmt.Errorf("decide: argument %s is missing", p.Name)
			}
			continue
		}
		if v.Kind()&p.Kinds == 0 {
			return payload.Value{}, fmt.Errorf("decide: argument %s is %s, want %s", p.Name, v.Kind(), p.Kinds)
		}
		fields = append(fields, payload.Field{Name: p.Name, Value: v})
	}
	out, err := h.Decide(ctx, payload.NewObject(fields...))
	if err != nil {
		return payload.Value{}, fmt.Errorf("decide: %w", err)
	}
	return out, nil
}
