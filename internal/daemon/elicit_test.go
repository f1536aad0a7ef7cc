package daemon

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentd/hookpoints/payload"
	"agentd/internal/api"
	"agentd/internal/model/modeltest"
	"agentd/operation"
	"agentd/store"
)

// asksFor is a turn in which the model asks.
func asksFor(question string) modeltest.Turn {
	return modeltest.Turn{Calls: []modeltest.Call{{ID: "a1", Name: "ask", Arguments: question}}}
}

// uses is a turn in which the model uses the handle that it was told last.
func uses(id, tool, arguments string) modeltest.Turn {
	return modeltest.Turn{Calls: []modeltest.Call{{ID: id, Name: tool, Arguments: arguments, Take: `secret:value:[a-z2-7]{16}`}}}
}

// asked parks a run at its question.
func (h *host) asked() (run string, q operation.Question) {
	h.l.t.Helper()
	last := h.run(api.StartRun{Task: "do it"}).end()
	if text(last, "type") != "run.waiting" {
		h.l.t.Fatalf("it ended with %s", last)
	}
	open, err := h.Questions(h.l.t.Context())
	if err != nil || len(open) != 1 {
		h.l.t.Fatalf("open are %+v, %v", open, err)
	}
	return text(last, "run_id"), open[0]
}

func TestAnAnswerFromOutsideIsCheckedAndTheRunGoesOn(t *testing.T) {
	l := newLab(t)
	m := l.model("allow", asksFor(`{"kind":"choice","prompt":"Which branch?","options":["main","next"]}`), say("Done."))
	h := l.published()
	run, q := h.asked()
	if q.Kind != "choice" || q.Prompt != "Which branch?" || q.Arguments.Get("options").String() != `["main","next"]` || q.RunID != run {
		t.Errorf("the question is %+v", q)
	}
	for _, c := range []struct {
		answer api.Answer
		want   string
	}{
		{api.Answer{Verb: "respond", Value: parse(t, `"Main"`)}, `want one of "main", "next"`},
		{api.Answer{Verb: "respond"}, "there is none"},
		{api.Answer{Verb: "allow"}, `the verb is "allow", want respond or deny`},
		{api.Answer{Verb: "deny", Value: parse(t, `"main"`)}, "a value comes with"},
		{api.Answer{Verb: "respond", Value: parse(t, `"main"`), For: 2}, "for is 2"},
	} {
		if _, err := h.Answer(t.Context(), q.ID, c.answer); !errors.Is(err, api.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.answer, err, c.want)
		}
	}
	if open, err := h.Questions(t.Context()); err != nil || len(open) != 1 {
		t.Errorf("open is %v, %v", open, err)
	}
	all := h.listen()
	got, err := h.Answer(t.Context(), q.ID, api.Answer{Verb: "respond", Value: parse(t, `"next"`)})
	if err != nil || !got.Resumed || got.RunID != run {
		t.Fatalf("%+v, %v", got, err)
	}
	all.until("run.completed")
	if last := string(m.Requests()[1]); !strings.Contains(last, `{\"answer\":\"next\"}`) {
		t.Error(last)
	}
	if _, err := h.Answer(t.Context(), q.ID, api.Answer{Verb: "respond", Value: parse(t, `"main"`)}); !errors.Is(err, api.ErrBusy) {
		t.Errorf("a second answer: %v", err)
	}
}

func TestADeclinedQuestionIsToldToTheModel(t *testing.T) {
	l := newLab(t)
	m := l.model("allow", asksFor(`{"kind":"text","prompt":"Why?"}`), say("Done."))
	h := l.published()
	_, q := h.asked()
	all := h.listen()
	if _, err := h.Answer(t.Context(), q.ID, api.Answer{Verb: "deny", Reason: "ask me later"}); err != nil {
		t.Fatal(err)
	}
	all.until("run.completed")
	if last := string(m.Requests()[1]); !strings.Contains(last, `{\"declined\":true,\"reason\":\"ask me later\"}`) {
		t.Error(last)
	}
}

func TestYesAnswersAYesOrNoAndNothingElse(t *testing.T) {
	l := newLab(t)
	m := l.model("ask", asksFor(`{"kind":"confirmation","prompt":"Sure?"}`), asksFor(`{"kind":"text","prompt":"Why?"}`))
	h := l.published()
	if last := h.run(api.StartRun{Task: "do it", Yes: true}).end(); text(last, "type") != "run.waiting" {
		t.Errorf("it ended with %s", last)
	}
	if last := string(m.Requests()[1]); !strings.Contains(last, `{\"answer\":true}`) {
		t.Error(last)
	}
}

const key = "hunter22 'n\" $x"

