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
	"agentd/operation/journaltest"
)

const tellScript = `
hook(id = "tell", version = "1", run = lambda ctx, call: effect("notify", message = ctx.seed), point = "tool.after", effects = ["notify"])
hook(id = "came", version = "1", run = lambda ctx, call: context(call.status + " " + call.value.get("error", "")), point = "effect.after")
`

var tellID = "a/e/tool.after/0/project/tell/0"

func (l *lab) one(s *operation.Session) operation.Done {
	l.t.Helper()
	done, err := l.batch(s, call{id: "a", kind: "shell", args: object()})
	if err != nil {
		l.t.Fatal(err)
	}
	return done[0]
}

func (l *lab) state(op string) operation.State {
	l.t.Helper()
	return operation.Summarise(rowsOf[operation.Row](l, op)).State
}

func TestAnEffectThatWasCutOffIsUnknownUntilAPersonLetsItRunAgain(t *testing.T) {
	l := newLab(t, tellScript)
	l.at = journaltest.CrashAt("inside.effect", 1)
	journaltest.MustDie(t, func() { l.one(l.session("r")) })
	l.at = nil
	same(t, "state", l.state(tellID), operation.Unknown)
	for range 2 {
		same(t, "done", describe(l.one(l.session("r"))), `a finished succeeded effective="raw a" text=project/came:unknown_nobody_knows_whether_this_was_done:_agentd_was_interrupted`)
		same(t, "state", l.state(tellID), operation.Unknown)
		same(t, "open", len(l.heads()), 0)
		same(t, "tries", l.tries[tellID], 1)
	}
	if err := l.rt.Runner().AllowRetry(t.Context(), tellID, "I looked"); err != nil {
		t.Fatal(err)
	}
	same(t, "open", len(l.heads()), 1)
	for range 2 {
		same(t, "done", describe(l.one(l.session("r"))), `a finished succeeded effective="raw a" text=project/came:succeeded_`)
		same(t, "state", l.state(tellID), operation.Finished)
		same(t, "tries", l.tries[tellID], 2)
	}
}

