package operation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"agentd/operation"
	"agentd/operation/journaltest"
)

const effectScript = `
def before(ctx, call):
    return [effect("snapshot.create", when = "before", label = ctx.seed), effect("notify", when = "before", message = "soon " + ctx.seed), effect("notify", message = "asked " + ctx.seed)]

hook(id = "before", version = "1", run = before, point = "tool.before", targets = ["write"], effects = ["snapshot.create", "notify"])

def after(ctx, call):
    return [remember(n = ctx.state.get("n", 0) + 1), effect("git.commit", message = ctx.seed, all = True), effect("notify", message = ctx.seed)]

hook(id = "after", version = "1", run = after, point = "tool.after", effects = ["git.commit", "notify"])
hook(id = "ends", version = "1", run = lambda ctx, call: effect("notify", message = "end"), point = ["turn.after", "run.after"], effects = ["notify"])

def came(ctx, call):
    out = [remember(n = ctx.state.get("n", 0) + 1), context(ctx.operation_id + " " + call.status)]
    if call.arguments.get("message") == "end" and ctx.parent_operation_id == "turn":
        out.append(proceed("go on"))
    if call.name == "git.commit" and ctx.parent_operation_id == "s1":
        out.append(effect("notify", message = "committed"))
    return out

hook(id = "came", version = "1", run = came, point = "effect.after", effects = ["notify"])
`

// effectPlot is a run whose chains ask for effects: at a batch, before a write, at the end of the turn
// and of the run, and after other effects.
type effectPlot struct{ *plot }

func newEffectPlot(t *testing.T) *effectPlot {
	return &effectPlot{&plot{newLab(t, effectScript), map[string]int{}}}
}

// play is as that of plot.
func (p *effectPlot) play(open func(run string) *operation.Session) (told []string, err error) {
	ctx := p.t.Context()
	s := open("r")
	note := func(d operation.Done) { told = append(told, describe(d)) }
	body := func(context.Context) (string, error) {
		var actions []operation.Action
		for _, c := range parseCalls(p.t, `
			s1 shell {"n":1}
			w1 write {"path":"p","content":"c"}`) {
			a := p.action(c)
			a.Do = p.checked(a)
			actions = append(actions, a)
		}
		list, err := s.Batch(ctx, actions)
		if err != nil {
			return "", err
		}
		for _, d := range list {
			note(d)
		}
		h := p.head("turn", "turn")
		d, err := s.Point(ctx, h, 1, "turn.after", p.around(h), parsed(`{"prompt":"p","response":"r","continuation":0}`))
		if err != nil {
			return "", err
		}
		note(d)
		return operation.Succeeded, nil
	}
	d, err := s.Do(ctx, p.composite(s, "r", true, body))
	if err != nil {
		return nil, err
	}
	note(d)
	return told, s.Flush(ctx)
}

// dead notes what was started and isn't known to be over.
func (p *effectPlot) dead() {
	for _, h := range p.opened() {
		if sum := operation.Summarise(rowsOf[operation.Row](p.lab, h.ID)); sum.State == operation.Unknown {
			p.cut[h.ID]++
		}
	}
}

// tend is what a daemon does at its start for a run that nobody takes up: first what the run's own code
// says, then whatever effects are left.
func (p *effectPlot) tend() {
	p.t.Helper()
	_, err := p.play(func(run string) *operation.Session {
		s, err := p.rt.Session(p.t.Context(), "s")
		if err == nil {
			err = s.Settle(p.t.Context(), run)
		}
		if err != nil {
			p.t.Fatal(err)
		}
		return s
	})
	if err != nil && !errors.Is(err, operation.ErrNotSaved) {
		p.t.Fatal(err)
	}
	for range 99 {
		effects := slices.DeleteFunc(p.opened(), func(h operation.Head) bool { return h.Kind != operation.KindEffect })
		if len(effects) == 0 {
			return
		}
		s := p.session("")
		if _, err := s.Effect(p.t.Context(), effects[0].ID); err != nil {
			p.t.Fatal(err)
		}
	}
	p.t.Fatal("there is always one more effect")
}

// check compares with a run that nothing disturbed.
func (p *effectPlot) check(want *effectPlot, wantTold, told []string) {
	p.t.Helper()
	unknown := 0
	for id, n := range p.cut {
		if p.unknown(id) {
			unknown += n
		}
	}
	told = slices.Clone(told)
	for i := range told {
		told[i] = firstAttempt(told[i])
	}
	for _, m := range []map[string]int{p.tries, p.cut} {
		for id, n := range m {
			if first := firstAttempt(id); first != id {
				delete(m, id)
				m[first] += n
			}
		}
	}
	cutTools := p.cut["s1"] + p.cut["w1"]
	if unknown == 0 && cutTools == 0 && len(told) > 1 {
		same(p.t, "told", told, wantTold)
		same(p.t, "cells", p.cells(), want.cells())
		same(p.t, "effects", normalEffects(p.effects()), normalEffects(want.effects()))
	}
	for id := range p.tries {
		if want.tries[id] == 0 {
			p.t.Errorf("%s ran", id)
		}
	}
	for id := range want.tries {
		least, most := 1, 1
		repeats := strings.HasPrefix(nameOf(want, id), "git.commit") || strings.HasPrefix(nameOf(want, id), "snapshot.create")
		switch {
		case p.cut[id] > 0 && repeats:
			most += p.cut[id]
		case p.cut[id] > 0:
			least = 0
		}
		if strings.HasPrefix(id, "s1/e/tool.after") && p.cut["s1"] > 0 || strings.HasPrefix(id, "w1/e/tool.after") && p.cut["w1"] > 0 { // no after chain looked at it
			least = 0
		}
		if id == "w1" && p.blocked() {
			least = 0
		}
		if n := p.tries[id]; n < least || n > most {
			p.t.Errorf("%s was cut off %d times and ran %d times\n%s", id, p.cut[id], n, p.effects())
		}
	}
	same(p.t, "open at the end", len(p.opened()), 0)
}

