package revision_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"agentd/hookpoints"
	"agentd/operation"
	"agentd/revision"
)

const script = `hook(id = "h", version = "%s", run = lambda ctx, call: None, point = "tool.before")` + "\n"

func TestARunKeepsItsRevisionsWhateverChangesAfterwards(t *testing.T) {
	source := shelf{}
	first := build(t, builder(), hookpoints.Project, map[string]string{"hooks/a.star": fmt.Sprintf(script, "v1")})
	second := build(t, builder(), hookpoints.Project, map[string]string{"hooks/a.star": fmt.Sprintf(script, "v2"), "hooks/b.star": strings.Replace(fmt.Sprintf(script, "v1"), `"h"`, `"g"`, 1)})
	for _, l := range []*revision.Layer{first, second} {
		if err := source.Keep(t.Context(), freeze(l)); err != nil {
			t.Fatal(err)
		}
	}
	p := &revision.Planner{Builder: builder(), Source: source, Clock: clock{}}
	p.Adopt(second)
	for range 2 {
		if got := ids(t, p, operation.Triple{Project: first.ID}, "tool.before"); !slices.Equal(got, []string{"project/h v1"}) {
			t.Errorf("the old revision serves %q", got)
		}
		if got := ids(t, p, operation.Triple{Project: second.ID}, "tool.before"); !slices.Equal(got, []string{"project/h v2", "project/g v1"}) {
			t.Errorf("the new revision serves %q", got)
		}
	}
	one, err := p.Generation(t.Context(), operation.Triple{Project: first.ID})
	two, err2 := p.Generation(t.Context(), operation.Triple{Project: first.ID})
	if err != nil || err2 != nil || one != two {
		t.Errorf("a generation is composed twice: %v %v", err, err2)
	}
	if got := ids(t, p, operation.Triple{}, "tool.before"); got != nil {
		t.Errorf("no revision at all serves %q", got)
	}
	if _, err := p.Chain(t.Context(), operation.Triple{Project: strings.Repeat("0", 64)}, "tool.before", hookpoints.Scope{}); !errors.Is(err, revision.ErrNotFound) {
		t.Errorf("a revision that nobody kept: %v", err)
	}
	bare := &revision.Planner{Builder: builder(), Clock: clock{}}
	if _, err := bare.Generation(t.Context(), operation.Triple{Project: first.ID}); !errors.Is(err, revision.ErrNotFound) {
		t.Errorf("a planner without a store: %v", err)
	}
	bare.Adopt(first)
	if got := ids(t, bare, operation.Triple{Project: first.ID}, "tool.before"); len(got) != 1 {
		t.Errorf("an adopted layer serves %q", got)
	}
}

func TestAnotherInterpreterIsDrift(t *testing.T) {
	l := build(t, builder(), hookpoints.Project, tree)
	source := shelf{l.ID: freeze(l)}
	next := builder()
	next.Engines = revision.Engines{".star": other{next.Engines[".star"]}}
	p := &revision.Planner{Builder: next, Source: source, Clock: clock{}}
	_, err := p.Generation(t.Context(), operation.Triple{Project: l.ID})
	if !errors.Is(err, revision.ErrDrift) || !strings.Contains(err.Error(), l.ID[:12]) || !strings.Contains(err.Error(), "project layer") {
		t.Errorf("%v", err)
	}
	if err := next.Verify(t.Context(), source[l.ID], nil); !errors.Is(err, revision.ErrDrift) || !strings.Contains(err.Error(), "engines") {
		t.Errorf("verify: %v", err)
	}
	fewer := builder()
	fewer.Limits.Fuel = 10 // the scripts don't even load
	p = &revision.Planner{Builder: fewer, Source: source, Clock: clock{}}
	if _, err := p.Generation(t.Context(), operation.Triple{Project: l.ID}); !errors.Is(err, revision.ErrDrift) {
		t.Errorf("%v", err)
	}
}

