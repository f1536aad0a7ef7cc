package operation_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agentd"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/operation"
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

// flaky is a Go hook that fails the first so many times.
func flaky(id, point string, failures int) agentd.GoHook {
	return agentd.GoHook{ID: id, Version: "1", Points: []string{point}, Priority: 50, Run: func(context.Context, *hookpoints.Call) ([]hookpoints.Decision, error) {
		if failures--; failures >= 0 {
			return nil, errors.New("secret text of the author")
		}
		return nil, nil
	}}
}

const countAfter = `
def count(ctx, call):
    return [remember(n = ctx.state.get("n", 0) + 1), patch(value = "projected")]

hook(id = "count", version = "1", run = count, point = "tool.after", priority = 1)
`

func TestAFailedAfterChainKeepsTheOutcomeAndIsComputedAgain(t *testing.T) {
	l := newLab(t, countAfter, flaky("flaky", "tool.after", 2))
	now := int64(0)
	l.ticks = func() int64 { now += 7e5; return now } // each record has another time
	c := call{id: "a", kind: "shell", args: object()}
	for range 2 {
		_, err := l.batch(l.session("r"), c)
		if !errors.Is(err, operation.ErrHook) || strings.Contains(err.Error(), "secret") {
			t.Fatalf("%v, want ErrHook without the hook's own text", err)
		}
		same(t, "after rows", len(rowsOf[operation.AfterRow](l, "a")), 0)
		same(t, "state", l.cells(), "")
	}
	done, err := l.batch(l.session("r"), c)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "done", describe(done[0]), `a finished succeeded effective="projected" raw="raw a"`)
	same(t, "tries", l.tries["a"], 1)
	same(t, "state", l.cells(), "project/count {\"n\":1}\n")
	for i, r := range rowsOf[operation.FailedRow](l, "a") {
		if r.N != i || r.By != "shipped/flaky" || r.Error != "hook_failed" || r.State != nil {
			t.Errorf("failed row %+v", r)
		}
	}
	if done, err = l.batch(l.session("r"), c); err != nil || describe(done[0]) != `a finished succeeded effective="projected" raw="raw a"` {
		t.Errorf("once more: %v, %v", done, err)
	}
	same(t, "state", l.cells(), "project/count {\"n\":1}\n")
}

// chat is a model call: nothing may be said when nobody knows how it ended.
func (l *lab) chat(id string, status ...string) operation.Action {
	h := l.head(id, "model.chat")
	return operation.Action{
		Head: h, Around: l.around(h, field("target", text("m")), field("purpose", text("action"))), Points: operation.Points{Before: "model.chat.before", After: "model.chat.after"},
		Input: parsed(`{"messages":[],"tools":[],"model_id":"m","purpose":"action","temperature":null,"top_p":null,"max_tokens":null}`),
		Answer: func(v payload.Value) error {
			if v.Get("role").Text() != "assistant" {
				return errors.New("no reply")
			}
			return nil
		},
		Insert: func(in payload.Value, texts []hookpoints.Text) payload.Value {
			return in.With(field("messages", payload.NewArray([]payload.Value{object(field("role", text("user")), field("content", text(texts[0].Text)))})))
		},
		Do: func(ctx context.Context, in, w payload.Value) (payload.Value, string, error) {
			c := call{id: id, flags: status}
			_, status, err := l.do(ctx, c, object(field("arguments", object())), payload.Value{})
			return object(field("role", text("assistant")), field("content", text("said "+in.Get("messages").String()))), status, err
		},
	}
}

func TestAFailedBeforeChainElsewhereStopsAndIsComputedAgain(t *testing.T) {
	l := newLab(t, `
def count(ctx, call):
    return [remember(n = ctx.state.get("n", 0) + 1), context("hint")]

hook(id = "count", version = "1", run = count, point = "model.chat.before", priority = 1)
`, flaky("flaky", "model.chat.before", 2))
	now := int64(0)
	l.ticks = func() int64 { now += 7e5; return now }
	for range 2 {
		if _, err := l.session("r").Do(t.Context(), l.chat("m")); !errors.Is(err, operation.ErrHook) {
			t.Fatal(err)
		}
		same(t, "state", l.cells(), "")
		same(t, "tries", l.tries["m"], 0)
	}
	done, err := l.session("r").Do(t.Context(), l.chat("m"))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "effective", done.Effective.Get("content").Text(), `said [{"role":"user","content":"hint"}]`)
	same(t, "state", l.cells(), "project/count {\"n\":1}\n")
	same(t, "failures", len(rowsOf[operation.FailedRow](l, "m")), 2)
}

