package operation_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"agentd/hookpoints/payload"
	"agentd/operation"
)

// parked plays calls until they wait for a person, and returns the question.
func (l *lab) parked(lines string) operation.Question {
	l.t.Helper()
	_, err := l.batch(l.session("r"), parseCalls(l.t, lines)...)
	if !errors.Is(err, operation.ErrWaiting) {
		l.t.Fatalf("got %v, want ErrWaiting", err)
	}
	_, id, _ := strings.Cut(err.Error(), ": ")
	op, n, ok := operation.ParseQuestionID(id)
	rows := rowsOf[operation.WaitingRow](l, op)
	if !ok || n != len(rows)-1 {
		l.t.Fatalf("%v names the question %d of %s, which has %d", err, n, op, len(rows))
	}
	return rows[n].Question
}

func (l *lab) say(id string, a operation.Answer) error {
	l.t.Helper()
	_, err := l.rt.Runner().Answer(l.t.Context(), id, a)
	return err
}

// goesOn plays the calls to their end.
func (l *lab) goesOn(lines string) (out []string) {
	l.t.Helper()
	done, err := l.batch(l.session("r"), parseCalls(l.t, lines)...)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, d := range done {
		out = append(out, describe(d))
	}
	return out
}

func TestAQuestionSaysAllThatAPersonNeeds(t *testing.T) {
	l := newLab(t, `
hook(id = "asks", version = "1", run = lambda ctx, call: ask("sure?"), point = "tool.confirm", targets = ["write"])
`)
	l.later = time.Minute
	asked, err := json.Marshal(l.parked(`a write {"path":"p","content":"c"}`))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "question", string(asked), `{"id":"a/q1","operation_id":"a","run_id":"r","session_id":"s","tool":"write","kind":"confirm","by":"project/asks","prompt":"sure?","preview":"c",`+
		`"arguments":{"path":"p","content":"c"},"asked_at":"2026-03-04T05:07:07Z","expires_at":"2026-03-05T05:07:07Z"}`)
}

func TestAnAnswerFromOutsideIsTakenWhenTheRunIsResumed(t *testing.T) {
	const calls = `
		a shell {}
		b shell {"n":1} policy=ask
		c shell {}`
	for name, c := range map[string]struct {
		answer operation.Answer
		ran    []string
		b      string
	}{
		"allow": {operation.Answer{Verb: "allow", Who: "you"}, []string{"a", `b {"n":1}`, "c"}, `b finished succeeded effective="raw b" by=you`},
		"deny":  {operation.Answer{Verb: "deny", Who: "you", Reason: "no"}, []string{"a", "c"}, `b rejected not_started by=you code=denied reason=no`},
		"edit":  {operation.Answer{Verb: "allow", Who: "you", Edit: edit(`{"n":2}`)}, []string{"a", `b {"n":2}`, "c"}, `b finished succeeded effective="raw b" by=you`},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, "")
			q := l.parked(calls)
			if err := l.say(q.ID, c.answer); err != nil {
				t.Fatal(err)
			}
			same(t, "b", l.goesOn(calls)[1], c.b)
			same(t, "ran", l.ran, c.ran)
			same(t, "asked", len(l.person.asked), 1)
		})
	}
}

func edit(arguments string) []payload.Field {
	return []payload.Field{field("arguments", parsed(arguments))}
}

func TestAnswersThatCantBeTakenChangeNothing(t *testing.T) {
	const calls = `a shell {"n":1} policy=ask`
	allow := operation.Answer{Verb: "allow", Who: "you"}
	for name, c := range map[string]struct {
		before func(l *lab)
		id     string
		answer operation.Answer
		err    error
		says   string
	}{
		"no name":                            {nil, "a", allow, operation.ErrNoQuestion, `there is none with the name "a"`},
		"no operation":                       {nil, "b/q1", allow, operation.ErrNoQuestion, `"b/q1"`},
		"never asked":                        {nil, "a/q2", allow, operation.ErrNoQuestion, `"a/q2"`},
		"a number of another form":           {nil, "a/q01", allow, operation.ErrNoQuestion, `"a/q01"`},
		"an unknown verb":                    {nil, "a/q1", operation.Answer{Verb: "perhaps"}, operation.ErrAnswer, `the verb is "perhaps"`},
		"retry":                              {nil, "a/q1", operation.Answer{Verb: operation.Retry}, operation.ErrAnswer, `the verb is "retry"`},
		"an edit that the tool doesn't take": {nil, "a/q1", operation.Answer{Verb: "allow", Edit: edit(`{"n":"x"}`)}, operation.ErrAnswer, "n is no number"},
		"too late":                           {func(l *lab) { l.later = 24 * time.Hour }, "a/q1", allow, operation.ErrNoQuestion, "a/q1 expired at 2026-03-05T05:06:07Z"},
		"answered":                           {func(l *lab) { l.say("a/q1", operation.Answer{Verb: "deny", Who: "somebody", Reason: "no"}) }, "a/q1", allow, operation.ErrAnswered, "a/q1 was answered with deny by somebody: no"},
		"answered alike":                     {func(l *lab) { l.say("a/q1", allow) }, "a/q1", allow, operation.ErrAnswered, "a/q1 was answered with allow by you"},
		"its run was cancelled": {func(l *lab) {
			d := operation.Decided{Head: operation.Head{ID: "r", Kind: "run", RunID: "r", SessionID: "s", Composite: true, Began: began}}
			l.commit(operation.IntentRow{Decided: d, State: operation.Running}, operation.OutcomeRow{Op: "r", Status: operation.Cancelled}, operation.AfterRow{Op: "r"})
		}, "a/q1", allow, operation.ErrNoQuestion, "its run r has ended (cancelled)"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, "")
			l.check = func(w operation.WaitingRow, a operation.Answer) error {
				_, err := l.action(call{id: "a", kind: "shell"}).Validate(t.Context(), w.Final.With(a.Edit...))
				return err
			}
			l.parked(calls)
			if c.before != nil {
				c.before(l)
			}
			was := l.commits()
			if err := l.say(c.id, c.answer); !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %v: %s", err, c.err, c.says)
			}
			same(t, "commits", l.commits(), was)
		})
	}
}

