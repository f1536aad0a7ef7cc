package agentd_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"agentd"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/operation"
	"agentd/operation/journaltest"
	"agentd/revision"
)

// shelf is a source in memory, which remembers in what order it was used.
type shelf struct {
	kept map[string]*revision.Revision
	fail error
}

func (s *shelf) Revision(_ context.Context, id string) (*revision.Revision, error) {
	if r := s.kept[id]; r != nil {
		return r, nil
	}
	return nil, revision.ErrNotFound
}

func (s *shelf) Keep(_ context.Context, r *revision.Revision) error {
	if s.fail == nil {
		s.kept[r.ID] = r
	}
	return s.fail
}

func (s *shelf) Listed(context.Context, hookpoints.Layer) ([]*revision.Revision, error) {
	return nil, nil
}
func (s *shelf) Head(context.Context, hookpoints.Layer) (string, error)  { return "", nil }
func (s *shelf) SetHead(context.Context, hookpoints.Layer, string) error { return nil }

func project(t *testing.T, rt *agentd.Runtime, text string) *revision.Layer {
	t.Helper()
	l, err := rt.Build(t.Context(), hookpoints.Project, []revision.File{{Path: "hooks/a.star", Text: []byte(text)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

const rejecting = `hook(id = "h", version = "%s", run = lambda ctx, call: reject("%s"), point = "tool.before")`

func TestWhatServesIsKeptBeforeAnythingCanNameIt(t *testing.T) {
	source := &shelf{kept: map[string]*revision.Revision{}}
	rt, err := agentd.Open(agentd.Options{Clock: standing{}, Monotonic: standing{}, Journal: journaltest.NewMemory(), Source: source})
	if err != nil {
		t.Fatal(err)
	}
	first := project(t, rt, fmt.Sprintf(rejecting, "v1", "one"))
	g, err := rt.Serve(t.Context(), []*revision.Layer{first})
	if err != nil || rt.Serving() != g || g.Triple != (operation.Triple{Project: first.ID}) {
		t.Fatalf("%+v %v", g, err)
	}
	kept := source.kept[first.ID]
	if kept == nil || kept.Listed || !kept.Created.Equal(standing{}.Now()) || len(kept.Files) != 1 {
		t.Errorf("kept %+v", kept)
	}
	again, err := rt.Generation(t.Context(), g.Triple)
	if err != nil || again != g {
		t.Errorf("a run that is resumed gets another generation: %v", err)
	}

	source.fail = errors.New("the disk is full")
	if _, err := rt.Serve(t.Context(), []*revision.Layer{project(t, rt, fmt.Sprintf(rejecting, "v2", "two"))}); !errors.Is(err, source.fail) || rt.Serving() != g {
		t.Errorf("what can't be kept serves: %v", err)
	}
	broken := project(t, rt, "x = \n")
	if _, err := rt.Serve(t.Context(), []*revision.Layer{broken}); err == nil || rt.Serving() != g {
		t.Errorf("a broken layer serves: %v", err)
	}

	source.fail = nil
	second := project(t, rt, fmt.Sprintf(rejecting, "v2", "two"))
	if _, err := rt.Serve(t.Context(), []*revision.Layer{second}); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{first.ID: "one", second.ID: "two"} { // the old one goes on
		g, err := rt.Generation(t.Context(), operation.Triple{Project: id})
		if err != nil {
			t.Fatal(err)
		}
		if got := decide(t, rt, g, "tool.before"); got.Reason != want || got.Revisions.Project != id {
			t.Errorf("%.12s says %q, want %q", id, got.Reason, want)
		}
	}
	if _, err := rt.Session(t.Context(), "s"); err != nil {
		t.Errorf("a session: %v", err)
	}
}

func TestARuntimeNeedsClocksAndCanDoWithoutAStore(t *testing.T) {
	for _, o := range []agentd.Options{{}, {Clock: standing{}}, {Monotonic: standing{}}} {
		if _, err := agentd.Open(o); err == nil {
			t.Errorf("%+v opens", o)
		}
	}
	rt, err := agentd.Open(agentd.Options{Clock: standing{}, Monotonic: standing{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rt.Session(t.Context(), "s"); !errors.Is(err, agentd.ErrNoStore) {
		t.Errorf("a session without a journal: %v", err)
	}
	if len(rt.Serving().Layers) != 0 || rt.Serving().Table == nil || !rt.Now().Equal(standing{}.Now()) {
		t.Error("it serves something from the start")
	}
	if got := decide(t, rt, rt.Serving(), "tool.before"); got.Outcome != hookpoints.Continued || len(got.Records) != 0 {
		t.Errorf("%+v", got)
	}
	if _, err := rt.Decide(t.Context(), rt.Serving(), agentd.DecideRequest{Point: "tool.befor"}); err == nil || err.Error() != `there is no point "tool.befor"; see agentd points` {
		t.Errorf("%v", err)
	}
	g, err := rt.Serve(t.Context(), []*revision.Layer{project(t, rt, fmt.Sprintf(rejecting, "v1", "no"))})
	if err != nil || rt.Serving() != g {
		t.Errorf("serving without a store: %v", err)
	}
	if again, err := rt.Generation(t.Context(), g.Triple); err != nil || again.Triple != g.Triple {
		t.Errorf("what serves can't be found: %v", err)
	}
}

func TestADecisionEndsWithItsCaller(t *testing.T) {
	rt, err := agentd.Open(agentd.Options{Clock: standing{}, Monotonic: standing{}})
	if err != nil {
		t.Fatal(err)
	}
	g := rt.Compose([]*revision.Layer{project(t, rt, fmt.Sprintf(rejecting, "v1", "no"))})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := rt.Decide(ctx, g, agentd.DecideRequest{Point: "tool.before", Payload: rt.Points().Point("tool.before").Example}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := rt.Build(ctx, hookpoints.Project, []revision.File{{Path: "hooks/a.star", Text: []byte("x = [i for i in range(100000)]")}}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("building: %v", err)
	}
}

// Many callers share one generation, its scripts and its plans; the race detector looks on.
func TestCallersShareAGeneration(t *testing.T) {
	rt, err := agentd.Open(agentd.Options{Clock: standing{}, Monotonic: standing{}})
	if err != nil {
		t.Fatal(err)
	}
	g := rt.Compose([]*revision.Layer{project(t, rt, `
names = {"a": [1, 2, 3]}

def count(ctx, call):
    return [patch(arguments = call.arguments | {"n": len(names["a"]) + call.arguments.n}), remember(n = ctx.state.get("n", 0) + 1), annotate(target = ctx.target)]

hook(id = "one", version = "v1", run = count, point = "tool.before", state = "s")
hook(id = "two", version = "v1", run = count, point = "tool.before", state = "s")
`)})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 50 {
				in, err := payload.ParseString(fmt.Sprintf(`{"name":"t","tool_id":"t%d","implementation_id":null,"parameters":{},"arguments":{"n":%d}}`, n%5, n+i))
				if err != nil {
					t.Error(err)
					return
				}
				res, err := rt.Decide(t.Context(), g, agentd.DecideRequest{Point: "tool.before", Payload: in})
				if want := fmt.Sprintf(`{"n":%d}`, n+i+6); err != nil || res.Payload.Get("arguments").String() != want || res.State.String() != `{"project/s":{"n":2}}` || res.Annotations.String() != fmt.Sprintf(`{"target":"t%d"}`, n%5) {
					t.Errorf("%+v %v", res, err)
					return
				}
			}
		})
	}
	wg.Wait()
}
