package agentd_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"agentd"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/operation"
	"agentd/operation/journaltest"
	"agentd/revision"
)

// embedding is a host that asks.
type embedding struct {
	t       *testing.T
	rt      *agentd.Runtime
	journal *journaltest.Memory
	now     time.Time
	gate    func(operation.Question) (operation.Answer, error)
	hook    func(*hookpoints.Call) []hookpoints.Decision
	guard   func(*hookpoints.Call) []hookpoints.Decision
}

// Now, Nanos and Ask make it its own clocks and gate.
func (e *embedding) Now() time.Time { return e.now }
func (e *embedding) Nanos() int64   { return 0 }
func (e *embedding) Ask(_ context.Context, q operation.Question) (operation.Answer, error) {
	if e.gate == nil {
		return operation.Answer{}, operation.ErrWaiting
	}
	return e.gate(q)
}

func newEmbedding(t *testing.T, change ...func(*agentd.Options)) *embedding {
	t.Helper()
	e := &embedding{t: t, journal: journaltest.NewMemory(), now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}
	of := func(run *func(*hookpoints.Call) []hookpoints.Decision) func(context.Context, *hookpoints.Call) ([]hookpoints.Decision, error) {
		return func(_ context.Context, c *hookpoints.Call) ([]hookpoints.Decision, error) {
			if *run == nil {
				return nil, nil
			}
			return (*run)(c), nil
		}
	}
	o := agentd.Options{Clock: e, Monotonic: e, Journal: e.journal, Gate: e, Vault: agentd.NewVault(), Hooks: []agentd.GoHook{
		{ID: "h", Version: "1", Points: []string{"elicit"}, ReplaySafe: true, Run: of(&e.hook)},
		{ID: "g", Version: "1", Points: []string{"elicit"}, ReplaySafe: true, Guard: true, Run: of(&e.guard)},
	}}
	for _, c := range change {
		c(&o)
	}
	var err error
	if e.rt, err = agentd.Open(o); err != nil {
		t.Fatal(err)
	}
	l, err := e.rt.Build(t.Context(), hookpoints.Shipped, nil, nil)
	if err == nil {
		_, err = e.rt.Serve(t.Context(), []*revision.Layer{l})
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// elicit asks in a session that knows what is saved.
func (e *embedding) elicit(question string) (agentd.Reply, error) {
	e.t.Helper()
	q, err := agentd.ParseQuestion(parsed(e.t, question))
	if err != nil {
		return agentd.Reply{}, err
	}
	s, err := e.rt.Session(e.t.Context(), "s")
	if err == nil {
		err = s.Resume(e.t.Context(), "r")
	}
	if err != nil {
		e.t.Fatal(err)
	}
	reply, err := e.rt.Elicit(e.t.Context(), s, operation.Head{ID: "mine", RunID: "r", SessionID: "s", Revisions: e.rt.Serving().Triple}, q)
	if err == nil {
		err = s.Flush(e.t.Context())
	}
	return reply, err
}

func parsed(t *testing.T, text string) payload.Value {
	t.Helper()
	v, err := payload.ParseString(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// answer answers from outside, as a host's own interface would.
func (e *embedding) answer(id, question, value string) error {
	e.t.Helper()
	q, err := agentd.ParseQuestion(parsed(e.t, question))
	if err != nil {
		e.t.Fatal(err)
	}
	sealed, err := e.rt.SealAnswer("s", q, parsed(e.t, value))
	if err != nil {
		return err
	}
	_, err = e.rt.Runner().Answer(e.t.Context(), id, operation.Answer{Verb: operation.Respond, Value: sealed, Who: "you"})
	return err
}

const which = `{"kind":"choice","prompt":"Which?","options":["a","b"]}`

func TestAHostsQuestionWaitsUntilItIsAnswered(t *testing.T) {
	e := newEmbedding(t)
	for range 2 {
		if _, err := e.elicit(which); !errors.Is(err, operation.ErrWaiting) || !strings.Contains(err.Error(), "mine/e1/q1") {
			t.Fatal(err)
		}
	}
	if err := e.answer("mine/e1/q1", which, `"c"`); !errors.Is(err, operation.ErrAnswer) {
		t.Error(err)
	}
	if _, err := e.rt.Runner().Answer(t.Context(), "mine/e1/q1", operation.Answer{Verb: operation.Allow}); !errors.Is(err, operation.ErrAnswer) {
		t.Error(err)
	}
	if err := e.answer("mine/e1/q1", which, `"b"`); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it is recalled
		got, err := e.elicit(which)
		if err != nil || got.Answer.String() != `"b"` || got.Declined || got.By != "you" {
			t.Errorf("%+v, %v", got, err)
		}
	}
	rows, err := e.journal.Rows(t.Context(), "mine/e1")
	if err != nil {
		t.Fatal(err)
	}
	if sum := operation.Summarise(rows); sum.State != operation.Responded || !sum.Whole || sum.Head.Kind != "elicit" || sum.Head.Parent != "mine" {
		t.Errorf("%+v", sum)
	}
}

func TestWhatDeclinesAQuestion(t *testing.T) {
	reject := func(*hookpoints.Call) []hookpoints.Decision {
		return []hookpoints.Decision{{Verb: hookpoints.Reject, Text: "not now", Name: "rejected"}}
	}
	for name, c := range map[string]struct {
		set        func(e *embedding)
		reason, by string
	}{
		"a hook":   {func(e *embedding) { e.hook = reject }, "not now", "shipped/h"},
		"a guard":  {func(e *embedding) { e.guard = reject }, "not now", "shipped/g"},
		"a person": {func(e *embedding) { e.gate = denies }, "busy", "you"},
		"a guard after the answer": {func(e *embedding) {
			e.gate = func(operation.Question) (operation.Answer, error) {
				e.guard = reject
				return operation.Answer{Verb: operation.Respond, Value: payload.NewString("a"), Who: "you"}, nil
			}
		}, "not now", "shipped/g"},
		"time": {func(e *embedding) {
			if _, err := e.elicit(which); !errors.Is(err, operation.ErrWaiting) {
				e.t.Fatal(err)
			}
			e.now = e.now.Add(24 * time.Hour)
		}, "nobody answered in 24h", "questions.timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEmbedding(t)
			c.set(e)
			for range 2 {
				got, err := e.elicit(which)
				if err != nil || !got.Declined || got.Answer.Exists() || got.Reason != c.reason || got.By != c.by {
					t.Errorf("%+v, %v", got, err)
				}
			}
		})
	}
}

func denies(operation.Question) (operation.Answer, error) {
	return operation.Answer{Verb: operation.Deny, Reason: "busy", Who: "you"}, nil
}

func TestAGatesAnswerThatDoesntFitIsntSaved(t *testing.T) {
	for name, a := range map[string]operation.Answer{
		"no option":      {Verb: operation.Respond, Value: payload.NewString("c")},
		"nothing":        {Verb: operation.Respond},
		"another verb":   {Verb: operation.Allow},
		"a plain secret": {Verb: operation.Respond, Value: payload.NewString("hunter22")},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEmbedding(t)
			question := which
			if name == "a plain secret" {
				question = `{"kind":"secret","prompt":"Key?"}`
			}
			e.gate = func(operation.Question) (operation.Answer, error) { return a, nil }
			if _, err := e.elicit(question); !errors.Is(err, operation.ErrAnswer) || strings.Contains(err.Error(), "hunter22") {
				t.Error(err)
			}
			e.gate = denies // it is still open
			if got, err := e.elicit(question); err != nil || got.Reason != "busy" {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestQuestionsThatCantBeAsked(t *testing.T) {
	alone := newEmbedding(t, func(o *agentd.Options) { o.Gate = nil })
	if got, err := alone.elicit(which); err != nil || !got.Declined || got.Reason != "nobody can be asked" {
		t.Errorf("%+v, %v", got, err)
	}
	open := newEmbedding(t, func(o *agentd.Options) { o.Vault = nil })
	if _, err := open.elicit(`{"kind":"secret","prompt":"Key?"}`); !errors.Is(err, agentd.ErrNoVault) {
		t.Error(err)
	}
	e := newEmbedding(t)
	s, err := e.rt.Session(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.rt.Elicit(t.Context(), s, operation.Head{ID: "mine", SessionID: "s"}, agentd.Question{Kind: "choice", Prompt: "Which?"}); err == nil || !strings.Contains(err.Error(), "between 1 and 100 options") {
		t.Error(err)
	}
	if _, err := e.rt.Elicit(t.Context(), s, operation.Head{ID: strings.Repeat("x", 20000), SessionID: "s"}, agentd.Question{Kind: "text", Prompt: "Why?"}); err == nil || len(err.Error()) > 300 {
		t.Error(err)
	}
	if n := e.journal.Commits(); n != 0 {
		t.Errorf("%d commits", n)
	}
}

func TestAHostsSecretIsAskedForAgainOnceItsVaultIsGone(t *testing.T) {
	const key = `{"kind":"form","prompt":"Who?","fields":[{"name":"user","kind":"text"},{"name":"key","kind":"secret"}]}`
	e := newEmbedding(t)
	if _, err := e.elicit(key); !errors.Is(err, operation.ErrWaiting) {
		t.Fatal(err)
	}
	if err := e.answer("mine/e1/q1", key, `{"user":"me","key":"hunter22"}`); err != nil {
		t.Fatal(err)
	}
	e.rt.Vault().ForgetSession("s")
	if _, err := e.elicit(key); !errors.Is(err, operation.ErrWaiting) || !strings.Contains(err.Error(), "mine/e2/q1") {
		t.Fatal(err)
	}
	if err := e.answer("mine/e2/q1", key, `{"user":"me","key":"hunter22"}`); err != nil {
		t.Fatal(err)
	}
	got, err := e.elicit(key)
	if err != nil || got.Answer.Get("user").Text() != "me" || !e.rt.Vault().Opens("s", got.Answer.Get("key").Text()) {
		t.Errorf("%+v, %v", got, err)
	}
}
