package daemon

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"agentd/internal/api"
	"agentd/internal/model/modeltest"
	"agentd/operation"
)

func (l *lab) publish(h *host, q api.Publish) api.Published {
	l.t.Helper()
	res, err := h.Publish(l.t.Context(), q)
	if err != nil {
		l.t.Fatal(err)
	}
	if len(res.Errors) > 0 {
		l.t.Fatalf("not published: %v", res.Errors)
	}
	return res
}

// published serves a project whose working files are published.
func (l *lab) published() *host {
	l.t.Helper()
	h := l.serve(l.options())
	l.publish(h, api.Publish{})
	return h
}

func TestRunIsStreamedToItsEnd(t *testing.T) {
	l := newLab(t)
	l.model("allow", shell("c1", "echo one >> witness"), say("All ", "done."))
	h := l.published()
	f := h.run(api.StartRun{Task: "do it"})
	last := f.end()
	if text(last, "type") != "run.completed" || text(last, "answer") != "All done." {
		t.Errorf("it ended with %s", last)
	}
	got := strings.Join(kinds(f.seen), " ")
	if want := "run.started model.completed tool.started tool.completed model.delta model.delta model.completed run.completed"; got != want {
		t.Errorf("events:\n got %s\nwant %s", got, want)
	}
	if l.read("witness") != "one\n" {
		t.Errorf("the tool wrote %q", l.read("witness"))
	}
	runs, err := h.Runs(t.Context())
	if err != nil || len(runs) != 1 || runs[0].Status != "completed" || runs[0].Answer != "All done." || runs[0].Task != "do it" {
		t.Errorf("runs: %+v, %v", runs, err)
	}
}

func TestCleanEndInterruptsARunThatGoesOnLater(t *testing.T) {
	l := newLab(t)
	m := l.model("allow", shell("c1", "echo one >> witness"), modeltest.Turn{Hold: true})
	h := l.published()
	f := h.run(api.StartRun{Task: "do it"})
	run := text(f.until("run.started"), "run_id")
	<-m.Asked()
	<-m.Asked() // the second answer is held
	h.stop()
	if last := f.end(); text(last, "type") != "run.interrupted" || text(last, "run_id") != run {
		t.Errorf("it ended with %s", last)
	}
	m.Add(say("Done."))
	h = l.serve(l.options())
	if got, err := h.Run(t.Context(), run); err != nil || got.Status != "interrupted" {
		t.Errorf("after the restart it is %+v, %v", got, err)
	}
	// What was asked and never answered is asked again only if a person says so.
	if last := h.resume(run, api.ResumeRun{}).end(); text(last, "type") != "run.interrupted" || !strings.Contains(text(last, "reason"), "--retry-unknown-models") {
		t.Errorf("resumed without leave it ended with %s", last)
	}
	if last := h.resume(run, api.ResumeRun{RetryUnknownModels: true}).end(); text(last, "type") != "run.completed" || text(last, "answer") != "Done." {
		t.Errorf("resumed it ended with %s", last)
	}
	if l.read("witness") != "one\n" {
		t.Errorf("the tool wrote %q", l.read("witness"))
	}
	if err := h.ResumeRun(t.Context(), run, api.ResumeRun{}, func(api.Event) {}); err == nil || !strings.Contains(err.Error(), "is completed already; start a new one") {
		t.Errorf("resumed once more: %v", err)
	}
}

func TestCancelEndsARunForGood(t *testing.T) {
	l := newLab(t)
	m := l.model("allow", modeltest.Turn{Hold: true})
	h := l.published()
	f := h.run(api.StartRun{Task: "do it"})
	run := text(f.until("run.started"), "run_id")
	<-m.Asked()
	if err := h.CancelRun(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	if last := f.end(); text(last, "type") != "run.cancelled" {
		t.Errorf("it ended with %s", last)
	}
	if got, err := h.Run(t.Context(), run); err != nil || got.Status != "cancelled" {
		t.Errorf("it is %+v, %v", got, err)
	}
	if err := h.CancelRun(t.Context(), "run-nobody"); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("a run that isn't there: %v", err)
	}
}

