// Package scripttest runs the tests that scripts bring along: each function at the top of a *_test.star
// or *_test.lua file whose name begins with "test_" is a test. In Lua that is a global function.
//
// Beside everything that a hook has, a test has
//
//	assert.eq(got, want)          equal, views and plain values alike
//	assert.ok(cond, msg = "")     true
//	assert.fails(fn, pattern)     fn() fails with an error that matches
//	decide(point, payload, hook = None, config = {}, scope = {}, facts = {}, state = {}, kind = "")
//
// In Lua, decide and its named arguments are decide{point = ..., payload = ...}, or decide(point, payload,
// {hook = ...}). decide gives what the host computed, read-only: .outcome, .payload, .reason, .decisions,
// .records and whatever else the host puts there.
package scripttest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
)

// Request is what decide asks for. Values that a test didn't give are absent.
type Request struct {
	Point   string
	Payload payload.Value // an object
	Hook    string        // "": the whole chain
	Config  payload.Value
	Scope   payload.Value
	Facts   payload.Value
	State   payload.Value
	Kind    string // a normal tool kind, "" if none
}

// Decide computes what a chain, or one hook, says. Its result is an object in the form of the decide
// command's output. An error fails the test at that line.
type Decide func(ctx context.Context, q Request) (payload.Value, error)

// Options are how tests run. The zero Options run all of them under the limits of a hook.
type Options struct {
	Filter *regexp.Regexp // of names; nil: all
	Limits meter.Limits   // of loading and of each test; zero: meter.Default
}

// TestResult is how one test ended.
type TestResult struct {
	Name    string // of the function
	OK      bool
	Message string // why it failed, with a backtrace
	File    string // where it failed; of one that passed: where it is defined
	Line    int
	Output  string // what it printed, a line a print
	Fuel    int64  // that the test used, beside its decisions
}

// Run loads a file of tests and runs those that the filter lets through, in the order of the file. An
// error means that the file couldn't be loaded, and is an *interp.Error if the fault is in it; tests
// that fail are results. When ctx ends, the tests that are left fail.
func Run(ctx context.Context, engine interp.Tester, src interp.Source, module interp.Module, decide Decide, opts Options) ([]TestResult, error) {
	if opts.Limits == (meter.Limits{}) {
		opts.Limits = meter.Default
	}
	var host interp.TestHost
	if decide != nil {
		host.Decide = func(ctx context.Context, args payload.Value) (payload.Value, error) {
			return decide(ctx, requestOf(args))
		}
	}
	file, err := engine.OpenTests(ctx, src, module, opts.Limits, host)
	if err != nil {
		return nil, err
	}
	var out []TestResult
	for _, fn := range file.Funcs() {
		if opts.Filter == nil || opts.Filter.MatchString(fn.Name) {
			out = append(out, runOne(ctx, file, fn))
		}
	}
	return out, nil
}

func runOne(ctx context.Context, file interp.TestFile, fn interp.TestFunc) TestResult {
	res := TestResult{Name: fn.Name, File: fn.File, Line: fn.Line}
	var printed strings.Builder
	use, err := file.Run(ctx, fn.Name, func(text string) { fmt.Fprintln(&printed, text) })
	res.OK, res.Output, res.Fuel = err == nil, printed.String(), use.Fuel
	if err == nil {
		return res
	}
	res.Message = err.Error()
	var fault *interp.Error
	if errors.As(err, &fault) {
		res.Message = fault.Message
		if errors.Is(err, hookpoints.ErrBudget) {
			res.Message += "; a test has the budget of a hook"
		}
		if fault.Backtrace != "" {
			res.Message += "\n" + strings.TrimRight(fault.Backtrace, "\n")
		}
		if fault.Line > 0 {
			res.File, res.Line = fault.File, fault.Line
		}
	}
	return res
}

func requestOf(args payload.Value) Request {
	return Request{
		Point: args.Get("point").Text(), Payload: args.Get("payload"), Hook: args.Get("hook").Text(),
		Config: args.Get("config"), Scope: args.Get("scope"), Facts: args.Get("facts"), State: args.Get("state"),
		Kind: args.Get("kind").Text(),
	}
}