func TestASecretLeavesTheDaemonByItsToolsOnly(t *testing.T) {
	l := newLab(t)
	m := l.model("allow", asksFor(`{"kind":"secret","prompt":"Key?"}`),
		uses("c1", "shell", `{"command":"printf %s \"TAKEN\" > got.txt; cat got.txt; echo \"err TAKEN\" >&2; exit 3"}`),
		uses("c2", "write_file", `{"path":"out.txt","content":"key=TAKEN\n"}`),
		uses("c3", "read_file", `{"path":"out.txt"}`), say("Done."))
	l.project("hooks/tell.star", `
def tell(ctx, call):
    print(call.value)
    return annotate(saw = json.encode(call.value))

hook(id = "tell", version = "v1", run = tell, point = "tool.after")
hook(id = "file", version = "v1", run = lambda ctx, call: context("it holds " + str(ctx.facts["file:out.txt"])), point = "step.after", facts = ["file:out.txt"])
`)
	l.project("agentd.yaml", l.read(".agentd/agentd.yaml")+"facts: {allow: [\"file:**\"]}\n")
	h := l.published()
	all := h.listen()
	_, q := h.asked()
	if _, err := h.Answer(t.Context(), q.ID, api.Answer{Verb: "respond", Value: parse(t, `"abc"`)}); !errors.Is(err, api.ErrInvalid) || strings.Contains(err.Error(), "abc") {
		t.Errorf("a short one: %v", err)
	}
	if _, err := h.Answer(t.Context(), q.ID, api.Answer{Verb: "respond", Value: payload.NewString(key)}); err != nil {
		t.Fatal(err)
	}
	all.until("run.completed")
	for name, want := range map[string]string{"got.txt": key, "out.txt": "key=" + key + "\n"} {
		if got := l.read(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	last := string(m.Requests()[len(m.Requests())-1])
	if !strings.Contains(last, `it holds key=secret:value:`) || !strings.Contains(last, `err secret:value:`) {
		t.Error(last)
	}
	for _, r := range m.Requests() {
		l.free("a request", string(r))
	}
	for _, e := range all.seen {
		l.free("event "+e.Type, string(e.Data))
	}
	l.free("the log", l.log.String())
	l.keepsNo(h.d.store)
}

// free looks for the secret, and for its beginning.
func (l *lab) free(where, text string) {
	l.t.Helper()
	if i := strings.Index(text, "hunter22"); i >= 0 {
		l.t.Errorf("%s holds it: ...%s", where, text[max(0, i-200):min(len(text), i+40)])
	}
}

// keepsNo looks for the secret in every row and large value of the store, and in the bytes of all files of the state.
func (l *lab) keepsNo(st *store.Store) {
	l.t.Helper()
	ops, err := st.Operations(l.t.Context(), store.Filter{})
	if err != nil || len(ops) < 5 {
		l.t.Fatal(ops, err)
	}
	for _, o := range ops {
		rows, err := st.Rows(l.t.Context(), o.Head.ID)
		if err != nil {
			l.t.Fatal(err)
		}
		for _, r := range rows {
			e, err := operation.EncodeRow(r)
			if err != nil {
				l.t.Fatal(err)
			}
			l.free(o.Head.ID, string(e.Body))
			for _, b := range e.Blobs {
				l.free("a large value of "+o.Head.ID, string(b.Text))
			}
		}
	}
	err = filepath.WalkDir(l.places.StateDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		l.free(path, string(text))
		return err
	})
	if err != nil {
		l.t.Fatal(err)
	}
}

func TestASecretThatWasLostIsAskedForAgain(t *testing.T) {
	l := newLab(t)
	l.model("allow", asksFor(`{"kind":"secret","prompt":"Key?"}`), uses("c1", "shell", `{"command":"printf %s \"TAKEN\" > got.txt"}`), say("Done."))
	h := l.published()
	run, q := h.asked()
	h.stop()
	// Answered by a daemon that dies before the run takes it.
	o := l.options()
	o.At = func(place string) {
		if place == "answer.elicit" {
			panic("dead")
		}
	}
	func() {
		d, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		defer func() { _ = recover() }()
		_, err = d.Answer(t.Context(), q.ID, api.Answer{Verb: "respond", Value: payload.NewString("hunter22-lost")})
		t.Fatal("it lives", err)
	}()
	h = l.serve(l.options())
	all := h.listen()
	again := h.open(run, q.ID)
	if _, err := h.Answer(t.Context(), again.ID, api.Answer{Verb: "respond", Value: payload.NewString(key)}); err != nil {
		t.Fatal(err)
	}
	all.until("run.completed")
	if got := l.read("got.txt"); got != key {
		t.Errorf("the tool got %q", got)
	}
	l.keepsNo(h.d.store)
}

// open waits until a run asks something else than before.
func (h *host) open(run, but string) operation.Question {
	h.l.t.Helper()
	for e := h.listen(); ; e.until("question") {
		list, err := h.Questions(h.l.t.Context())
		if err != nil {
			h.l.t.Fatal(err)
		}
		for _, q := range list {
			if q.RunID == run && q.ID != but {
				return q
			}
		}
	}
}

func TestASecretIsntTakenWhereItWouldBeLostAtOnce(t *testing.T) {
	l := newLab(t)
	l.model("allow", asksFor(`{"kind":"secret","prompt":"Key?"}`))
	h := l.published()
	run, q := h.asked()
	h.stop()
	err := Do(t.Context(), l.options(), func(c *Connection) error {
		_, err := c.Answer(t.Context(), q.ID, api.Answer{Verb: "respond", Value: payload.NewString(key)})
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "agentd runs resume "+run) {
		t.Error(err)
	}
	h = l.serve(l.options())
	if open, err := h.Questions(context.Background()); err != nil || len(open) != 1 {
		t.Error(open, err)
	}
	l.keepsNo(h.d.store)
}
