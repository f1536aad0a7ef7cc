package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/internal/worker"
	"agentd/interp"
	"agentd/interp/starlark"
)

// contents is the clamp n times, with a limit that the call keeps: none has an opinion, so all travel together.
func contents(n int) string {
	function, _, _ := strings.Cut(clamp, "hook(")
	var script strings.Builder
	script.WriteString(function)
	for i := range n {
		fmt.Fprintf(&script, "hook(id = \"clamp-%d\", version = \"v1\", run = clamp, point = \"tool.before\", default = {\"max_limit\": 10000})\n", i)
	}
	return script.String()
}

// isolated: what it costs to decide in a worker instead of here, and how much of that eight hooks share.
func isolated(ctx context.Context, program string) ([]row, error) {
	if missing := worker.Missing(); len(missing) > 0 {
		return []row{{"a decision in a worker", "", fmt.Sprintf("not here: no %v", missing), ""}}, nil
	}
	path, err := filepath.Abs(program)
	if err != nil {
		return nil, err
	}
	pool := worker.New(worker.Options{Program: path})
	defer pool.Close()
	here, there := starlark.New(), pool.Engine(".star", starlark.New(), false)
	in, scope, err := call(callText(1 << 10))
	if err != nil {
		return nil, err
	}
	var asked []func(*testing.B)
	for _, c := range []struct {
		engine   interp.Engine
		script   string
		decision string
	}{{here, clamp, "patch"}, {there, clamp, "patch"}, {there, contents(1), ""}, {there, contents(8), ""}} {
		chain, err := chainOf(ctx, c.engine, c.script)
		if err != nil {
			return nil, err
		}
		req := hookpoints.Request{Payload: in, Around: &hookpoints.Around{Scope: scope, Now: time.Unix(0, 0), Seed: "figures"}}
		asked = append(asked, func(b *testing.B) {
			for b.Loop() {
				res, err := chain.Run(ctx, hookpoints.Ordinary, req)
				for _, rec := range res.Records {
					if rec.Decision != c.decision {
						err = errors.Join(err, fmt.Errorf("%+v", rec))
					}
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	t := interleaved(asked...)
	return []row{
		{"a decision in a worker, 1 KB", "in process (" + micros(t[0]) + ")", ratio(t[1], t[0]) + " (" + micros(t[1]) + ")", "at most 25"},
		{"a chain of 8 in a worker", "of one (" + micros(t[2]) + ")", ratio(t[3], t[2]) + " (" + micros(t[3]) + ")", "at most 1.5"},
	}, nil
}

// chainOf binds all hooks of a script where they say.
func chainOf(ctx context.Context, engine interp.Engine, script string) (*hookpoints.Chain, error) {
	defs, err := engine.Load(ctx, interp.Source{Name: "isolated.star", Text: []byte(script)}, nil, meter.Default)
	if err != nil {
		return nil, err
	}
	var list []*hookpoints.Binding
	for _, d := range defs {
		id := "project/" + d.HookID
		list = append(list, &hookpoints.Binding{BindingID: id, HookID: d.HookID, Version: d.Version, Point: "tool.before", Priority: d.Priority,
			Config: d.Default, Timeout: d.Timeout, FailurePolicy: d.FailurePolicy, StateCell: id, ReplaySafe: true, Hook: d.Hook})
	}
	return hookpoints.NewChain(hookpoints.Standard().Point("tool.before"), mono{time.Now()}, list), nil
}
