package lua

import (
	"context"
	"errors"
	"testing"
	"time"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
)

const clampText = `
hook{
  id = "clamp-limit", version = "v1", point = "tool.before", targets = {"orders-search"},
  config = {type = "object"}, default = {max_limit = 100},
  run = function(ctx, call)
    local limit = call.arguments.limit
    if limit == nil or limit <= ctx.config.max_limit then
      return nil
    end
    return patch{arguments = merge(call.arguments, {limit = ctx.config.max_limit})}
  end,
}
`

func load(t testing.TB, text string) []interp.Definition {
	t.Helper()
	defs, err := New().Load(context.Background(), interp.Source{Name: "limit.lua", Text: []byte(text)}, nil, meter.Default)
	if err != nil {
		t.Fatal(err)
	}
	return defs
}

func treeOf(t testing.TB, text string) payload.Value {
	t.Helper()
	v, err := payload.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func callOf(t testing.TB, text string) *hookpoints.Call {
	t.Helper()
	p := hookpoints.Standard().Point("tool.before")
	return &hookpoints.Call{
		Point: p, Payload: treeOf(t, text),
		Binding: &hookpoints.Binding{BindingID: "project/clamp-limit", Config: treeOf(t, `{"max_limit": 100}`)},
		Around:  &hookpoints.Around{Now: time.Unix(1700000000, 0), Seed: "seed"},
	}
}

func TestClampPatchesTheLimitAndLeavesTheRestAsItCame(t *testing.T) {
	defs := load(t, clampText)
	call := callOf(t, `{"name":"orders-search","arguments":{"limit":5000,"q":1.50}}`)
	got, use, err := defs[0].Hook.Decide(context.Background(), call)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Verb != hookpoints.Patch || len(got[0].Fields) != 1 || got[0].Fields[0].Name != "arguments" {
		t.Fatalf("decisions: %+v", got)
	}
	args := got[0].Fields[0].Value
	if args.String() != `{"limit":100,"q":1.50}` {
		t.Errorf("arguments: %s", args)
	}
	if args.Get("q") != call.Payload.Get("arguments").Get("q") {
		t.Error("q is another node")
	}
	if use.Fuel == 0 || use.Bytes == 0 {
		t.Errorf("usage: %+v", use)
	}
}

func TestAnEndlessLoopSpendsTheBudget(t *testing.T) {
	defs := load(t, `hook{id = "spin", version = "v1", run = function() while true do end end}`)
	_, use, err := defs[0].Hook.Decide(context.Background(), callOf(t, `{}`))
	var e *interp.Error
	if !errors.As(err, &e) || !errors.Is(err, hookpoints.ErrBudget) || e.Line != 1 || e.File != "limit.lua" {
		t.Errorf("got %v", err)
	}
	if use.Fuel != meter.Default.Fuel {
		t.Errorf("usage: %+v", use)
	}
}
