package daemon

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agentd/internal/api"
	"agentd/internal/model/modeltest"
	"agentd/operation"
)

// later is a clock that a test moves.
type later struct {
	mu   sync.Mutex
	past time.Duration
}

// Now implements operation.Clock.
func (c *later) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC).Add(c.past)
}

func (c *later) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.past += d
}

// parked starts a run that nobody reads along, and returns the question that it waits with.
func (h *host) parked(q api.StartRun) operation.Question {
	h.l.t.Helper()
	last := h.run(q).end()
	if text(last, "type") != "run.waiting" {
		h.l.t.Fatalf("it ended with %s", last)
	}
	open, err := h.Questions(h.l.t.Context())
	if err != nil {
		h.l.t.Fatal(err)
	}
	i := slices.IndexFunc(open, func(o operation.Question) bool { return o.RunID == text(last, "run_id") })
	if i < 0 {
		h.l.t.Fatalf("its question isn't open: %+v", open)
	}
	if !strings.Contains(text(last, "reason"), open[i].ID) {
		h.l.t.Errorf("it doesn't say what it waits for: %s", last)
	}
	return open[i]
}

func TestAnswerResumesTheRunThatWaits(t *testing.T) {
	l := newLab(t)
	m := l.model("ask", shell("c1", "echo one >> witness"), say("Done."))
	h := l.published()
	q := h.parked(api.StartRun{Task: "do it"})
	if l.read("witness") != "" {
		t.Error("the tool ran already")
	}
	all := h.listen()
	got, err := h.Answer(t.Context(), q.ID, api.Answer{Verb: "allow"})
	if err != nil || !got.Resumed || got.RunID != q.RunID || got.Question != q.ID {
		t.Errorf("%+v, %v", got, err)
	}
	if told := all.until("question.answered"); text(told, "question") != q.ID || text(told, "verb") != "allow" || text(told, "who") != "a person" {
		t.Errorf("told: %s", told)
	}
	all.until("run.completed")
	if l.read("witness") != "one\n" || len(m.Requests()) != 2 {
		t.Errorf("the tool wrote %q, the model was asked %d times", l.read("witness"), len(m.Requests()))
	}
}

func TestEditThatTheToolDoesNotTakeIsRefusedAndTheQuestionStays(t *testing.T) {
	l := newLab(t)
	l.model("ask", shell("c1", "echo one >> witness"), say("Done."))
	h := l.published()
	q := h.parked(api.StartRun{Task: "do it"})
	for what, bad := range map[string]api.Answer{
		`there is no argument "kommand"`:  {Verb: "allow", Edit: parse(t, `{"kommand":"ls"}`)},
		"command is missing":              {Verb: "allow", Edit: parse(t, `{}`)},
		"want the arguments as an object": {Verb: "allow", Edit: parse(t, `[]`)},
		`an edit comes with "deny"`:       {Verb: "deny", Edit: parse(t, `{"command":"ls"}`)},
		`for is 1 with "deny"`:            {Verb: "deny", For: 1},
		`for is -2`:                       {Verb: "allow", For: -2},
		`a value comes with "allow"`:      {Verb: "allow", Value: parse(t, `1`)},
	} {
		if _, err := h.Answer(t.Context(), q.ID, bad); !errors.Is(err, api.ErrInvalid) || !strings.Contains(err.Error(), what) {
			t.Errorf("%+v: %v, want %q", bad, err, what)
		}
	}
	if open, err := h.Questions(t.Context()); err != nil || len(open) != 1 || open[0].ID != q.ID {
		t.Errorf("open: %+v, %v", open, err)
	}
	all := h.listen()
	if _, err := h.Answer(t.Context(), q.ID, api.Answer{Verb: "allow", Edit: parse(t, `{"command":"echo two >> witness"}`)}); err != nil {
		t.Fatal(err)
	}
	all.until("run.completed")
	if l.read("witness") != "two\n" {
		t.Errorf("the tool wrote %q", l.read("witness"))
	}
}

func TestQuestionThatNobodyAnswersInTimeIsDenied(t *testing.T) {
	for name, comes := range map[string]func(l *lab, h *host, o Options) *host{
		"while the daemon serves": func(l *lab, h *host, o Options) *host {
			if err := h.d.expire(l.t.Context()); err != nil { // as it does every minute
				l.t.Error(err)
			}
			return h
		},
		"while no daemon is there": func(l *lab, h *host, o Options) *host {
			h.stop()
			o.clock.(*later).pass(time.Hour)
			return l.serve(o)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			m := l.model("ask", shell("c1", "echo one >> witness"), say("Done."))
			clock := &later{}
			l.env["AGENTD_QUESTIONS_TIMEOUT"] = "1h"
			o := l.options()
			o.clock = clock
			h := l.serve(o)
			l.publish(h, api.Publish{})
			q := h.parked(api.StartRun{Task: "do it"})
			if want := q.AskedAt.Add(time.Hour); !q.ExpiresAt.Equal(want) {
				t.Errorf("it expires at %v, want %v", q.ExpiresAt, want)
			}
			if name == "while the daemon serves" {
				clock.pass(time.Hour - time.Millisecond)
				if err := h.d.expire(t.Context()); err != nil {
					t.Error(err)
				}
				if open, err := h.Questions(t.Context()); err != nil || len(open) != 1 {
					t.Errorf("before its time: %v, %v", open, err)
				}
				clock.pass(time.Millisecond)
				if _, err := h.Answer(t.Context(), q.ID, api.Answer{Verb: "allow"}); !errors.Is(err, api.ErrNotFound) || !strings.Contains(err.Error(), "expired") {
					t.Errorf("an answer that comes too late: %v", err)
				}
			}
			h = comes(l, h, o)
			h.settles(q.RunID, "completed")
			if l.read("witness") != "" || !strings.Contains(string(m.Requests()[1]), "nobody answered in 1h") {
				t.Errorf("the tool wrote %q, the model was told %s", l.read("witness"), m.Requests()[1])
			}
		})
	}
}

