package operation_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"agentd/hookpoints/payload"
	"agentd/operation"
)

func TestAnUnknownModelCallNeedsAPersonForEachRetry(t *testing.T) {
	l := newLab(t, countChat)
	lost := l.chat("m", "dies")
	if _, err := l.session("r").Do(t.Context(), lost); err == nil {
		t.Fatal("no error")
	}
	for try := range 3 {
		for range 2 { // as often as it is asked
			if _, err := l.session("r").Do(t.Context(), lost); !errors.Is(err, operation.ErrUnknownModel) {
				t.Fatalf("retry %d: %v", try, err)
			}
		}
		same(t, "tries", l.tries["m"], try+1)
		for range 2 { // twice is one permission
			if err := l.rt.Runner().AllowRetry(t.Context(), "m", "I say so"); err != nil {
				t.Fatal(err)
			}
		}
		if try == 2 {
			break
		}
		if _, err := l.session("r").Do(t.Context(), lost); err == nil || errors.Is(err, operation.ErrUnknownModel) {
			t.Fatal(err)
		}
	}
	done, err := l.session("r").Do(t.Context(), l.chat("m"))
	if err != nil || done.State != operation.Finished || done.Status != operation.Succeeded {
		t.Fatal(done, err)
	}
	same(t, "tries", l.tries["m"], 4)
	same(t, "before chains", l.cell("project/count"), `{"n":1}`)
	same(t, "why", rowsOf[operation.RetryRow](l, "m")[0].Why, "I say so")
	sum := operation.Summarise(rowsOf[operation.Row](l, "m"))
	same(t, "attempts", sum.Attempts, 4)
	if err := l.rt.Runner().AllowRetry(t.Context(), "m", "again"); err == nil || !strings.Contains(err.Error(), "finished") {
		t.Errorf("a finished one: %v", err)
	}
	if err := l.rt.Runner().AllowRetry(t.Context(), "nobody", "again"); err == nil {
		t.Error("one that isn't there")
	}
}

const countChat = `
def count(ctx, call):
    return remember(n = ctx.state.get("n", 0) + 1)

hook(id = "count", version = "1", run = count, point = "model.chat.before")
`

func TestAToolThatTheModelWasToldOfCanBeAllowedToRunAgain(t *testing.T) {
	l := newLab(t, "")
	c := call{id: "a", kind: "shell", args: object(), flags: []string{"dies"}}
	if _, err := l.batch(l.session("r"), c); err == nil {
		t.Fatal("no error")
	}
	if done, err := l.batch(l.session("r"), c); err != nil || done[0].State != operation.Unknown {
		t.Fatal(done, err)
	}
	if err := l.rt.Runner().AllowRetry(t.Context(), "a", "I looked"); err != nil {
		t.Fatal(err)
	}
	open, err := l.journal.Open(t.Context())
	if err != nil || len(open) != 1 {
		t.Errorf("open: %v, %v", open, err)
	}
	done, err := l.batch(l.session("r"), call{id: "a", kind: "shell", args: object()})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "done", describe(done[0]), `a finished succeeded effective="raw a"`)
	same(t, "commits", l.commits(), "intent a\nafter a\nanswer a\nretry a\noutcome a 1\nafter a 1\n")
}

// composite is an operation whose body runs calls as parts of it.
func (l *lab) composite(s *operation.Session, id string, again bool, body func(ctx context.Context) (string, error)) operation.Action {
	h := l.head(id, "run")
	h.Composite = true
	return operation.Action{
		Head: h, Around: l.around(h, field("target", text("run"))), Points: operation.Points{Before: "run.before", After: "run.after"},
		Input: object(field("task", text("t"))), Again: again,
		Do: func(ctx context.Context, _, _ payload.Value) (payload.Value, string, error) {
			status, err := body(ctx)
			return text("ran"), status, err
		},
		After: func(_, raw payload.Value, status string) payload.Value {
			return object(field("output", raw), field("status", text(status)), field("outcome", payload.NewNull()))
		},
		Effective: func(after payload.Value) payload.Value { return after.Get("output") },
	}
}

const countRun = `
def count(ctx, call):
    return remember(n = ctx.state.get("n", 0) + 1)

hook(id = "before", version = "1", run = count, point = "run.before")
hook(id = "after", version = "1", run = count, point = "run.after")
`

func TestACompositeGoesOnThroughItsParts(t *testing.T) {
	l := newLab(t, countRun)
	run := func(last ...string) (operation.Done, error) {
		s := l.session("r")
		d, err := s.Do(t.Context(), l.composite(s, "r", true, func(ctx context.Context) (string, error) {
			for _, id := range []string{"a", "b"} {
				c := call{id: id, kind: "shell", args: object()}
				if id == "b" {
					c.flags = last
				}
				if _, err := s.Do(ctx, l.action(c)); err != nil {
					return "", err
				}
			}
			return operation.Succeeded, nil
		}))
		if err != nil {
			return d, err
		}
		return d, s.Flush(t.Context())
	}
	if _, err := run("dies"); err == nil {
		t.Fatal("no error")
	}
	done, err := run()
	if err != nil {
		t.Fatal(err)
	}
	same(t, "done", describe(done), `r finished succeeded effective="ran"`)
	same(t, "tries", l.tries, map[string]int{"a": 1, "b": 1}) // b is unknown, and was told so
	same(t, "cells", l.cells(), lines([]string{`project/after {"n":1}`, `project/before {"n":1}`}))
	same(t, "commits", l.commits(), "intent r\nintent a\noutcome a\nafter a, intent b\nafter b\noutcome r\nafter r\n")
}

func TestAFailedCompositeRunsAgainOnlyWhereItSaysSo(t *testing.T) {
	for _, again := range []bool{true, false} {
		for _, first := range []string{operation.Failed, operation.Cancelled, operation.Blocked, operation.Succeeded} {
			l := newLab(t, countRun)
			runs := 0
			do := func(status string) operation.Done {
				s := l.session("r")
				d, err := s.Do(t.Context(), l.composite(s, "r", again, func(ctx context.Context) (string, error) {
					runs++
					_, err := s.Do(ctx, l.action(call{id: "a", kind: "shell", args: object()}))
					return status, err
				}))
				if err == nil {
					err = s.Flush(t.Context())
				}
				if err != nil {
					t.Fatal(err)
				}
				return d
			}
			do(first)
			got := do(operation.Succeeded)
			want, times, n := first, 1, `{"n":1}`
			if again && (first == operation.Failed || first == operation.Cancelled) {
				want, times, n = operation.Succeeded, 2, `{"n":2}`
			}
			if got.Status != want || runs != times || l.tries["a"] != 1 || l.cell("project/after") != n || l.cell("project/before") != `{"n":1}` {
				t.Errorf("again %v, first %s: %s, %d runs, %v, %s", again, first, describe(got), runs, l.tries, l.cells())
			}
		}
	}
}

func TestARunThatWasTakenUpAgainAndCutOffIsStillRunning(t *testing.T) {
	l := newLab(t, "")
	do := func(status string) (operation.Done, error) {
		s := l.session("r")
		return s.Do(t.Context(), l.composite(s, "r", true, func(context.Context) (string, error) {
			if status == "" {
				return "", errors.New("cut off")
			}
			return status, nil
		}))
	}
	for _, status := range []string{operation.Failed, "", "", operation.Failed, operation.Succeeded} {
		if _, err := do(status); (err != nil) != (status == "") {
			t.Fatal(err)
		}
	}
	same(t, "commits", l.commits(), "intent r\noutcome r\nretry r\noutcome r 1\nretry r 1\noutcome r 2\n")
}
