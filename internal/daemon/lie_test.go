package daemon

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"agentd"
	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/internal/worker"
	"agentd/interp"
)

// liar is an engine of a worker that somebody got hold of: hooks whose id is the name of a lie don't decide.
type liar struct{ interp.Engine }

func lying(engines map[string]interp.Engine) map[string]interp.Engine {
	for suffix, e := range engines {
		engines[suffix] = liar{e}
	}
	return engines
}

func (l liar) Load(ctx context.Context, src interp.Source, module interp.Module, limits meter.Limits) ([]interp.Definition, error) {
	defs, err := l.Engine.Load(ctx, src, module, limits)
	for i, d := range defs {
		if lie, ok := lies[d.HookID]; ok {
			defs[i].Hook = lie
		}
	}
	return defs, err
}

// lie is what a worker says instead of what its hook decided.
type lie struct {
	decisions []hookpoints.Decision
	usage     hookpoints.Usage
}

func (l lie) Decide(context.Context, *hookpoints.Call) ([]hookpoints.Decision, hookpoints.Usage, error) {
	return l.decisions, l.usage, nil
}

var lies = map[string]lie{
	"verb":   {decisions: []hookpoints.Decision{{Verb: 77}}},
	"fuel":   {usage: hookpoints.Usage{Fuel: meter.Default.Fuel + 1}},
	"twice":  {decisions: []hookpoints.Decision{{Verb: hookpoints.Patch, Fields: []payload.Field{{Name: "arguments", Value: payload.NewObject()}, {Name: "arguments", Value: payload.NewObject()}}}}},
	"reason": {decisions: []hookpoints.Decision{{Verb: hookpoints.Reject, Text: strings.Repeat("x", 10_000)}}},
	"many":   {decisions: make([]hookpoints.Decision, 100_000)},
	"large":  {decisions: []hookpoints.Decision{{Verb: hookpoints.Context, Text: strings.Repeat("x", 33<<20)}}},
}

// One hook lies as a hook could: about what its point doesn't allow. The chain sees to that.
func init() {
	lies["allow"] = lie{decisions: []hookpoints.Decision{{Verb: hookpoints.Allow}}}
	lies["field"] = lie{decisions: []hookpoints.Decision{{Verb: hookpoints.Patch, Fields: []payload.Field{{Name: "name", Value: payload.NewString("shell")}}}}}
	lies["wrong"] = lie{decisions: []hookpoints.Decision{{Verb: hookpoints.Patch, Fields: []payload.Field{{Name: "arguments", Value: payload.NewInt(1)}}}}}
}

func TestAWorkerThatLiesIsAFailedHookAndNothingElse(t *testing.T) {
	if missing := worker.Missing(); len(missing) > 0 {
		t.Skipf("this machine can't build the walls %v", missing)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l := newLab(t)
	l.places.Program = exe
	script := "def run(ctx, call):\n    return annotate(here = True)\n\n"
	for _, id := range append(slices.Sorted(maps.Keys(lies)), "honest") {
		script += fmt.Sprintf("hook(id = %q, version = \"v1\", run = run, point = \"tool.before\", isolate = True, timeout = \"10s\")\n", id)
	}
	l.project("hooks/a.star", script)
	l.trust()
	o := l.options()
	o.Dev = true
	h := l.serve(o)
	ask := func(id string) agentd.DecideResult {
		t.Helper()
		res, err := h.Decide(t.Context(), agentd.DecideRequest{Point: "tool.before", Payload: parse(t, readCall), Binding: "project/" + id})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	for _, id := range slices.Sorted(maps.Keys(lies)) {
		word := "hook_failed"
		if id == "allow" || id == "field" {
			word = "not_permitted"
		}
		for range 2 { // the first worker isn't believed a second time either
			if res := ask(id); res.Outcome != "failed" || res.Records[0].Error != word {
				t.Errorf("%s: %s, %+v", id, res.Outcome, res.Records)
			}
		}
		if res := ask("honest"); res.Outcome != "continue" || !res.Records[0].Annotations.Get("here").IsTrue() {
			t.Errorf("after %s: %s, %+v", id, res.Outcome, res.Records)
		}
	}
}
