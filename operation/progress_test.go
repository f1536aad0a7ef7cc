package operation_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"agentd"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/operation"
)

// paying is a hook of a host that isn't replay-safe: it pays, and appends what it paid to a witness of
// its own.
type paying struct {
	paid []string
	fail int // so many calls fail, after they paid
}

func (p *paying) hook(id string, points ...string) agentd.GoHook {
	return agentd.GoHook{ID: id, Version: "1", Points: points, Run: func(_ context.Context, c *hookpoints.Call) ([]hookpoints.Decision, error) {
		p.paid = append(p.paid, id+"@"+c.Point.Name)
		if p.fail--; p.fail >= 0 {
			return nil, errors.New("the key is 1234")
		}
		return []hookpoints.Decision{{Verb: hookpoints.Context, Text: id + " paid"}, {Verb: hookpoints.Remember, Fields: []payload.Field{field("n", payload.NewInt(int64(len(p.paid))))}}}, nil
	}}
}

// dieAt makes the process die the n-th time that it comes to a place.
func (l *lab) dieAt(place string, n int) {
	l.at = func(here string) {
		if here == place {
			if n--; n == 0 {
				panic(dead{place})
			}
		}
	}
}

type dead struct{ place string }

// life runs something in a process that may die; it reports whether it did.
func (l *lab) life(do func() error) (died bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(dead); !ok {
				panic(p)
			}
			died, l.at = true, nil
		}
	}()
	return false, do()
}

func TestAHookThatIsNotReplaySafeIsCalledOnce(t *testing.T) {
	const calls = "a write {\"path\":\"p\",\"content\":\"c\"}\nb shell {}"
	points := []string{"tool.before", "file.write.before", "tool.confirm", "file.write.after", "tool.after", "operation.finally"}
	run := func(l *lab) error {
		done, err := l.batch(l.session("r"), parseCalls(t, calls)...)
		for _, d := range done {
			if d.State != operation.Finished || d.Effective.Text() != "raw "+d.Head.ID {
				t.Errorf("%+v", d)
			}
		}
		return err
	}
	fresh := func() (*lab, *paying) {
		p := &paying{}
		diagnose := p.hook("diagnose", "operation.finally")
		diagnose.Observation = true
		diagnose.Run = func(_ context.Context, c *hookpoints.Call) ([]hookpoints.Decision, error) {
			p.paid = append(p.paid, "diagnose@"+c.Point.Name)
			return nil, nil
		}
		var hooks []agentd.GoHook
		for _, point := range points[:len(points)-1] {
			h := p.hook("h-"+point, point)
			if point == "tool.confirm" || point == "file.write.after" { // they take neither context nor state of it
				run := h.Run
				h.Run = func(ctx context.Context, c *hookpoints.Call) ([]hookpoints.Decision, error) {
					_, err := run(ctx, c)
					return nil, err
				}
			}
			hooks = append(hooks, h)
		}
		return newLab(t, "", append(hooks, diagnose)...), p
	}
	l, p := fresh()
	places := map[string]int{}
	l.at = func(place string) { places[place]++ }
	if err := run(l); err != nil {
		t.Fatal(err)
	}
	all, cells := p.paid, l.cells()
	if len(all) != 10 || places["hooked.tool"] != 10 || places["hook.tool"] != 10 {
		t.Fatalf("%v %v", all, places)
	}
	for n := 1; n <= 10; n++ { // after its decision is saved, everything goes on as if nothing had been
		l, p := fresh()
		l.dieAt("hooked.tool", n)
		if died, err := l.life(func() error { return run(l) }); !died || err != nil {
			t.Fatal(n, died, err)
		}
		same(t, "paid before the death", len(p.paid), n)
		if err := run(l); err != nil {
			t.Fatal(n, err)
		}
		same(t, "paid", lines(p.paid), lines(all))
		same(t, "cells", l.cells(), cells)
	}
	for n := 1; n <= 10; n++ { // before it is called: nobody can tell that from half-done
		l, p := fresh()
		l.dieAt("hook.tool", n)
		if died, err := l.life(func() error { return run(l) }); !died || err != nil {
			t.Fatal(n, died, err)
		}
		for range 2 {
			err := run(l)
			if strings.HasPrefix(all[n-1], "diagnose") { // it can change nothing, so it isn't asked about
				if err != nil {
					t.Error(n, err)
				}
				continue
			}
			if !errors.Is(err, operation.ErrRecovery) || !strings.Contains(err.Error(), "shipped/"+strings.Split(all[n-1], "@")[0]+" at ") {
				t.Errorf("%d %s: %v", n, all[n-1], err)
			}
			same(t, "paid", lines(p.paid), lines(all[:n-1]))
		}
	}
}

