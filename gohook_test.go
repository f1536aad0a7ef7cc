package agentd_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agentd"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/revision"
)

// ticking is a clock that a test moves.
type ticking struct{ now atomic.Int64 }

func (c *ticking) Nanos() int64            { return c.now.Load() }
func (c *ticking) advance(d time.Duration) { c.now.Add(int64(d)) }

type goRun = func(ctx context.Context, c *hookpoints.Call) ([]hookpoints.Decision, error)

// withHooks opens a runtime with hooks in Go, and serves them.
func withHooks(t *testing.T, k hookpoints.Clock, hooks ...agentd.GoHook) (*agentd.Runtime, *revision.Generation) {
	t.Helper()
	rt, err := agentd.Open(agentd.Options{Clock: standing{}, Monotonic: k, Hooks: hooks})
	if err != nil {
		t.Fatal(err)
	}
	l, err := rt.Build(t.Context(), hookpoints.Shipped, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := rt.Serve(t.Context(), []*revision.Layer{l})
	if err != nil {
		t.Fatal(err)
	}
	return rt, g
}

func decide(t *testing.T, rt *agentd.Runtime, g *revision.Generation, point string) agentd.DecideResult {
	t.Helper()
	res, err := rt.Decide(t.Context(), g, agentd.DecideRequest{Point: point, Payload: rt.Points().Point(point).Example})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestAHookInGoFailsAsAScriptDoes(t *testing.T) {
	const secret = "the key is 1234"
	for name, c := range map[string]struct {
		timeout time.Duration
		run     func(k *ticking) goRun
		want    string
	}{
		"it panics": {0, func(*ticking) goRun {
			return func(context.Context, *hookpoints.Call) ([]hookpoints.Decision, error) { panic(secret) }
		}, "hook_failed"},
		"it returns an error": {0, func(*ticking) goRun {
			return func(context.Context, *hookpoints.Call) ([]hookpoints.Decision, error) { return nil, errors.New(secret) }
		}, "hook_failed"},
		"it is late": {0, func(k *ticking) goRun {
			return func(context.Context, *hookpoints.Call) ([]hookpoints.Decision, error) {
				k.advance(hookpoints.HookTimeout + time.Millisecond)
				return []hookpoints.Decision{{Verb: hookpoints.Context, Text: "too late"}}, nil
			}
		}, "host_timeout"},
		"it sees that it is late": {10 * time.Millisecond, func(k *ticking) goRun {
			return func(ctx context.Context, _ *hookpoints.Call) ([]hookpoints.Decision, error) {
				for ctx.Err() == nil {
					k.advance(time.Millisecond)
				}
				return nil, ctx.Err()
			}
		}, "host_timeout"},
		"it is just in time": {time.Second, func(k *ticking) goRun {
			return func(ctx context.Context, _ *hookpoints.Call) ([]hookpoints.Decision, error) {
				k.advance(time.Second)
				return nil, ctx.Err()
			}
		}, ""},
		"it decides what it may not": {0, func(*ticking) goRun {
			return func(context.Context, *hookpoints.Call) ([]hookpoints.Decision, error) {
				return []hookpoints.Decision{{Verb: hookpoints.Allow}}, nil
			}
		}, "not_permitted"},
	} {
		k := &ticking{}
		rt, g := withHooks(t, k, agentd.GoHook{ID: "h", Version: "v1", Points: []string{"tool.before"}, Timeout: c.timeout, Run: c.run(k)})
		res := decide(t, rt, g, "tool.before")
		rec := res.Records[0]
		if rec.Error != c.want || rec.BindingID != "shipped/h" || res.Code != c.want || (res.Outcome == hookpoints.Failed) != (c.want != "") || res.Context != nil {
			t.Errorf("%s: %+v, %s %s", name, rec, res.Outcome, res.Code)
		}
		trace := res.Trace
		res.Trace = nil
		if strings.Contains(encode(t, res).String(), secret) {
			t.Errorf("%s: its own text is in the result", name)
		}
		if (c.want != "") != (len(trace) == 1) {
			t.Errorf("%s: the trace is %v", name, trace)
		}
	}
}

func TestAHookInGoHasWhatAScriptHas(t *testing.T) {
	see := func(_ context.Context, c *hookpoints.Call) ([]hookpoints.Decision, error) {
		limit, _ := c.Binding.Config.Get("limit").Int64()
		return []hookpoints.Decision{{Verb: hookpoints.Patch, Fields: []payload.Field{{Name: "arguments", Value: payload.NewObject(
			payload.Field{Name: "limit", Value: payload.NewInt(limit)}, payload.Field{Name: "for", Value: c.Scope.Get("target")})}}}}, nil
	}
	block := func(_ context.Context, c *hookpoints.Call) ([]hookpoints.Decision, error) {
		if c.Payload.Get("arguments").Get("limit").Text() == "7" {
			return []hookpoints.Decision{{Verb: hookpoints.Reject, Text: "seven", Name: "odd"}}, nil
		}
		return nil, nil
	}
	schema, err := payload.ParseString(`{"type":"object","properties":{"limit":{"type":"integer"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	config, err := payload.ParseString(`{"limit":7.0}`)
	if err != nil {
		t.Fatal(err)
	}
	rt, g := withHooks(t, standing{},
		agentd.GoHook{ID: "guard", Version: "v1", Points: []string{"tool.before"}, Guard: true, Run: block, ReplaySafe: true},
		agentd.GoHook{ID: "see", Version: "v2", Points: []string{"tool.before"}, Targets: []string{"shell"}, Priority: 7, ConfigSchema: schema, Default: config, Run: see})
	res := decide(t, rt, g, "tool.before")
	if res.Outcome != hookpoints.Rejected || res.By != "shipped/guard" || res.Code != "odd" || res.Payload.Get("arguments").String() != `{"limit":7,"for":"shell"}` {
		t.Errorf("%+v", res)
	}
	if len(res.Trace) != 0 || res.Records[0].Version != "v2" {
		t.Errorf("%+v", res.Records)
	}
	manifest, err := payload.Parse(g.Layers[0].Manifest)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"true", "false"} { // a host's code isn't pure unless it says so
		if got := manifest.Get("bindings").At(i).Get("replay_safe").Text(); got != want {
			t.Errorf("replay_safe of %s is %s", manifest.Get("bindings").At(i).Get("binding_id"), got)
		}
	}
}

func TestAHookInGoIsHeldToWhatAScriptIsHeldTo(t *testing.T) {
	nothing := func(context.Context, *hookpoints.Call) ([]hookpoints.Decision, error) { return nil, nil }
	for _, h := range []agentd.GoHook{{Version: "v1", Run: nothing}, {ID: "h", Run: nothing}, {ID: "h", Version: "v1"}} {
		if _, err := agentd.Open(agentd.Options{Clock: standing{}, Monotonic: standing{}, Hooks: []agentd.GoHook{h}}); err == nil {
			t.Errorf("%+v is a hook", h)
		}
	}
	rt, err := agentd.Open(agentd.Options{Clock: standing{}, Monotonic: standing{}, Hooks: []agentd.GoHook{
		{ID: "h", Version: "v1", Points: []string{"tool.befor"}, Run: nothing},
		{ID: "two words", Version: "v1", Run: nothing},
		{ID: "t", Version: "v1", Points: []string{"turn.before"}, Targets: []string{"x"}, Run: nothing},
		{ID: "t", Version: "v2", Run: nothing},
	}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := rt.Build(t.Context(), hookpoints.Shipped, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range l.Faults {
		got = append(got, f.BindingID+" "+f.File+" "+f.Message)
	}
	want := []string{
		`shipped/h go:h there is no point "tool.befor"`,
		`shipped/t go:t the hook "t" is registered twice, first at go:t:0`,
		`shipped/t go:t turn.before has no targets, so it can never match`,
		`shipped/two words go:two words the id "two words" is no id`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q", got)
	}
	if _, err := rt.Serve(t.Context(), []*revision.Layer{l}); err == nil || len(rt.Serving().Layers) != 0 {
		t.Errorf("a layer with faults serves: %v", err)
	}
}