func (l *lab) heads() []operation.Head {
	l.t.Helper()
	open, err := l.journal.Open(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	return open
}

func TestAHistoryShowsWhatCameOfEffectsAndDoesNone(t *testing.T) {
	for place, want := range map[string]string{
		"":              `a finished succeeded effective="raw a" text=project/came:succeeded_`,
		"intent.effect": `a finished succeeded effective="raw a"`,
		"action.effect": `a finished succeeded effective="raw a"`,
	} {
		l := newLab(t, tellScript)
		if place == "" {
			l.one(l.session("r"))
		} else {
			l.at = journaltest.CrashAt(place, 1)
			journaltest.MustDie(t, func() { l.one(l.session("r")) })
		}
		l.at = nil
		tries := l.tries[tellID]
		s, err := l.rt.Session(t.Context(), "s")
		if err == nil {
			err = s.Replay(t.Context(), "r")
		}
		if err != nil {
			t.Fatal(err)
		}
		done, err := s.Batch(t.Context(), []operation.Action{l.action(call{id: "a", kind: "shell", args: object()})})
		if err != nil {
			t.Fatal(err)
		}
		same(t, place, describe(done[0]), want)
		same(t, place+" tries", l.tries[tellID], tries)
	}
}

func TestAnEffectIsCancelledOrLeftToWhoeverGoesOn(t *testing.T) {
	for name, state := range map[string]operation.State{"notify": operation.Finished, "git.commit": operation.Unknown} {
		script := strings.ReplaceAll(tellScript, `"notify"`, `"`+name+`"`)
		if name == "git.commit" {
			script = strings.Replace(script, "message = ctx.seed", "message = ctx.seed, all = True", 1)
		}
		l := newLab(t, script)
		ctx, cancel := context.WithCancel(t.Context())
		l.at = func(place string) {
			if place == "intent.effect" {
				cancel()
			}
		}
		s := l.session("r")
		done, err := s.Batch(ctx, []operation.Action{l.action(call{id: "a", kind: "shell", args: object()})})
		if errors.Is(err, context.Canceled) != (state == operation.Unknown) {
			t.Fatalf("%s: %v", name, err)
		}
		if err == nil {
			same(t, "done", describe(done[0]), `a finished succeeded effective="raw a" text=project/came:cancelled_cancelled`)
		}
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		same(t, name, l.state(tellID), state)
		l.at = nil
		l.one(l.session("r"))
		same(t, name, l.state(tellID), operation.Finished)
		same(t, "tries", l.tries[tellID], map[operation.State]int{operation.Finished: 1, operation.Unknown: 2}[state])
	}
}

func TestWithoutAnybodyWhoDoesEffectsTheyFail(t *testing.T) {
	l := newLab(t, "")
	l.journal = journaltest.NewMemory()
	var err error
	l.rt, err = agentd.Open(agentd.Options{Journal: l.journal, Clock: l, Monotonic: l, Hooks: []agentd.GoHook{{
		ID: "ask", Version: "1", Points: []string{"tool.after"}, Effects: []string{"notify"}, ReplaySafe: true,
		Run: func(context.Context, *hookpoints.Call) ([]hookpoints.Decision, error) {
			return []hookpoints.Decision{{Verb: hookpoints.Effect, Name: "notify", Fields: []payload.Field{field("message", text("m"))}}}, nil
		}}}})
	if err != nil {
		t.Fatal(err)
	}
	l.serve("")
	l.one(l.session("r"))
	same(t, "effects", l.effects(), "a/e/tool.after/0/shipped/ask/0 notify finished failed {\"error\":\"nobody does effects here\"}\n")
}

func TestAClientsEffectsAreDoneByWhoeverTendsThem(t *testing.T) {
	l := newLab(t, `
hook(id = "before", version = "1", run = lambda ctx, call: [effect("snapshot.create", when = "before", label = call.arguments.label), effect("notify", message = "asked")], point = "tool.before", effects = ["snapshot.create", "notify"])
hook(id = "after", version = "1", run = lambda ctx, call: [remember(n = ctx.state.get("n", 0) + 1), effect("notify", message = call.status)], point = "tool.after", effects = ["notify"])
hook(id = "came", version = "1", run = lambda ctx, call: [context(call.name), remember(n = ctx.state.get("n", 0) + 1)], point = "effect.after")
`)
	foreign := func(id, label string) operation.Done {
		a := l.action(call{id: id, kind: "shell", args: parsed(`{"label":"` + label + `"}`)})
		a.Head.RunID, a.Head.Client = "", "gemini"
		done, err := l.session("").ForeignBefore(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	same(t, "let through", describe(foreign("a", "fine")), `a running not_started effective={"name":"shell","tool_id":"shell","implementation_id":null,"parameters":{"type":"object"},"arguments":{"label":"fine"}} text=project/came:snapshot.create`)
	same(t, "blocked", describe(foreign("b", "failed")), `b rejected not_started effective={"name":"shell","tool_id":"shell","implementation_id":null,"parameters":{"type":"object"},"arguments":{"label":"failed"}} code=effect_failed reason=not_executed:_the_effect_snapshot.create,_which_was_to_come_before_it,_failed:_it_is_failed text=project/came:snapshot.create`)
	same(t, "the blocked one", l.state("b"), operation.Finished)
	same(t, "ran", l.ran, []string{`a/e/tool.before/0/project/before/0 snapshot.create {"label":"fine"}`, `b/e/tool.before/0/project/before/0 snapshot.create {"label":"failed"}`})

	// Whoever tends them does each first, without the session, and lets hooks look at it then.
	l.ran = nil
	for range 2 {
		for _, h := range l.heads() {
			if h.Kind != operation.KindEffect {
				continue
			}
			same(t, "client", h.Client, "gemini")
			if err := l.rt.Runner().DoEffect(t.Context(), h.ID); err != nil {
				t.Fatal(err)
			}
			before := l.cell("project/came")
			if err := l.rt.Runner().DoEffect(t.Context(), h.ID); err != nil { // it is over
				t.Fatal(err)
			}
			same(t, "state before the hooks look", l.cell("project/came"), before)
			if _, err := l.session("").Effect(t.Context(), h.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	same(t, "ran", l.ran, []string{`a/e/tool.before/0/project/before/1 notify {"message":"asked"}`, `b/e/tool.before/0/project/before/1 notify {"message":"asked"}`, `b/e/tool.after/0/project/after/0 notify {"message":"failed"}`})
	same(t, "state", l.cell("project/came"), `{"n":5}`)
	for _, h := range l.heads() {
		if h.ID != "a" {
			t.Errorf("%s is open", h.ID)
		}
	}
}
