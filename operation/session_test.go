package operation_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agentd/hookpoints/payload"
	"agentd/operation"
	"agentd/operation/journaltest"
)

func TestNothingLeavesBeforeTheCommitThatCarriesIt(t *testing.T) {
	l := newLab(t, `
def after(ctx, call):
    return patch(value = "seen")

hook(id = "after", version = "1", run = after, point = "tool.after")
`)
	s := l.session("r")
	if _, err := s.Do(t.Context(), l.action(call{id: "a", kind: "shell", args: object()})); err != nil {
		t.Fatal(err)
	}
	left := 0
	s.Leave(func() { left = len(rowsOf[operation.AfterRow](l, "a")) })
	if left != 0 || len(l.told) != 0 {
		t.Fatalf("%d rows left and %v was told before the commit", left, l.told)
	}
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, "after rows that were durable when it left", left, 1)
	same(t, "told", l.told, []string{"a project/after"})
}

func TestNothingLeavesWhenItsCommitFails(t *testing.T) {
	l := newLab(t, "")
	l.journal.FailAt(3, nil)
	s := l.session("r")
	if _, err := s.Do(t.Context(), l.action(call{id: "a", kind: "shell", args: object()})); err != nil {
		t.Fatal(err)
	}
	s.Leave(func() { t.Error("it left") })
	if err := s.Flush(t.Context()); !errors.Is(err, operation.ErrPersistence) {
		t.Fatal(err)
	}
}

// meet makes actions wait for each other, and counts how many are at it at once.
type meet struct {
	mu        sync.Mutex
	now, most int
}

func (m *meet) enter() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now++
	m.most = max(m.most, m.now)
}

func (m *meet) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now--
}

func TestReadsOverlapAndEverythingElseRunsOneByOne(t *testing.T) {
	l := newLab(t, `
def no(ctx, call):
    return reject("no") if ctx.seed == "c" else None

hook(id = "no", version = "1", run = no, point = "tool.before")
`)
	var all sync.WaitGroup
	all.Add(3)
	alone := &meet{}
	var actions []operation.Action
	for _, c := range []call{{id: "a", kind: "read"}, {id: "b", kind: "search"}, {id: "c", kind: "read"}, {id: "d", kind: "fetch"}, {id: "e", kind: "shell"}, {id: "f", kind: "read"}, {id: "g", kind: "other"}} {
		c.args = object()
		a := l.action(c)
		switch c.id {
		case "a", "b", "d":
			a.Do = func(ctx context.Context, in, w payload.Value) (payload.Value, string, error) {
				all.Done()
				all.Wait() // it never returns unless the three run at once
				return l.do(ctx, c, in, w)
			}
		default:
			a.Do = func(ctx context.Context, in, w payload.Value) (payload.Value, string, error) {
				alone.enter()
				defer alone.leave()
				return l.do(ctx, c, in, w)
			}
		}
		actions = append(actions, a)
	}
	done, err := l.session("r").Batch(t.Context(), actions)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "at once of those that don't overlap", alone.most, 1)
	log := strings.SplitAfter(l.commits(), "\n")
	same(t, "the first commit", log[0], "intent c, intent a, intent b, intent d, ready e, ready f, ready g\n")
	outcomes := slices.Sorted(slices.Values(log[1:4]))
	same(t, "each outcome of the three is a commit", outcomes, []string{"outcome a\n", "outcome b\n", "outcome d\n"})
	same(t, "the rest", strings.Join(log[4:], ""), "intent e\noutcome e, intent f\noutcome f, intent g\noutcome g\n")
	for _, d := range done {
		if want := map[bool]operation.State{true: operation.Rejected, false: operation.Finished}[d.Head.ID == "c"]; d.State != want {
			t.Errorf("%s is %s", d.Head.ID, d.State)
		}
	}
}

func TestAnOutcomeOfOverlappingCallsOutlivesTheFailureOfAnother(t *testing.T) {
	l := newLab(t, "")
	a, b := call{id: "a", kind: "read", args: object()}, call{id: "b", kind: "read", args: object(), flags: []string{"dies"}}
	if _, err := l.batch(l.session("r"), a, b); err == nil {
		t.Fatal("no error")
	}
	done, err := l.batch(l.session("r"), a, b)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "done", []string{describe(done[0]), describe(done[1])}, []string{`a finished succeeded effective="raw a"`, `b unknown unknown effective="nobody knows"`})
	same(t, "tries", l.tries, map[string]int{"a": 1, "b": 1})
}

