package operation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"agentd/hookpoints/payload"
	"agentd/operation"
	"agentd/operation/journaltest"
)

// plot is a run with everything in it: chains without an action, two model calls, a batch of two reads, a
// write and a shell call, a rejected call, a call that a hook answers, and hooks that count everywhere.
type plot struct {
	*lab
	cut map[string]int // how often an operation was unknown when the process died
}

const plotScript = `
def count(ctx, call):
    return remember(n = ctx.state.get("n", 0) + 1)

hook(id = "starts", version = "1", run = count, point = ["run.before", "turn.before", "step.after", "model.chat.before", "file.write.before"], state = "before")
hook(id = "ends", version = "1", run = count, point = ["run.after", "model.chat.after", "file.write.after", "operation.finally"], state = "after", observation = True)

def decide(ctx, call):
    out = [remember(n = ctx.state.get("n", 0) + 1, last = ctx.seed)]
    if ctx.seed == "no":
        out.append(reject("no"))
    elif ctx.seed == "cached":
        out.append(respond("cached"))
    else:
        out.append(context("before " + ctx.seed))
    return out

hook(id = "decide", version = "1", run = decide, point = "tool.before")

def guard(ctx, call):
    return reject("never") if call.arguments.get("forbidden") else None

hook(id = "guard", version = "1", run = guard, point = "tool.before", guard = True)

def show(ctx, call):
    return [remember(n = ctx.state.get("n", 0) + 1), patch(value = "shown " + str(call.value)), context("after " + ctx.seed)]

hook(id = "show", version = "1", run = show, point = "tool.after")
`

// play runs the plot from the start, which goes on where the journal says. It returns what the caller
// was told of each operation, in order.
func (p *plot) play() (told []string, err error) {
	ctx := p.t.Context()
	s := p.session("r")
	note := func(d operation.Done) { told = append(told, describe(d)) }
	point := func(id, name string, n int, in string) error {
		h := p.head(id, "turn")
		d, err := s.Point(ctx, h, n, name, p.around(h), parsed(in))
		if err == nil {
			note(d)
		}
		return err
	}
	ask := func(id string) error {
		a := p.chat(id)
		a.Do = p.checked(a)
		d, err := s.Do(ctx, a)
		if err == nil {
			note(d)
		}
		return err
	}
	batch := func(lines string) error {
		var actions []operation.Action
		for _, c := range parseCalls(p.t, lines) {
			a := p.action(c)
			a.Do = p.checked(a)
			actions = append(actions, a)
		}
		list, err := s.Batch(ctx, actions)
		for _, d := range list {
			note(d)
		}
		return err
	}
	body := func(context.Context) (string, error) {
		for _, step := range []func() error{
			func() error { return point("turn", "turn.before", 0, `{"prompt":"do it"}`) },
			func() error { return ask("m1") },
			func() error {
				return batch(`
					r1 read {"path":"a"}
					r2 read {"path":"b"}
					no shell {}
					w1 write {"path":"p","content":"c"} policy=ask
					cached shell {}
					s1 shell {"n":1}
					i1 shell {"n":2} idempotent`)
			},
			func() error { return point("step", "step.after", 0, `{"step":1,"calls":[]}`) },
			func() error { return ask("m2") },
			func() error {
				return batch(`
					s2 shell {"n":3} policy=ask
					s3 shell {"n":4} policy=ask
					d1 shell {"n":5} policy=ask`)
			},
			func() error { return ask("m3") },
		} {
			if err := step(); err != nil {
				return "", err
			}
		}
		return operation.Succeeded, nil
	}
	d, err := s.Do(ctx, p.composite(s, "r", true, body))
	if err != nil {
		return nil, err
	}
	note(d)
	return told, s.Flush(ctx)
}

// checked is an action that may only run with a durable intent, and never after a durable outcome.
func (p *plot) checked(a operation.Action) func(context.Context, payload.Value, payload.Value) (payload.Value, string, error) {
	do := a.Do
	return func(ctx context.Context, in, write payload.Value) (payload.Value, string, error) {
		intent, outcome := rowsOf[operation.IntentRow](p.lab, a.Head.ID), rowsOf[operation.OutcomeRow](p.lab, a.Head.ID)
		if len(intent) != 1 || intent[0].State != operation.Running || len(outcome) > 0 {
			p.t.Errorf("%s runs with the intents %v and the outcomes %v", a.Head.ID, intent, outcome)
		}
		if got, want := in.String(), intent[0].Final.String(); got != want {
			p.t.Errorf("%s runs with %s, and its intent says %s", a.Head.ID, got, want)
		}
		value, status, err := do(ctx, in, write)
		if p.at != nil && !a.Overlaps {
			p.at("inside." + a.Head.Kind)
		}
		return value, status, err
	}
}

func newPlot(t *testing.T) *plot {
	p := &plot{newLab(t, plotScript), map[string]int{}}
	p.person.always = map[string]string{"w1": "for 2", "d1": "deny no"} // s2 and s3 are allowed with w1
	return p
}

