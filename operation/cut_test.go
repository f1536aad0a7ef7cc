package operation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"agentd"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/operation"
)

func TestWhatWasDecidedStaysDecidedWhenABatchIsCutOff(t *testing.T) {
	for name, guard := range map[string]bool{"in the chain": false, "in the guards": true} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			cut := agentd.GoHook{ID: "cut", Version: "1", ReplaySafe: true, Points: []string{"tool.before"}, Guard: guard, Priority: 50, Run: func(_ context.Context, c *hookpoints.Call) ([]hookpoints.Decision, error) {
				if c.Seed == "b" {
					cancel()
				}
				return nil, nil
			}}
			l := newLab(t, `
def count(ctx, call):
    return remember(n = ctx.state.get("n", 0) + 1)

hook(id = "count", version = "1", run = count, point = "tool.before", priority = 1)
hook(id = "later", version = "1", run = count, point = "tool.before")
`, cut)
			calls := []call{{id: "a", kind: "shell", args: object()}, {id: "b", kind: "shell", args: object()}}
			s := l.session("r")
			if _, err := s.Batch(ctx, []operation.Action{l.action(calls[0]), l.action(calls[1])}); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if err := s.Flush(ctx); err != nil { // as a run does that ends as cancelled
				t.Fatal(err)
			}
			same(t, "commits", l.commits(), "ready a\n")
			same(t, "cells", l.cells(), lines([]string{`project/count {"n":1}`, `project/later {"n":1}`}))
			for _, told := range l.told {
				if !strings.HasPrefix(told, "a ") {
					t.Errorf("%s was told and has no row", told)
				}
			}
			if _, err := l.batch(l.session("r"), calls...); err != nil {
				t.Fatal(err)
			}
			same(t, "cells", l.cells(), lines([]string{`project/count {"n":2}`, `project/later {"n":2}`}))
		})
	}
}

func TestAPointOrAnAfterChainThatIsCutOffCountsOnce(t *testing.T) {
	var cancel context.CancelFunc
	cut := agentd.GoHook{ID: "cut", Version: "1", ReplaySafe: true, Points: []string{"tool.after", "turn.before"}, Guard: true, Run: func(context.Context, *hookpoints.Call) ([]hookpoints.Decision, error) {
		cancel()
		return nil, nil
	}}
	l := newLab(t, `
def count(ctx, call):
    return remember(n = ctx.state.get("n", 0) + 1)

hook(id = "count", version = "1", run = count, point = ["tool.after", "turn.before"])
`, cut)
	turn := l.head("t", "turn")
	for n, do := range []func(ctx context.Context, s *operation.Session) error{
		func(ctx context.Context, s *operation.Session) error {
			_, err := s.Point(ctx, turn, 0, "turn.before", l.around(turn), parsed(`{"prompt":"p"}`))
			return err
		},
		func(ctx context.Context, s *operation.Session) error {
			_, err := s.Do(ctx, l.action(call{id: "a", kind: "shell", args: object()}))
			return err
		},
	} {
		var ctx context.Context
		ctx, cancel = context.WithCancel(t.Context())
		s, told := l.session("r"), len(l.told)
		if err := do(ctx, s); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		// The same session goes on with something else.
		other := l.head(fmt.Sprintf("other %d", n), "turn")
		cancel = func() {}
		if _, err := s.Point(t.Context(), other, 0, "turn.before", l.around(other), parsed(`{"prompt":"p"}`)); err != nil {
			t.Fatal(err)
		}
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		same(t, "told", l.told[told:], []string{other.ID + " project/count", other.ID + " shipped/cut"})
		same(t, "state", l.cell("project/count"), fmt.Sprintf(`{"n":%d}`, 2*n+1))
		s = l.session("r")
		if err := errors.Join(do(t.Context(), s), s.Flush(t.Context())); err != nil {
			t.Fatal(err)
		}
		same(t, "state", l.cell("project/count"), fmt.Sprintf(`{"n":%d}`, 2*n+2))
	}
}

func TestTheHooksOfACancelledActionLookAtItAllTheSame(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l := newLab(t, countAfter)
	a := l.action(call{id: "a", kind: "shell", args: object()})
	a.Do = func(context.Context, payload.Value, payload.Value) (payload.Value, string, error) {
		cancel()
		return text("half"), operation.Cancelled, nil
	}
	done, err := l.session("r").Do(ctx, a)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "done", describe(done), `a finished cancelled effective="projected" raw="half"`)
}

func TestACancelledActionLeavesNoOutcomeAndTheRestIsReady(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := newLab(t, "")
	calls := []call{{id: "a", kind: "shell", args: object()}, {id: "b", kind: "shell", args: object()}, {id: "c", kind: "shell", args: object()}}
	var actions []operation.Action
	for _, c := range calls {
		a := l.action(c)
		if c.id == "b" {
			do := a.Do
			a.Do = func(ctx context.Context, in, w payload.Value) (payload.Value, string, error) {
				cancel()
				return do(ctx, in, w)
			}
		}
		actions = append(actions, a)
	}
	if _, err := l.session("r").Batch(ctx, actions); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	done, err := l.batch(l.session("r"), calls...)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []operation.State{operation.Finished, operation.Unknown, operation.Finished} {
		if done[i].State != want {
			t.Errorf("%s", describe(done[i]))
		}
	}
	same(t, "tries", l.tries, map[string]int{"a": 1, "b": 1, "c": 1})
}

func TestAnAnswerThatWasCommittedStaysWhenTheGuardsAreCutOff(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l := newLab(t, `
def count(ctx, call):
    return remember(n = ctx.state.get("n", 0) + 1)

hook(id = "count", version = "1", run = count, point = ["tool.before", "file.write.before"], state = "n")
hook(id = "guard", version = "1", run = lambda ctx, call: None, point = "tool.before", guard = True)
`)
	l.person = &person{answers: []string{"allow"}, seen: func(operation.Question) { cancel() }}
	args := parsed(`{"path":"p","content":"c"}`)
	c := call{id: "a", kind: "write", args: args, flags: []string{"policy=ask"}}
	s := l.session("r")
	if _, err := s.Do(ctx, l.action(c)); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	same(t, "commits", l.commits(), "waiting a\nanswer a\n")
	// The same session goes on with something else: it knows what is durable.
	if _, err := s.Do(t.Context(), l.action(call{id: "b", kind: "shell", args: object()})); err != nil {
		t.Fatal(err)
	}
	same(t, "cells", l.cells(), "project/n {\"n\":3}\n")
	if _, err := l.batch(l.session("r"), c); err != nil {
		t.Fatal(err)
	}
	same(t, "cells", l.cells(), "project/n {\"n\":4}\n")
	same(t, "asked", len(l.person.asked), 1)
}