func TestAQuestionIsDurableBeforeItIsAskedAndAnAnswerBeforeItIsActedUpon(t *testing.T) {
	l := newLab(t, "")
	var durable []int
	l.person = &person{answers: []string{"allow"}, seen: func(q operation.Question) {
		durable = append(durable, len(rowsOf[operation.WaitingRow](l, q.OpID)))
	}}
	c := call{id: "a", kind: "shell", args: object(), flags: []string{"policy=ask"}}
	a := l.action(c)
	a.Do = func(ctx context.Context, in, w payload.Value) (payload.Value, string, error) {
		durable = append(durable, len(rowsOf[operation.AnswerRow](l, "a")))
		return l.do(ctx, c, in, w)
	}
	if _, err := l.session("r").Do(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	same(t, "durable when asked, when run", durable, []int{1, 1})
}

func TestStateIsKeptBySessionInstanceAndProject(t *testing.T) {
	l := newLab(t, `
def count(ctx, call):
    return remember(n = ctx.state.get("n", 0) + 1)

hook(id = "own", version = "1", run = count, point = "tool.before")
hook(id = "named", version = "1", run = count, point = "tool.before", state = "shared")
hook(id = "same-name", version = "1", run = count, point = "tool.before", state = "shared")
hook(id = "wide", version = "1", run = count, point = "tool.before", state = {"name": "all", "scope": "project"})
`)
	for i, c := range []struct{ session, instance string }{{"s", ""}, {"s", "sub-1"}, {"s", "sub-1"}, {"s", "main"}, {"other", ""}, {"other", "sub-1"}} {
		s, err := l.rt.Session(t.Context(), c.session)
		if err != nil {
			t.Fatal(err)
		}
		a := l.action(call{id: string(rune('a' + i)), kind: "shell", args: object()})
		a.Head.SessionID, a.Head.Instance = c.session, c.instance
		a.Around = l.around(a.Head)
		if _, err := s.Do(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "cells of s", l.cells(), lines([]string{`project-wide:project/all {"n":6}`, `project/own {"n":2}`, `project/own@sub-1 {"n":2}`, `project/shared {"n":4}`, `project/shared@sub-1 {"n":4}`}))
	other, err := l.journal.Cells(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "own of other", other["project/own"].Value.String()+other["project/own@sub-1"].Value.String(), `{"n":1}{"n":1}`)
}

func TestASessionWritesOnlyTheStateThatItChanged(t *testing.T) {
	l := newLab(t, `
def count(ctx, call):
    return remember(n = ctx.state.get("n", 0) + 1) if ctx.seed[0] == "b" else None

hook(id = "wide", version = "1", run = count, point = "tool.before", state = {"scope": "project"})

def own(ctx, call):
    return remember(n = ctx.state.get("n", 0) + 1)

hook(id = "own", version = "1", run = own, point = "tool.before")
`)
	if _, err := l.batch(l.session("r"), call{id: "b1", kind: "shell", args: object()}); err != nil {
		t.Fatal(err)
	}
	first, second := l.session("r"), l.session("r")
	for _, c := range []struct {
		s  *operation.Session
		id string
	}{{second, "b2"}, {first, "a"}} {
		if _, err := c.s.Do(t.Context(), l.action(call{id: c.id, kind: "shell", args: object()})); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "cells", l.cells(), lines([]string{`project-wide:project/wide {"n":2}`, `project/own {"n":2}`}))
}

func TestTheRecordedTimeIsWhatAResumeSees(t *testing.T) {
	l := newLab(t, `
def now(ctx, call):
    return patch(value = ctx.now)

hook(id = "now", version = "1", run = now, point = "tool.after")
`)
	l.at = journaltest.CrashAt("action.tool", 1)
	c := call{id: "a", kind: "shell", args: object()}
	journaltest.MustDie(t, func() { l.batch(l.session("r"), c) })
	l.at = nil
	// The intent is durable with the outcome lost, so let it run again, an hour later.
	a := l.action(c)
	a.Idempotent = true
	a.Head.Began = began.Add(time.Hour)
	a.Around = l.around(a.Head)
	done, err := l.session("r").Do(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "now", done.Effective.Text(), "2026-03-04T05:06:07.000Z")
	same(t, "retry rows", rowsOf[operation.RetryRow](l, "a"), []operation.RetryRow{{Op: "a", Why: "idempotent"}})
	same(t, "outcome of attempt", rowsOf[operation.OutcomeRow](l, "a")[0].N, 1)
}