// dead notes what is unknown now that the process is dead: only that may be told as unknown, or run
// once more.
func (p *plot) dead() {
	for _, h := range p.opened() {
		if operation.Summarise(rowsOf[operation.Row](p.lab, h.ID)).State == operation.Unknown {
			p.cut[h.ID]++
		}
	}
}

// finish plays on until nothing is left, as a person does who allows model calls to be repeated.
func (p *plot) finish() (told []string) {
	p.t.Helper()
	for range 9 {
		told, err := p.play()
		if err == nil {
			return told
		}
		if !errors.Is(err, operation.ErrUnknownModel) {
			p.t.Fatal(err)
		}
		for _, h := range p.opened() {
			if h.Kind == "model.chat" && operation.Summarise(rowsOf[operation.Row](p.lab, h.ID)).State == operation.Unknown {
				if err := p.rt.Runner().AllowRetry(p.t.Context(), h.ID, "I say so"); err != nil {
					p.t.Fatal(err)
				}
			}
		}
	}
	p.t.Fatal("it doesn't come to an end")
	return nil
}

func (p *plot) opened() []operation.Head {
	p.t.Helper()
	open, err := p.journal.Open(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return open
}

// undisturbed is how the plot goes when nothing dies.
func undisturbed(t *testing.T) (p *plot, told []string, places []string) {
	t.Helper()
	p = newPlot(t)
	p.at = func(place string) { places = append(places, place) }
	told, err := p.play()
	if err != nil {
		t.Fatal(err)
	}
	for id, n := range p.tries {
		if n != 1 {
			t.Errorf("%s ran %d times", id, n)
		}
	}
	same(t, "open", len(p.opened()), 0)
	return p, told, places
}

// check compares a run that died and went on with an undisturbed one.
func (p *plot) check(t *testing.T, want *plot, wantTold, told []string) {
	t.Helper()
	wanted := map[string]string{}
	for _, line := range wantTold {
		wanted[idOf(line)] = line
	}
	if n := len(told); n != len(wantTold) && !(n == 1 && idOf(told[0]) == "r") { // the run's outcome was durable
		t.Errorf("the caller was told %v", told)
	}
	unknown := 0
	for _, line := range told {
		if id := idOf(line); strings.HasPrefix(line, id+` unknown unknown effective="nobody knows"`) && p.cut[id] > 0 && (id[0] != 'm' && id != "i1") {
			unknown++
		} else {
			same(t, "told", line, wanted[id])
		}
	}
	for id, n := range want.tries {
		least, most := n, n
		if p.cut[id] > 0 {
			if most = 1; id[0] == 'm' || id == "i1" { // a person, or the tool itself, allowed it
				most += p.cut[id]
			} else {
				least = 0
			}
		}
		if n := p.tries[id]; n < least || n > most {
			t.Errorf("%s was cut off %d times and ran %d times", id, p.cut[id], n)
		}
	}
	for id := range p.tries {
		if want.tries[id] == 0 {
			t.Errorf("%s ran", id)
		}
	}
	same(t, "open at the end", len(p.opened()), 0)
	for _, name := range []string{"project/before", "project/decide"} {
		same(t, name, p.cell(name), want.cell(name))
	}
	if len(told) > 1 && unknown == 0 {
		same(t, "cells", p.cells(), want.cells())
		same(t, "files", p.files, want.files)
	}
}

func idOf(line string) string {
	id, _, _ := strings.Cut(line, " ")
	return id
}

func TestAProcessThatDiesAnywhereLosesNothingAndDoesNothingTwice(t *testing.T) {
	want, wantTold, places := undisturbed(t)
	if len(places) < 20 {
		t.Fatalf("only %d places: %v", len(places), places)
	}
	for i := range places {
		t.Run(fmt.Sprintf("%02d %s", i+1, places[i]), func(t *testing.T) {
			p := newPlot(t)
			p.at = journaltest.CrashAt("", i+1)
			journaltest.MustDie(t, func() { p.play() })
			p.dead()
			p.at = nil
			p.check(t, want, wantTold, p.finish())
		})
	}
}

func TestAProcessThatDiesTwice(t *testing.T) {
	want, wantTold, places := undisturbed(t)
	for i := range places {
		for j := i % 23; ; j += 23 {
			p := newPlot(t)
			p.at = journaltest.CrashAt("", i+1)
			journaltest.MustDie(t, func() { p.play() })
			p.dead()
			p.at = journaltest.CrashAt("", j+1)
			if journaltest.Dies(func() { p.finish() }) == "" {
				break
			}
			p.dead()
			p.at = nil
			p.check(t, want, wantTold, p.finish())
		}
	}
}

func TestAJournalThatFailsAtAnyCommit(t *testing.T) {
	want, wantTold, _ := undisturbed(t)
	journaltest.FailsAtAnyCommit(t, want.journal.Commits(), func(t *testing.T, spoil func(*journaltest.Memory)) {
		p := newPlot(t)
		spoil(p.journal)
		if _, err := p.play(); !errors.Is(err, operation.ErrPersistence) {
			t.Fatalf("%v, want ErrPersistence", err)
		}
		p.dead()
		p.check(t, want, wantTold, p.finish())
	})
}