func (l *lab) commit(rows ...operation.Row) {
	l.t.Helper()
	if err := l.journal.Commit(l.t.Context(), operation.Commit{Rows: rows}); err != nil {
		l.t.Fatal(err)
	}
}

func TestOfTwoAnswersAtOnceOneHolds(t *testing.T) {
	for range 20 {
		l := newLab(t, "")
		q := l.parked(`a shell {} policy=ask`)
		var wg sync.WaitGroup
		errs := make([]error, 4)
		for i := range errs {
			wg.Go(func() {
				errs[i] = l.say(q.ID, operation.Answer{Verb: []string{"allow", "deny"}[i%2], Who: fmt.Sprint("person ", i/2)})
			})
		}
		wg.Wait()
		won := -1
		for i, err := range errs {
			switch {
			case err == nil && won >= 0:
				t.Fatalf("both %d and %d were acknowledged", won, i)
			case err == nil:
				won = i
			case !errors.Is(err, operation.ErrAnswered):
				t.Fatal(err)
			}
		}
		if won < 0 {
			t.Fatal("nobody was acknowledged")
		}
		who := fmt.Sprint("person ", won/2)
		same(t, "the answer", rowsOf[operation.AnswerRow](l, "a")[0].Answer.Who, who)
		for i, err := range errs {
			if i != won && !strings.Contains(err.Error(), "by "+who) {
				t.Errorf("%d was told %v, and %s was first", i, err, who)
			}
		}
	}
}

// A gate that answers is too late if somebody else did meanwhile.
func TestAnAnswerFromOutsideWinsOverAGateThatComesLater(t *testing.T) {
	l := newLab(t, "")
	l.person.answers = []string{"allow"}
	l.person.seen = func(q operation.Question) {
		if err := l.say(q.ID, operation.Answer{Verb: "deny", Who: "you", Reason: "no"}); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "done", l.goesOn(`a shell {} policy=ask`), []string{"a rejected not_started by=you code=denied reason=no"})
	same(t, "ran", l.ran, []string(nil))
}

func TestWhatWasApprovedIsWhatRuns(t *testing.T) {
	const calls = `a write {"path":"p","content":"new"} policy=ask`
	for name, c := range map[string]struct {
		edit    []payload.Field
		changes map[string]string // while the question waits
		again   string            // the second question
		wrote   string
	}{
		"nothing changed":                       {nil, nil, "", "new"},
		"another file changed":                  {nil, map[string]string{"q": "x"}, "", "new"},
		"the file changed":                      {nil, map[string]string{"p": "theirs"}, "a May write run? new (what it would write changed since this was asked)", "new"},
		"an edit":                               {edit(`{"path":"p","content":"mine"}`), nil, "", "mine"},
		"an edit, and the file changed":         {edit(`{"path":"p","content":"mine"}`), map[string]string{"p": "theirs"}, "a May write run? mine (what it would write changed since this was asked)", "mine"},
		"an edit to another file that is there": {edit(`{"path":"q","content":"mine"}`), map[string]string{"q": "theirs"}, "", "mine"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, "")
			l.files["p"] = "old"
			q := l.parked(calls)
			for path, content := range c.changes {
				l.files[path] = content
			}
			if err := l.say(q.ID, operation.Answer{Verb: "allow", Who: "you", Edit: c.edit}); err != nil {
				t.Fatal(err)
			}
			if c.again != "" {
				second := l.parked(calls)
				same(t, "asked", l.person.asked[1], c.again)
				same(t, "id", second.ID, "a/q2")
				same(t, "ran", l.ran, []string(nil))
				if err := l.say(q.ID, operation.Answer{Verb: "allow"}); !errors.Is(err, operation.ErrAnswered) {
					t.Errorf("the first question: %v", err)
				}
				if err := l.say(second.ID, operation.Answer{Verb: "allow", Who: "you"}); err != nil {
					t.Fatal(err)
				}
			}
			same(t, "done", l.goesOn(calls), []string{`a finished succeeded effective="raw a" by=you write=` + c.wrote})
		})
	}
}