func TestCancelEndsAParkedRun(t *testing.T) {
	l := newLab(t)
	m := l.model("allow", shell("c1", "echo one >> witness"), modeltest.Turn{Hold: true})
	h := l.published()
	f := h.run(api.StartRun{Task: "do it"})
	run := text(f.until("run.started"), "run_id")
	<-m.Asked()
	<-m.Asked()
	h.stop()
	f.end()
	h = l.serve(l.options())
	if err := h.CancelRun(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	if got, err := h.Run(t.Context(), run); err != nil || got.Status != "cancelled" {
		t.Errorf("it is %+v, %v", got, err)
	}
	if n := len(m.Requests()); n != 2 {
		t.Errorf("the model was asked %d times", n)
	}
}

func TestSessionHasOneRunAtATimeAndRemembersTheOthers(t *testing.T) {
	l := newLab(t)
	m := l.model("allow", say("I am first."), modeltest.Turn{Hold: true})
	h := l.published()
	if last := h.run(api.StartRun{Task: "one", Session: "s/1 ü"}).end(); text(last, "status") != "completed" {
		t.Fatalf("the first ended with %s", last)
	}
	f := h.run(api.StartRun{Task: "two", Session: "s/1 ü"})
	run := text(f.until("run.started"), "run_id")
	<-m.Asked()
	<-m.Asked()
	err := h.StartRun(t.Context(), api.StartRun{Task: "three", Session: "s/1 ü"}, func(api.Event) {})
	if !errors.Is(err, api.ErrBusy) || !strings.Contains(err.Error(), run) {
		t.Errorf("a second run at once: %v", err)
	}
	if err := h.ResumeRun(t.Context(), run, api.ResumeRun{}, func(api.Event) {}); !errors.Is(err, api.ErrBusy) {
		t.Errorf("taking up a run that goes on: %v", err)
	}
	request := string(m.Requests()[1])
	if !strings.Contains(request, "I am first.") || !strings.Contains(request, `"one"`) {
		t.Errorf("the second run doesn't know the first: %s", request)
	}
	if err := h.CancelRun(t.Context(), run); err != nil {
		t.Error(err)
	}
}

const asks = `
def ask_person(ctx, call):
    return ask("May " + call.name + " run?")

hook(id = "asks", version = "v1", run = ask_person, point = "tool.confirm")
`

func TestQuestions(t *testing.T) {
	deny := "echo one >> witness"
	for name, c := range map[string]struct {
		answer   api.Answer
		wrote    string
		told     string // to the model
		followed string
	}{
		"allow":              {api.Answer{Verb: "allow"}, "one\n", "", "tool.completed"},
		"deny with a reason": {api.Answer{Verb: "deny", Reason: "not on a Monday"}, "", "not on a Monday", "tool.rejected"},
		"deny":               {api.Answer{Verb: "deny"}, "", "a person said no", "tool.rejected"},
		"edit":               {api.Answer{Verb: "allow", Edit: parse(t, `{"command":"echo two >> witness"}`)}, "two\n", "", "tool.completed"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.project("hooks/asks.star", asks)
			m := l.model("deny", shell("c1", deny), say("Done."))
			h := l.published()
			f := h.run(api.StartRun{Task: "do it", Interactive: true})
			q := f.until("question").Get("question")
			open, err := h.Questions(t.Context())
			if err != nil || len(open) != 1 || open[0].ID != text(q, "id") || open[0].Prompt != "May shell run?" || open[0].Preview != deny {
				t.Errorf("open questions: %+v, %v", open, err)
			}
			for _, bad := range []api.Answer{{Verb: "perhaps"}, {}, {Verb: "allow", Edit: parse(t, `"text"`)}} {
				if _, err := h.Answer(t.Context(), text(q, "id"), bad); !errors.Is(err, api.ErrInvalid) {
					t.Errorf("the answer %+v: %v", bad, err)
				}
			}
			if _, err := h.Answer(t.Context(), "no/such", c.answer); !errors.Is(err, api.ErrNotFound) {
				t.Errorf("an answer to nothing: %v", err)
			}
			if _, err := h.Answer(t.Context(), text(q, "id"), c.answer); err != nil {
				t.Fatal(err)
			}
			rows, err := h.d.store.Rows(t.Context(), text(q, "operation_id")) // what is acknowledged is durable
			if err != nil || !slices.ContainsFunc(rows, func(r operation.Row) bool { _, ok := r.(operation.AnswerRow); return ok }) {
				t.Errorf("the answer isn't saved: %v, %v", rows, err)
			}
			f.until(c.followed)
			if last := f.end(); text(last, "status") != "completed" {
				t.Errorf("it ended with %s", last)
			}
			if _, err := h.Answer(t.Context(), text(q, "id"), c.answer); !errors.Is(err, api.ErrBusy) || !strings.Contains(err.Error(), "was answered with "+c.answer.Verb) {
				t.Errorf("a second answer: %v", err)
			}
			if l.read("witness") != c.wrote {
				t.Errorf("the tool wrote %q, want %q", l.read("witness"), c.wrote)
			}
			if !strings.Contains(string(m.Requests()[1]), c.told) {
				t.Errorf("the model wasn't told %q: %s", c.told, m.Requests()[1])
			}
		})
	}
}

