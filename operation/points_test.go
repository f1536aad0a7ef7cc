package operation_test

import (
	"errors"
	"testing"

	"agentd/hookpoints"
	"agentd/operation"
)

// pointScript decides what the payload asks for.
const pointScript = `
def decide(ctx, call):
    said = call.prompt
    return [remember(n = ctx.state.get("n", 0) + 1)] + {
        "nothing": [], "context": [context("hint")], "reject": [reject("no", code = "c")], "stop": [stop("enough")],
    }.get(said, [])

hook(id = "decide", version = "1", run = decide, point = "turn.before")

def after(ctx, call):
    return {"proceed": proceed("go on"), "clear": stop("enough", clear = True)}.get(call.prompt)

hook(id = "after", version = "1", run = after, point = "turn.after")

def guard(ctx, call):
    return stop("guarded") if call.prompt == "proceed" and call.continuation == 1 else None

hook(id = "guard", version = "1", run = guard, point = "turn.after", guard = True)
`

func TestPoints(t *testing.T) {
	for _, c := range []struct {
		name, point, payload, commits, want string
	}{
		{"one that says nothing rides along", "turn.before", `{"prompt":"nothing"}`, "", "p finished succeeded"},
		{"so does one that gives context", "turn.before", `{"prompt":"context"}`, "", "p finished succeeded text=project/decide:hint"},
		{"a rejection is durable at once", "turn.before", `{"prompt":"reject"}`, "point p\n", "p rejected succeeded by=project/decide code=c reason=no"},
		{"so is a stop", "turn.before", `{"prompt":"stop"}`, "point p\n", "p stopped succeeded by=project/decide reason=enough stop"},
		{"and a proceed", "turn.after", `{"prompt":"proceed","response":"r","continuation":0}`, "point p\n", "p finished succeeded by=project/after reason=go_on proceed=go_on"},
		{"a guard stops what would proceed", "turn.after", `{"prompt":"proceed","response":"r","continuation":1}`, "point p\n", "p stopped succeeded by=project/guard reason=guarded stop"},
		{"a stop may clear", "turn.after", `{"prompt":"clear","response":"r","continuation":0}`, "point p\n", "p stopped succeeded by=project/after reason=enough stop clear"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, pointScript)
			h := l.head("p", "turn")
			in := parsed(c.payload)
			point := func(s *operation.Session) string {
				t.Helper()
				d, err := s.Point(t.Context(), h, 0, c.point, l.around(h), in)
				if err != nil {
					t.Fatal(err)
				}
				got := describe(d)
				// The effective value is the payload, which no point here changes.
				got = replaced(got, " effective="+in.String())
				if d.Clear {
					got += " clear"
				}
				return got
			}
			s := l.session("r")
			same(t, "decided", point(s), c.want)
			same(t, "commits", l.commits(), c.commits)
			if err := s.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			same(t, "commits", l.commits(), "point p\n")
			told, cells := len(l.told), l.cells()
			same(t, "recalled", point(l.session("r")), c.want)
			same(t, "told again", len(l.told), told)
			same(t, "cells", l.cells(), cells)
		})
	}
}

func TestAFailedPointIsComputedAgainAndCountsOnce(t *testing.T) {
	l := newLab(t, pointScript, flaky("flaky", "turn.before", 2))
	now := int64(0)
	l.ticks = func() int64 { now += 7e5; return now }
	h := l.head("p", "turn")
	for i := range 3 {
		s := l.session("r")
		_, err := s.Point(t.Context(), h, 0, "turn.before", l.around(h), parsed(`{"prompt":"context"}`))
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if failed := errors.Is(err, operation.ErrHook); failed != (i < 2) || !failed && err != nil {
			t.Fatal(i, err)
		}
	}
	same(t, "commits", l.commits(), "failed p\nfailed p 1\npoint p\n")
	same(t, "cells", l.cells(), "project/decide {\"n\":1}\n")
}

func TestAPayloadThatBreaksItsContractIsTheHostsFault(t *testing.T) {
	l := newLab(t, pointScript)
	h := l.head("p", "turn")
	_, err := l.session("r").Point(t.Context(), h, 0, "turn.before", l.around(h), parsed(`{}`))
	if !errors.Is(err, hookpoints.ErrContract) {
		t.Errorf("%v", err)
	}
	if _, err := l.session("r").Point(t.Context(), h, 0, "turn.nowhere", l.around(h), parsed(`{}`)); err == nil {
		t.Error("a point that isn't there")
	}
	same(t, "commits", l.commits(), "")
}

func TestAReplayRecallsAndDoesNothing(t *testing.T) {
	l := newLab(t, pointScript)
	turn := l.head("p", "turn")
	body := func(s *operation.Session) (out []string, err error) {
		d, err := s.Point(t.Context(), turn, 0, "turn.before", l.around(turn), parsed(`{"prompt":"context"}`))
		if err != nil {
			return nil, err
		}
		out = append(out, describe(d))
		list, err := s.Batch(t.Context(), []operation.Action{l.action(call{id: "a", kind: "shell", args: object()}), l.action(call{id: "b", kind: "shell", args: object()})})
		for _, d := range list {
			out = append(out, describe(d))
		}
		s.Leave(func() { l.told = append(l.told, "left") })
		return out, errors.Join(err, s.Flush(t.Context()))
	}
	first, err := body(l.session("r"))
	if err != nil {
		t.Fatal(err)
	}
	commits, told := l.commits(), len(l.told)
	s, err := l.rt.Session(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Replay(t.Context(), "r"); err != nil {
		t.Fatal(err)
	}
	again, err := body(s)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "replayed", again, first)
	if _, err := s.Do(t.Context(), l.action(call{id: "new", kind: "shell", args: object()})); !errors.Is(err, operation.ErrNotSaved) {
		t.Errorf("an operation that isn't saved: %v", err)
	}
	if _, err := s.Point(t.Context(), turn, 1, "turn.before", l.around(turn), parsed(`{"prompt":"stop"}`)); !errors.Is(err, operation.ErrNotSaved) {
		t.Errorf("a point that isn't saved: %v", err)
	}
	same(t, "commits", l.commits(), commits)
	same(t, "told", len(l.told), told)
	same(t, "tries", l.tries, map[string]int{"a": 1, "b": 1})
	if s.Live(); s.Replaying() {
		t.Error("it still replays")
	}
	if d, err := s.Do(t.Context(), l.action(call{id: "new", kind: "shell", args: object()})); err != nil || d.Raw.Text() != "raw new" {
		t.Error(d, err)
	}
	if sum, ok := s.Saved("a"); !ok || sum.State != operation.Finished || sum.Raw.Text() != "raw a" {
		t.Errorf("saved: %+v", sum)
	}
	if _, ok := s.Saved("nobody"); ok {
		t.Error("nobody is saved")
	}
}