func TestAGuardAsksAboutAnEdit(t *testing.T) {
	const calls = `a shell {"n":1}`
	l := newLab(t, `
hook(id = "guard", version = "1", run = lambda ctx, call: ask("run with %d?" % call.arguments["n"]), point = "tool.confirm", guard = True)
`)
	q := l.parked(calls)
	if err := l.say(q.ID, operation.Answer{Verb: "allow", Edit: edit(`{"n":2}`)}); err != nil {
		t.Fatal(err)
	}
	second := l.parked(calls)
	if err := l.say(second.ID, operation.Answer{Verb: "allow", Who: "you"}); err != nil {
		t.Fatal(err)
	}
	same(t, "done", l.goesOn(calls), []string{`a finished succeeded effective="raw a" by=you`})
	same(t, "asked", l.person.asked, []string{"a run with 1?", "a run with 2? (a guard asks about the edit)"})
	same(t, "ran", l.ran, []string{`a {"n":2}`})
}

func TestAllowForCountsTheQuestionsOfTheSession(t *testing.T) {
	const calls = `
		a shell {"n":1} policy=ask
		b shell {"n":2} policy=ask
		no shell {"n":3} policy=ask
		free shell {}
		c other {"n":4} policy=ask
		d shell {"n":5} policy=ask`
	for name, c := range map[string]struct {
		said  int
		asked []string
		by    []string
	}{
		"one more": {1, []string{"a", "c", "d"}, []string{"me", "allowed for 1", "project/guard", "", "me", "me"}},
		"two more": {2, []string{"a", "d"}, []string{"me", "allowed for 2", "project/guard", "", "allowed for 2", "me"}},
		"always":   {operation.Always, []string{"a"}, []string{"me", "allowed always", "project/guard", "", "allowed always", "allowed always"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, `
hook(id = "guard", version = "1", run = lambda ctx, call: deny("never") if call.arguments.get("n") == 3 else None, point = "tool.confirm", guard = True)
`)
			l.person.always = map[string]string{"a": fmt.Sprint("for ", c.said), "c": "allow", "d": "allow"}
			done, err := l.batch(l.session("r"), parseCalls(t, calls)...)
			if err != nil {
				t.Fatal(err)
			}
			var by, asked []string
			for _, d := range done {
				by = append(by, d.By)
			}
			for _, line := range l.person.asked {
				asked = append(asked, idOf(line))
			}
			same(t, "by", by, c.by)
			same(t, "asked", asked, c.asked)
			same(t, "what was denied", done[2].Reason, "never")
		})
	}
}

// What is left of an allowance is durable: a later run of the session goes on with it.
func TestAnAllowanceOutlivesTheProcess(t *testing.T) {
	l := newLab(t, "")
	l.person.answers = []string{"for 2"}
	l.goesOn(`a shell {} policy=ask`)
	l.goesOn(`b shell {} policy=ask`)
	same(t, "cell", l.cell(operation.AllowanceCell), `{"of":2,"left":1,"by":"me","question":"a/q1"}`)
	l.goesOn(`c shell {} policy=ask`)
	same(t, "asked", len(l.person.asked), 1)
	l.parked(`d shell {} policy=ask`)
}

func TestAQuestionThatNobodyAnswersInTimeIsDenied(t *testing.T) {
	const calls = `
		a shell {} policy=ask
		b shell {}`
	want := []string{"a rejected not_started by=questions.timeout code=denied reason=nobody_answered_in_24h", `b finished succeeded effective="raw b"`}
	for name, settle := range map[string]func(l *lab){
		"somebody looks": func(l *lab) {
			if _, late, err := l.rt.Runner().Expire(t.Context(), "a/q1"); err != nil || !late {
				t.Errorf("late %v, %v", late, err)
			}
			same(t, "answers", len(rowsOf[operation.AnswerRow](l, "a")), 1)
		},
		"the run is resumed": func(*lab) {},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, "")
			l.parked(calls)
			l.later = 24*time.Hour - 1
			l.parked(calls) // there is time left
			if _, late, err := l.rt.Runner().Expire(t.Context(), "a/q1"); err != nil || late {
				t.Errorf("late %v, %v", late, err)
			}
			l.later = 24 * time.Hour
			l.person.answers = []string{"allow"} // too late
			settle(l)
			same(t, "done", l.goesOn(calls), want)
			same(t, "ran", l.ran, []string{"b"})
		})
	}
}