func TestQuestionWaitsWhenItsReaderGoesAway(t *testing.T) {
	for name, leave := range map[string]string{"while it is open": "question", "before it is put": "run.started"} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			m := l.model("ask", shell("c1", "echo one >> witness"), say("Done."))
			h := l.published()
			all := h.listen()
			f := h.run(api.StartRun{Task: "do it", Interactive: true})
			run := text(f.until("run.started"), "run_id")
			if leave == "question" {
				f.until("question")
			}
			f.cancel()
			all.until("run.waiting")
			all.cancel()
			if got, err := h.Run(t.Context(), run); err != nil || got.Status != "waiting" {
				t.Errorf("it is %+v, %v", got, err)
			}
			if open, err := h.Questions(t.Context()); err != nil || len(open) != 1 || open[0].RunID != run {
				t.Errorf("open is %v, %v", open, err)
			}
			// Nobody there to ask: it waits on, and isn't denied.
			if last := h.resume(run, api.ResumeRun{}).end(); text(last, "type") != "run.waiting" {
				t.Errorf("resumed without a person: %s", last)
			}
			f = h.resume(run, api.ResumeRun{Interactive: true})
			q := f.until("question").Get("question")
			if _, err := h.Answer(t.Context(), text(q, "id"), api.Answer{Verb: "allow"}); err != nil {
				t.Fatal(err)
			}
			if last := f.end(); text(last, "status") != "completed" {
				t.Errorf("it ended with %s", last)
			}
			if l.read("witness") != "one\n" || len(m.Requests()) != 2 {
				t.Errorf("the tool wrote %q, the model was asked %d times", l.read("witness"), len(m.Requests()))
			}
		})
	}
}

func TestCancelTakesAQuestionBack(t *testing.T) {
	l := newLab(t)
	l.model("ask", shell("c1", "echo one >> witness"))
	h := l.published()
	f := h.run(api.StartRun{Task: "do it", Interactive: true})
	q := f.until("question")
	if err := h.CancelRun(t.Context(), text(q, "run_id")); err != nil {
		t.Fatal(err)
	}
	f.end()
	if _, err := h.Answer(t.Context(), text(q, "question", "id"), api.Answer{Verb: "allow"}); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("an answer after that: %v", err)
	}
	if l.read("witness") != "" {
		t.Errorf("the tool wrote %q", l.read("witness"))
	}
}