func TestTheValueOfARespondIsHeldToWhatTheActionWouldReturn(t *testing.T) {
	l := newLab(t, `
def answer(ctx, call):
    return respond({"role": "assistant", "content": "mine"} if ctx.seed == "good" else {"content": "mine"})

hook(id = "answer", version = "1", run = answer, point = "model.chat.before")
`)
	done, err := l.session("r").Do(t.Context(), l.chat("good"))
	if err != nil || done.State != operation.Responded || done.By != "project/answer" || done.Effective.Get("content").Text() != "mine" {
		t.Errorf("%+v, %v", done, err)
	}
	if _, err := l.session("r").Do(t.Context(), l.chat("bad")); !errors.Is(err, operation.ErrHook) {
		t.Errorf("a value that is no reply: %v", err)
	}
	same(t, "ran", l.ran, []string(nil))
}

// slow is a Go hook during which time passes.
func slow(l **lab, id, point, op string, points ...string) agentd.GoHook {
	return agentd.GoHook{ID: id, Version: "1", Points: append(points, point), Priority: 50, Run: func(_ context.Context, c *hookpoints.Call) ([]hookpoints.Decision, error) {
		if c.Seed == op {
			(*l).ticks = func() int64 { return int64(time.Hour) }
		}
		return nil, nil
	}}
}

func TestWhatTheWallClockDecidedIsDurableBeforeAnythingGoesOn(t *testing.T) {
	for _, point := range []string{"tool.before", "file.write.before", "tool.confirm"} {
		t.Run(point, func(t *testing.T) {
			var l *lab
			var seen string
			look := agentd.GoHook{ID: "look", Version: "1", Points: []string{"tool.before"}, Priority: 1, Run: func(_ context.Context, c *hookpoints.Call) ([]hookpoints.Decision, error) {
				if c.Seed == "c" {
					seen = l.commits() + l.cells()
				}
				return []hookpoints.Decision{{Verb: hookpoints.Remember, Fields: []payload.Field{field("last", text(c.Seed))}}}, nil
			}}
			l = newLab(t, "", look, slow(&l, "slow", point, "b"))
			args := parsed(`{"path":"p","content":"c"}`)
			done, err := l.batch(l.session("r"), call{id: "a", kind: "write", args: args}, call{id: "b", kind: "write", args: args}, call{id: "c", kind: "write", args: args})
			if err != nil {
				t.Fatal(err)
			}
			same(t, "b", describe(done[1]), `b rejected not_started by=shipped/slow code=host_timeout reason=the_hook_failed`)
			same(t, "durable when c was decided", seen, "intent b, ready a\nshipped/look {\"last\":\"b\"}\n")
			same(t, "ran", l.tries, map[string]int{"a": 1, "c": 1})
		})
	}
}

func TestALateHookAtAPointAndAfterAnActionIsCommittedAtOnce(t *testing.T) {
	var l *lab
	l = newLab(t, `
def dawdle(ctx, call):
    for i in range(20000):
        pass
    return None

hook(id = "dawdle", version = "1", run = dawdle, point = ["turn.after", "tool.after", "tool.before"], observation = True, failure_policy = "continue")
`)
	now := int64(0)
	l.ticks = func() int64 { now += int64(time.Minute); return now }
	s := l.session("r")
	done, err := s.Do(t.Context(), l.action(call{id: "a", kind: "shell", args: object()}))
	if err != nil || done.State != operation.Finished {
		t.Fatal(done, err)
	}
	turn := l.head("turn", "turn")
	if _, err := s.Point(t.Context(), turn, 0, "turn.after", l.around(turn), parsed(`{"prompt":"p","response":"r","continuation":0}`)); err != nil {
		t.Fatal(err)
	}
	same(t, "commits", l.commits(), "ready a\nintent a\noutcome a\nafter a\npoint turn\n")
	same(t, "error", rowsOf[operation.AfterRow](l, "a")[0].Records[0].Error, "host_timeout")
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
	same(t, "own of other", other["project/own"].String()+other["project/own@sub-1"].String(), `{"n":1}{"n":1}`)
}

func TestWhatWasDecidedStaysDecidedWhenABatchIsCutOff(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cut := agentd.GoHook{ID: "cut", Version: "1", Points: []string{"tool.before"}, Priority: 50, Run: func(_ context.Context, c *hookpoints.Call) ([]hookpoints.Decision, error) {
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
	same(t, "told", l.told, []string{"a project/count", "a shipped/cut", "a project/later"})
	if _, err := l.batch(l.session("r"), calls...); err != nil {
		t.Fatal(err)
	}
	same(t, "cells", l.cells(), lines([]string{`project/count {"n":2}`, `project/later {"n":2}`}))
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

func TestTheRecordedTimeIsWhatAResumeSees(t *testing.T) {
	l := newLab(t, `
def now(ctx, call):
    return patch(value = ctx.now)

hook(id = "now", version = "1", run = now, point = "tool.after")
`)
	l.at = crashAt("action.tool", 1)
	c := call{id: "a", kind: "shell", args: object()}
	crashed(t, func() { l.batch(l.session("r"), c) })
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