func TestAPersonSettlesAHookThatIsHalfDone(t *testing.T) {
	for name, c := range map[string]struct {
		settle operation.Settlement
		fails  string
		state  operation.State
		paid   int
		args   string
	}{
		"again":     {operation.Settlement{Verb: operation.Retry}, "", operation.Finished, 1, ""},
		"no effect": {operation.Settlement{Verb: operation.SettleSucceeded, Value: payload.NewNull()}, "", operation.Finished, 0, ""},
		"a patch":   {operation.Settlement{Verb: operation.SettleSucceeded, Value: parsed(`[{"decision":"patch","fields":{"arguments":{"n":3}}}]`)}, "", operation.Finished, 0, `{"n":3}`},
		"a refusal": {operation.Settlement{Verb: operation.SettleSucceeded, Value: parsed(`[{"decision":"reject","text":"no","name":"odd"}]`)}, "", operation.Rejected, 0, ""},
		"it failed": {operation.Settlement{Verb: operation.SettleFailed, Reason: "I looked"}, "", operation.Rejected, 0, ""},
		"a verb":    {operation.Settlement{Verb: "no"}, `"no" settles nothing`, "", 0, ""},
		"a word":    {operation.Settlement{Verb: operation.SettleSucceeded, Value: parsed(`[{"decision":"allows"}]`)}, "names no decision", "", 0, ""},
		"no list":   {operation.Settlement{Verb: operation.SettleSucceeded, Value: parsed(`{"decision":"allow"}`)}, "want null or a list", "", 0, ""},
	} {
		p := &paying{}
		l := newLab(t, "", p.hook("pay", "tool.before"))
		run := func() error {
			done, err := l.batch(l.session("r"), parseCalls(t, "a shell {}")...)
			if err == nil && done[0].State != c.state {
				t.Errorf("%s: %+v", name, done[0])
			}
			return err
		}
		l.dieAt("hook.tool", 1)
		if died, err := l.life(run); !died || err != nil {
			t.Fatal(died, err)
		}
		if err := run(); !errors.Is(err, operation.ErrRecovery) {
			t.Fatal(name, err)
		}
		if half := operation.HalfDone(rowsOf[operation.Row](l, "a")); !strings.HasPrefix(half, "shipped/pay at tool.before of operation a was started") {
			t.Errorf("half done: %q", half)
		}
		err := l.rt.Runner().Reconcile(t.Context(), "a", c.settle)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: %v", name, err)
			}
			if err := run(); !errors.Is(err, operation.ErrRecovery) {
				t.Errorf("%s settled it: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(name, err)
		}
		if half := operation.HalfDone(rowsOf[operation.Row](l, "a")); half != "" {
			t.Errorf("%s: half done: %q", name, half)
		}
		if err := run(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		same(t, name+": paid", len(p.paid), c.paid)
		if ran := lines(l.ran); (c.state == operation.Finished) != (ran == strings.TrimSpace("a "+c.args)+"\n") {
			t.Errorf("%s: ran %q", name, ran)
		}
		if err := l.rt.Runner().Reconcile(t.Context(), "a", c.settle); err == nil {
			t.Errorf("%s: settled twice", name)
		}
	}
}

// A hook that failed after it did something isn't called again by itself, and its words are nowhere.
func TestAFailedHookThatIsNotReplaySafeWaitsForAPerson(t *testing.T) {
	p := &paying{fail: 1}
	l := newLab(t, "", p.hook("pay", "tool.after"))
	run := func() error {
		_, err := l.batch(l.session("r"), parseCalls(t, "a shell {}")...)
		return err
	}
	if err := run(); !errors.Is(err, operation.ErrHook) {
		t.Error(err)
	}
	for range 2 {
		if err := run(); !errors.Is(err, operation.ErrRecovery) || strings.Contains(err.Error(), "1234") {
			t.Error(err)
		}
	}
	same(t, "paid", len(p.paid), 1)
	if err := l.rt.Runner().Reconcile(t.Context(), "a", operation.Settlement{Verb: operation.Retry, Who: "me"}); err != nil {
		t.Fatal(err)
	}
	if err := run(); err != nil {
		t.Error(err)
	}
	same(t, "paid", len(p.paid), 2)
	same(t, "ran", lines(l.ran), "a\n")
}

// What a person settled as failed fails each time, until they settle it otherwise, and an after chain
// whose hook saw another payload isn't guessed.
func TestAHookIsNotRecalledForAnotherPayload(t *testing.T) {
	p := &paying{}
	n := 0
	before := agentd.GoHook{ID: "a", Version: "1", Points: []string{"tool.before"}, Priority: 1, ReplaySafe: true, Run: func(context.Context, *hookpoints.Call) ([]hookpoints.Decision, error) {
		n++ // a liar
		return []hookpoints.Decision{{Verb: hookpoints.Patch, Fields: []payload.Field{field("arguments", object(field("n", payload.NewInt(int64(n)))))}}}, nil
	}}
	l := newLab(t, "", before, p.hook("pay", "tool.before"))
	l.dieAt("hooked.tool", 1)
	run := func() error {
		_, err := l.batch(l.session("r"), parseCalls(t, "a shell {}")...)
		return err
	}
	if died, err := l.life(run); !died || err != nil {
		t.Fatal(died, err)
	}
	if err := run(); !errors.Is(err, operation.ErrRecovery) || !strings.Contains(err.Error(), "another payload") {
		t.Error(err)
	}
	same(t, "paid", len(p.paid), 1)
	same(t, "ran", len(l.ran), 0)
}

func TestAHookWhoseStartCanNotBeSavedIsNotCalled(t *testing.T) {
	for fail, paid := range map[int]int{1: 0, 2: 1} {
		p := &paying{}
		l := newLab(t, "", p.hook("pay", "tool.before"))
		l.journal.FailAt(fail, nil)
		_, err := l.batch(l.session("r"), parseCalls(t, "a shell {}")...)
		if !errors.Is(err, operation.ErrPersistence) {
			t.Error(err)
		}
		same(t, "paid", len(p.paid), paid)
		same(t, "ran", len(l.ran), 0)
	}
}

func TestARehearsalCallsNoHookThatDoesSomething(t *testing.T) {
	p := &paying{}
	l := newLab(t, "", p.hook("pay", "tool.before"))
	x := operation.NewRehearsal(l.rt.Planner(), "s").Begin(l.action(parseCalls(t, "a shell {}")[0]))
	if _, err := x.Decide(t.Context(), operation.Given{}); err == nil || err.Error() != "shipped/pay at tool.before isn't replay-safe, so it can't be computed again" {
		t.Error(err)
	}
	same(t, "paid", len(p.paid), 0)
}