func TestYesAnswersQuestionsAndLiftsNoRejection(t *testing.T) {
	l := newLab(t)
	l.project("hooks/no.star", `
def no(ctx, call):
    if "two" in call.arguments.command:
        return reject("no two")

hook(id = "no", version = "v1", run = no, point = "tool.before", guard = True)
`)
	l.model("ask", shell("c1", "echo one >> witness"), shell("c2", "echo two >> witness"), say("Done."))
	h := l.published()
	f := h.run(api.StartRun{Task: "do it", Yes: true})
	if reason := text(f.until("tool.rejected"), "reason"); reason != "no two" {
		t.Errorf("rejected: %s", reason)
	}
	f.end()
	if l.read("witness") != "one\n" {
		t.Errorf("the tools wrote %q", l.read("witness"))
	}
}

func TestRunWhoseHooksCanNotBeLoadedAnyMoreSaysSo(t *testing.T) {
	l := newLab(t)
	l.unreplayable = "made for another agentd"
	m := l.model("allow", modeltest.Turn{Hold: true})
	h := l.published()
	f := h.run(api.StartRun{Task: "do it"})
	run := text(f.until("run.started"), "run_id")
	<-m.Asked()
	h.stop()
	f.end()
	l.sql(`DELETE FROM revision_files`, `DELETE FROM heads`)
	h = l.serve(l.options())
	err := h.ResumeRun(t.Context(), run, api.ResumeRun{}, func(api.Event) {})
	if err == nil || !strings.Contains(err.Error(), "pinned to hooks that can't be loaded any more") {
		t.Errorf("resume: %v", err)
	}
	var remote *api.RemoteError
	if !errors.As(err, &remote) || remote.Status != 409 {
		t.Errorf("with status %+v", remote)
	}
}

func TestDamagedRunDoesNotHideTheOthers(t *testing.T) {
	l := newLab(t)
	l.unreplayable = "ends too early"
	l.model("allow", say("One."), say("Two."))
	h := l.published()
	first := text(h.run(api.StartRun{Task: "one"}).end(), "run_id")
	second := text(h.run(api.StartRun{Task: "two"}).end(), "run_id")
	h.stop()
	l.sql(`UPDATE rows SET packed = 0, body = x'7b' WHERE op = (SELECT op FROM rows WHERE id = '` + first + `')`)
	h = l.serve(l.options())
	runs, err := h.Runs(t.Context())
	if err != nil || len(runs) != 2 {
		t.Fatalf("%+v, %v", runs, err)
	}
	if runs[0].RunID != first || runs[0].Status != Damaged || runs[0].Reason == "" {
		t.Errorf("the damaged one: %+v", runs[0])
	}
	if runs[1].RunID != second || runs[1].Status != "completed" {
		t.Errorf("the other: %+v", runs[1])
	}
	if ops, err := h.Operations(t.Context(), api.OperationFilter{Run: second}); err != nil || len(ops) == 0 || ops[0].State == operation.Unknown {
		t.Errorf("its operations: %+v, %v", ops, err)
	}
}

func TestAnswerThatCanNotBeSavedIsNotAcknowledged(t *testing.T) {
	l := newLab(t)
	l.model("ask", shell("c1", "echo one >> witness"))
	h := l.published()
	f := h.run(api.StartRun{Task: "do it", Interactive: true})
	q := f.until("question").Get("question")
	if err := h.d.store.Close(); err != nil { // as a full disk would, for what comes now
		t.Fatal(err)
	}
	if _, err := h.Answer(t.Context(), text(q, "id"), api.Answer{Verb: "allow"}); err == nil || !strings.Contains(err.Error(), "the question stays open") {
		t.Errorf("got %v", err)
	}
	f.cancel() // it would wait for another answer
	if l.read("witness") != "" {
		t.Errorf("the tool wrote %q", l.read("witness"))
	}
}