// blocked reports whether what had to come before the write is unknown.
func (p *effectPlot) blocked() bool {
	sum := operation.Summarise(rowsOf[operation.Row](p.lab, "w1"))
	return strings.Contains(sum.Output.String(), "effect_unknown") || strings.Contains(sum.Raw.String(), "effect_unknown")
}

func nameOf(p *effectPlot, id string) string {
	return operation.Summarise(rowsOf[operation.Row](p.lab, id)).Head.Tool
}

// unknown reports whether nobody knows about an effect.
func (p *effectPlot) unknown(id string) bool {
	return strings.Contains(id, "/e/") && operation.Summarise(rowsOf[operation.Row](p.lab, id)).State == operation.Unknown
}

// firstAttempt is the id that an effect would have if the one before it hadn't been done again.
func firstAttempt(id string) string {
	return strings.NewReplacer("effect.after/1/", "effect.after/0/", "effect.after/2/", "effect.after/0/").Replace(id)
}

// normalEffects leaves out how often those ran that may run again.
func normalEffects(s string) []string {
	list := strings.Split(strings.NewReplacer(`{"n":2}`, `{"n":1}`, `{"n":3}`, `{"n":1}`).Replace(firstAttempt(s)), "\n")
	slices.Sort(list)
	return list
}

func undisturbedEffects(t *testing.T) (p *effectPlot, told, places []string) {
	t.Helper()
	p = newEffectPlot(t)
	p.at = func(place string) { places = append(places, place) }
	told, err := p.play(p.session)
	if err != nil {
		t.Fatal(err)
	}
	p.at = nil
	for id, n := range p.tries {
		if n != 1 {
			t.Errorf("%s ran %d times", id, n)
		}
	}
	same(t, "actions", len(p.tries), 12)
	same(t, "open", len(p.opened()), 0)
	if !strings.Contains(told[2], "proceed=go_on") {
		t.Errorf("the turn doesn't go on: %s", told[2])
	}
	for _, kind := range []string{"intent.effect", "inside.effect", "action.effect", "outcome.effect", "after.effect"} {
		if !slices.Contains(places, kind) {
			t.Errorf("there is no place %s", kind)
		}
	}
	return p, told, places
}

func TestAProcessThatDiesLosesNoEffectAndRepeatsNone(t *testing.T) {
	want, wantTold, places := undisturbedEffects(t)
	for i := range places {
		for _, tended := range []bool{false, true} {
			t.Run(fmt.Sprintf("%02d %s tended %v", i+1, places[i], tended), func(t *testing.T) {
				p := newEffectPlot(t)
				p.at = journaltest.CrashAt("", i+1)
				journaltest.MustDie(t, func() { p.play(p.session) })
				p.at = nil
				p.dead()
				if tended {
					p.tend()
				}
				told, err := p.play(p.session)
				if err != nil {
					t.Fatal(err)
				}
				p.check(want, wantTold, told)
			})
		}
	}
}

func TestAProcessThatDiesTwiceOverEffects(t *testing.T) {
	want, wantTold, places := undisturbedEffects(t)
	for i := range places {
		for j := i % 23; ; j += 23 {
			p := newEffectPlot(t)
			p.at = journaltest.CrashAt("", i+1)
			journaltest.MustDie(t, func() { p.play(p.session) })
			p.dead()
			p.at = journaltest.CrashAt("", j+1)
			if journaltest.Dies(func() { p.tend(); p.play(p.session) }) == "" {
				break
			}
			p.dead()
			p.at = nil
			told, err := p.play(p.session)
			if err != nil {
				t.Fatal(err)
			}
			p.tend()
			p.check(want, wantTold, told)
		}
	}
}

func TestEffectsOverAJournalThatFailsAtAnyCommit(t *testing.T) {
	want, wantTold, _ := undisturbedEffects(t)
	journaltest.FailsAtAnyCommit(t, want.journal.Commits(), func(t *testing.T, spoil func(*journaltest.Memory)) {
		p := newEffectPlot(t)
		spoil(p.journal)
		if _, err := p.play(p.session); !errors.Is(err, operation.ErrPersistence) {
			t.Fatalf("%v, want ErrPersistence", err)
		}
		p.dead()
		told, err := p.play(p.session)
		if err != nil {
			t.Fatal(err)
		}
		p.check(want, wantTold, told)
	})
}