// settles waits until a run that goes on has come to its end.
func (h *host) settles(run, status string) {
	h.l.t.Helper()
	h.d.runs.mu.Lock()
	a := h.d.runs.active[run]
	h.d.runs.mu.Unlock()
	if a != nil {
		<-a.done
	}
	if got, err := h.Run(h.l.t.Context(), run); err != nil || got.Status != status {
		h.l.t.Errorf("the run is %+v, %v, want %s", got, err, status)
	}
}

// A daemon that died between an answer and what follows takes the run up when it is started again.
func TestAnsweredRunIsTakenUpByTheNextDaemon(t *testing.T) {
	l := newLab(t)
	l.model("ask", shell("c1", "echo one >> witness"), say("Done."))
	h := l.published()
	q := h.parked(api.StartRun{Task: "do it"})
	if _, err := h.d.rt.Runner().Answer(t.Context(), q.ID, operation.Answer{Verb: operation.Allow, Who: "me"}); err != nil { // and no more
		t.Fatal(err)
	}
	if got, err := h.Run(t.Context(), q.RunID); err != nil || got.Status != "interrupted" {
		t.Errorf("it is %+v, %v", got, err)
	}
	h.stop()
	h = l.serve(l.options())
	h.settles(q.RunID, "completed")
	if l.read("witness") != "one\n" {
		t.Errorf("the tool wrote %q", l.read("witness"))
	}
}

func TestSessionThatWaitsTakesNoOtherRun(t *testing.T) {
	l := newLab(t)
	l.model("ask", shell("c1", "echo one >> witness"), say("Done."), say("More."))
	h := l.published()
	q := h.parked(api.StartRun{Task: "do it", Session: "s"})
	err := h.StartRun(t.Context(), api.StartRun{Task: "more", Session: "s"}, func(api.Event) {})
	if !errors.Is(err, api.ErrBusy) || !strings.Contains(err.Error(), "the session s waits for a person in its run "+q.RunID) {
		t.Errorf("a second run: %v", err)
	}
	if err := h.CancelRun(t.Context(), q.RunID); err != nil {
		t.Fatal(err)
	}
	if open, err := h.Questions(t.Context()); err != nil || len(open) != 0 {
		t.Errorf("open: %v, %v", open, err)
	}
	if _, err := h.Answer(t.Context(), q.ID, api.Answer{Verb: "allow"}); !errors.Is(err, api.ErrNotFound) || !strings.Contains(err.Error(), "has ended (cancelled)") {
		t.Errorf("an answer: %v", err)
	}
	if last := h.run(api.StartRun{Task: "more", Session: "s"}).end(); text(last, "type") != "run.completed" {
		t.Errorf("it ended with %s", last)
	}
	if l.read("witness") != "" {
		t.Errorf("the tool wrote %q", l.read("witness"))
	}
}

// Answers and readers that go away, all at once: the run always goes on, and the tool runs once.
func TestAnswerThatComesWhileTheRunIsParkedIsNotLost(t *testing.T) {
	for range 20 {
		l := newLab(t)
		m := l.model("ask", shell("c1", "echo one >> witness"), say("Done."))
		h := l.published()
		f := h.run(api.StartRun{Task: "do it", Interactive: true})
		q := f.until("question")
		var wg sync.WaitGroup
		var err error
		wg.Go(f.cancel)
		wg.Go(func() { _, err = h.Answer(t.Context(), text(q, "question", "id"), api.Answer{Verb: "allow"}) })
		wg.Wait()
		if err != nil {
			t.Fatal(err)
		}
		<-m.Asked()
		<-m.Asked() // the second request follows the answer
		h.stop()
		if l.read("witness") != "one\n" {
			t.Fatalf("the tool wrote %q", l.read("witness"))
		}
	}
}

func TestChangeOfAFileIsShownAsADifference(t *testing.T) {
	l := newLab(t)
	l.put(l.places.Project+"/notes.txt", "a\nb\nc\n")
	l.model("ask", modeltest.Turn{Calls: []modeltest.Call{{ID: "c1", Name: "write_file", Arguments: `{"path":"notes.txt","content":"a\nB\nc\n"}`}}}, say("Done."))
	h := l.published()
	q := h.parked(api.StartRun{Task: "do it"})
	want := "--- a/notes.txt\n+++ b/notes.txt\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"
	if q.Preview != want {
		t.Errorf("shown is\n%s\nwant\n%s", q.Preview, want)
	}

	// It changes while the question waits: the person is asked about what would be written now.
	l.put(l.places.Project+"/notes.txt", "a\nb\nc\nd\n")
	all := h.listen()
	if _, err := h.Answer(t.Context(), q.ID, api.Answer{Verb: "allow"}); err != nil {
		t.Fatal(err)
	}
	again := all.until("question").Get("question")
	if text(again, "id") != operation.QuestionID(q.OpID, 1) || !strings.Contains(text(again, "preview"), "-d\n") || text(again, "again") == "" {
		t.Errorf("asked again: %s", again)
	}
	all.until("run.waiting")
	if l.read("notes.txt") != "a\nb\nc\nd\n" {
		t.Errorf("the file is %q", l.read("notes.txt"))
	}
	if _, err := h.Answer(t.Context(), text(again, "id"), api.Answer{Verb: "allow"}); err != nil {
		t.Fatal(err)
	}
	all.until("run.completed")
	if l.read("notes.txt") != "a\nB\nc\n" {
		t.Errorf("the file is %q", l.read("notes.txt"))
	}
}