func TestVerifyFindsWhatWasChanged(t *testing.T) {
	l := build(t, builder(), hookpoints.Project, tree)
	for name, c := range map[string]struct {
		change func(r *revision.Revision)
		says   string
		drift  bool
	}{
		"nothing":           {func(*revision.Revision) {}, "", false},
		"a comment in yaml": {func(r *revision.Revision) { r.Files[0].Text = append([]byte("# x\n"), r.Files[0].Text...) }, "", false},
		"the manifest": {func(r *revision.Revision) {
			r.Manifest = []byte(strings.Replace(string(r.Manifest), `"max":5`, `"max":6`, 1))
		}, "the manifest of revision " + l.ID[:12] + " was changed", false},
		"the manifest and its id": {func(r *revision.Revision) {
			r.Manifest = []byte(strings.Replace(string(r.Manifest), `"additionalProperties":false`, `"additionalProperties":true`, 1))
			r.ID = revision.ID(r.Manifest)
		}, "point_contract.schema.additionalProperties", true},
		"the id":               {func(r *revision.Revision) { r.ID = strings.Repeat("0", 64) }, "was changed", false},
		"the text of a script": {func(r *revision.Revision) { r.Files[3].Text = append(slices.Clone(r.Files[3].Text), '#') }, "the text of hooks/limit.star in revision", false},
		"a script less":        {func(r *revision.Revision) { r.Files = r.Files[:len(r.Files)-1] }, "the text of hooks/watch.star is missing", false},
		"a script more": {func(r *revision.Revision) {
			r.Files = append(r.Files, revision.File{Path: "hooks/x.star", Text: []byte("x = 1\n")})
		}, "first at scripts.hooks/x.star", true},
		"the configuration": {func(r *revision.Revision) {
			r.Files[0].Text = []byte(strings.Replace(string(r.Files[0].Text), "max: 5", "max: 6", 1))
		}, "bindings.project/limit@tool.before.config.max", true},
		"the configuration, bad": {func(r *revision.Revision) { r.Files[0].Text = []byte("x: 1\n") }, `the key "x" is unknown`, true},
		"no manifest":            {func(r *revision.Revision) { r.Manifest, r.ID = nil, revision.ID(nil) }, "the manifest of revision", false},
	} {
		r := freeze(l)
		r.Files = slices.Clone(r.Files)
		if r.Files[0].Path != "agentd.yaml" || r.Files[3].Path != "hooks/limit.star" {
			t.Fatal("the files come in another order")
		}
		c.change(r)
		err := builder().Verify(t.Context(), r, nil)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) || errors.Is(err, revision.ErrDrift) != c.drift {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

func TestAUsersLayerIsVerifiedOverWhatItWasBuiltOn(t *testing.T) {
	base := build(t, builder(), hookpoints.Shipped, map[string]string{"hooks/a.star": fmt.Sprintf(script, "v1")})
	changed := build(t, builder(), hookpoints.Shipped, map[string]string{"hooks/a.star": fmt.Sprintf(script, "v2")})
	user := build(t, builder(), hookpoints.User, map[string]string{"agentd.yaml": "hooks: [{binding_id: shipped/h, priority: 5}]\n"}, base)
	if err := builder().Verify(t.Context(), freeze(user), []*revision.Layer{base}); err != nil {
		t.Error(err)
	}
	if err := builder().Verify(t.Context(), freeze(user), []*revision.Layer{changed}); !errors.Is(err, revision.ErrDrift) {
		t.Errorf("over another shipped layer: %v", err)
	}
	source := shelf{}
	for _, l := range []*revision.Layer{base, user} {
		source[l.ID] = freeze(l)
	}
	p := &revision.Planner{Builder: builder(), Source: source, Clock: clock{}}
	triple := operation.Triple{Shipped: base.ID, User: user.ID}
	g, err := p.Generation(t.Context(), triple)
	if err != nil || g.Triple != triple || len(g.Table.Bindings()) != 1 || g.Table.Bindings()[0].Priority != 5 {
		t.Fatalf("%+v %v", g, err)
	}
}

func TestThePlannerForgetsAndFindsAgain(t *testing.T) {
	source := shelf{}
	p := &revision.Planner{Builder: builder(), Source: source, Clock: clock{}}
	var triples []operation.Triple
	for i := range 80 {
		l := build(t, builder(), hookpoints.Project, map[string]string{"hooks/a.star": fmt.Sprintf(script, fmt.Sprint("v", i))})
		source[l.ID] = freeze(l)
		triples = append(triples, operation.Triple{Project: l.ID})
	}
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for g := range errs {
		wg.Go(func() {
			for i := range triples {
				n := (i*7 + g*20) % len(triples)
				c, err := p.Chain(t.Context(), triples[n], "tool.before", hookpoints.Scope{})
				if err == nil && c.Bindings(hookpoints.Ordinary)[0].Version != fmt.Sprint("v", n) {
					err = fmt.Errorf("revision %d serves %s", n, c.Bindings(hookpoints.Ordinary)[0].Version)
				}
				errs[g] = errors.Join(errs[g], err)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}

func TestTheHighestLayerHasTheAgent(t *testing.T) {
	agent := func(name, file string) map[string]string {
		return map[string]string{"agentd.yaml": "agents: {" + name + ": {model: {provider: scripted, file: " + file + "}}}\n"}
	}
	layers := []*revision.Layer{
		build(t, builder(), hookpoints.Shipped, agent("default", "shipped")),
		build(t, builder(), hookpoints.User, agent("mine", "user")),
		build(t, builder(), hookpoints.Project, agent("default", "project")),
	}
	g := revision.Compose(hookpoints.Standard(), clock{}, layers)
	for name, want := range map[string]string{"": "project", "default": "project", "mine": "user"} {
		a, err := g.Agent(name)
		if err != nil || a.Model.File != want || a.Confirm != "ask" || a.MaxSteps != 64 {
			t.Errorf("agent %q is %+v %v", name, a, err)
		}
	}
	if _, err := g.Agent("nobody"); err == nil || !strings.Contains(err.Error(), `there is no agent "nobody"; name it under agents in agentd.yaml`) {
		t.Errorf("%v", err)
	}
	if g.Triple != (operation.Triple{Shipped: layers[0].ID, User: layers[1].ID, Project: layers[2].ID}) {
		t.Errorf("the triple is %+v", g.Triple)
	}
}

func TestALayerWithFaultsSaysTheFirstAndHowManyThereAre(t *testing.T) {
	l, err := builder().Build(t.Context(), hookpoints.Project, files(map[string]string{"agentd.yaml": "a: 1\nb: 2\n", "hooks/a.star": "x = \n"}), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := `agentd.yaml:1: the key "a" is unknown; use one of agents, facts, grants, hooks, webhooks, allow_unconfined, clients, listen, log, questions, require_signature, store (and 2 more)`
	if got := l.Err(); got == nil || got.Error() != want || l.ID != "" || l.Manifest != nil {
		t.Errorf("%v", got)
	}
	var f revision.Fault
	if !errors.As(l.Err(), &f) || f.Line != 1 {
		t.Errorf("the fault is %+v", f)
	}
}
