package agentd_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"agentd"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/internal/replay"
	"agentd/operation"
	"agentd/revision"
	"agentd/store"
)

const counting = `
def count(ctx, call):
    n = ctx.state.get("n", 0) + 1
    return [remember(n = n), context("%d" % n)]

W = {"name": "n", "scope": "project"}
hook(id = "before", version = "v1", run = count, point = "tool.before", state = W, targets = ["before", "both"])
hook(id = "after", version = "v1", run = count, point = "tool.after", state = W, targets = ["after", "both"])
hook(id = "turn", version = "v1", run = count, point = "turn.before", state = W)
def sees(ctx, call):
    return annotate(n = ctx.state.get("n", 0))

hook(id = "sees", version = "v1", run = sees, point = ["tool.before", "tool.after"], state = W, priority = 150)
hook(id = "guard", version = "v1", run = lambda ctx, call: reject("odd") if ctx.state.get("n", 0) > 100000 else None, point = "tool.before", state = W, guard = True)
hook(id = "no", version = "v1", run = lambda ctx, call: reject("no"), point = "tool.before", targets = ["both"], priority = 200)
`

// TestSessionsThatCountTogetherLoseNothing has sessions that count one thing of the project at once,
// through hooks, over a real database: every number is there once, and the last one is how many there were.
func TestSessionsThatCountTogetherLoseNothing(t *testing.T) {
	const sessions, rounds = 6, 10
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "agentd.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}()
	rt, err := agentd.Open(agentd.Options{Clock: standing{}, Monotonic: standing{}, Journal: st, Source: st})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rt.Serve(t.Context(), []*revision.Layer{project(t, rt, counting)}); err != nil {
		t.Fatal(err)
	}
	seen := make([][]string, sessions)
	var wg sync.WaitGroup
	for i := range sessions {
		wg.Go(func() {
			c := counter{t: t, rt: rt, id: fmt.Sprintf("s%d", i)}
			c.play(rounds)
			seen[i] = c.seen
		})
	}
	wg.Wait()
	all := slices.Concat(seen...)
	slices.Sort(all)
	if len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Errorf("a number was given twice: %v", all)
	}
	cells, err := st.Cells(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	cell := cells[operation.ProjectCell+"project/n"]
	if n, _ := cell.Value.Get("n").Int64(); int(n) != len(all) || cell.Version != n || n < sessions*rounds {
		t.Errorf("%d were counted, and the cell is %s at version %d", len(all), cell.Value, cell.Version)
	}
	// Every number stands in a row, too.
	rows := 0
	for i := range sessions {
		list, err := st.RunRows(t.Context(), fmt.Sprintf("s%d/run", i))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			switch r := r.(type) {
			case operation.PointRow:
				rows += len(r.Chained.State)
			case operation.IntentRow:
				rows += len(r.Chained.State)
			case operation.AfterRow:
				rows += len(r.Chained.State)
			}
		}
	}
	if rows != len(all) {
		t.Errorf("%d changes stand in rows, want %d", rows, len(all))
	}
	// And the order of commits is one in which all of it could have happened one by one.
	c := counter{t: t, rt: rt}
	again, err := replay.Run(t.Context(), replay.Options{Journal: st, Chains: rt.Runner().Chains, Pinned: true,
		Shape: func(d operation.Decided) (operation.Action, error) { return c.action(d.Head), nil }})
	if err != nil || again.Operations == 0 || again.Same != again.Operations {
		t.Errorf("replayed: %+v, %v", again, err)
	}
	if rep, err := st.Check(t.Context()); err != nil || len(rep.Faults) > 0 {
		t.Errorf("the database: %+v, %v", rep, err)
	}
}

// counter is a session that counts.
type counter struct {
	t    *testing.T
	rt   *agentd.Runtime
	id   string
	s    *operation.Session
	seen []string
}

func (c *counter) play(rounds int) {
	var err error
	if c.s, err = c.rt.Session(context.Background(), c.id); err != nil {
		c.t.Error(err)
		return
	}
	for i := range rounds {
		id := fmt.Sprintf("%s/%d", c.id, i)
		if i%4 == 3 {
			h := c.head(id, "turn", "")
			done, err := c.s.Point(context.Background(), h, 0, "turn.before", c.around(h), payload.NewObject(payload.Field{Name: "prompt", Value: payload.NewString("x")}))
			c.note(err, done)
			continue
		}
		h := c.head(id, "tool", []string{"before", "after", "both"}[i%4])
		done, err := c.s.Batch(context.Background(), []operation.Action{c.action(h), c.action(c.head(id+"b", "tool", "before"))})
		c.note(err, done...)
	}
	if err := c.s.Flush(context.Background()); err != nil {
		c.t.Error(err)
	}
}

func (c *counter) note(err error, done ...operation.Done) {
	if err != nil {
		c.t.Errorf("%s: %v", c.id, err)
	}
	for _, d := range done {
		for _, text := range d.Texts {
			c.seen = append(c.seen, text.Text)
		}
	}
}

func (c *counter) head(id, kind, tool string) operation.Head {
	return operation.Head{ID: id, Parent: c.id, Kind: kind, Tool: tool, RunID: c.id + "/run", SessionID: c.id, Revisions: c.rt.Serving().Triple, Began: c.rt.Now()}
}

func (c *counter) around(h operation.Head) *hookpoints.Around {
	scope, err := hookpoints.NewScope(payload.NewObject(payload.Field{Name: "target", Value: payload.NewString(h.Tool)}))
	if err != nil {
		c.t.Error(err)
	}
	return &hookpoints.Around{Scope: scope, Now: h.Began, Seed: h.ID}
}

func (c *counter) action(h operation.Head) operation.Action {
	name := payload.NewString(h.Tool)
	return operation.Action{
		Head: h, Around: c.around(h), Points: operation.Points{Before: "tool.before", After: "tool.after"},
		Input: payload.NewObject(payload.Field{Name: "name", Value: name}, payload.Field{Name: "tool_id", Value: name}, payload.Field{Name: "implementation_id", Value: payload.NewNull()},
			payload.Field{Name: "parameters", Value: payload.NewObject()}, payload.Field{Name: "arguments", Value: payload.NewObject()}),
		Do: func(context.Context, payload.Value, payload.Value) (payload.Value, string, error) {
			return name, operation.Succeeded, nil
		},
		After: func(in, raw payload.Value, status string) payload.Value {
			return payload.NewObject(payload.Field{Name: "value", Value: raw}, payload.Field{Name: "status", Value: payload.NewString(status)}, payload.Field{Name: "evidence_arguments", Value: payload.NewObject()})
		},
	}
}
