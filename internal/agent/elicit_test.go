package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentd"
	"agentd/hookpoints/payload"
	"agentd/internal/agent"
	"agentd/internal/model"
	"agentd/operation"
	"agentd/operation/journaltest"
)

// asked is a turn in which the model asks, then says what it does with the answer.
func asked(question string, then ...string) string {
	return "turns: [{calls: [{name: ask, arguments: " + question + "}]}, " + strings.Join(append(then, "{text: Done.}"), ", ") + "]"
}

// says is a gate on which a person answers what comes next with a value, with text for "no", or, for absent, isn't there.
type replies struct {
	d       *desk
	answers []any // payload text, operation.Answer, or nil
	asked   []operation.Question
}

// Ask implements operation.Gate.
func (r *replies) Ask(_ context.Context, q operation.Question) (operation.Answer, error) {
	r.asked = append(r.asked, q)
	if len(r.answers) == 0 {
		return operation.Answer{}, operation.ErrWaiting
	}
	next := r.answers[0]
	r.answers = r.answers[1:]
	switch next := next.(type) {
	case operation.Answer:
		return next, nil
	case string:
		question, err := agentd.ParseQuestion(q.Arguments)
		if err != nil {
			r.d.t.Fatal(err)
		}
		sealed, err := r.d.rt.SealAnswer("s", question, parsed(next))
		if err != nil {
			r.d.t.Fatal(err)
		}
		return operation.Answer{Verb: operation.Respond, Who: "me", Value: sealed}, nil
	}
	return operation.Answer{}, operation.ErrWaiting
}

func TestTheModelIsToldWhatAPersonAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		hooks, question string
		answer          any
		want            string
		by              string
	}{
		"choice":        {"", `{kind: choice, prompt: Which, options: [a, b]}`, `"b"`, `{"answer":"b"}`, "me"},
		"multi":         {"", `{kind: multi, prompt: Which, options: [a, b]}`, `["b","a"]`, `{"answer":["b","a"]}`, "me"},
		"confirmation":  {"", `{kind: confirmation, prompt: Sure}`, `false`, `{"answer":false}`, "me"},
		"form":          {"", `{kind: form, prompt: Who, fields: [{name: user, kind: text}, {name: age, kind: validated, schema: {type: integer}}]}`, `{"user":"me","age":3}`, `{"answer":{"user":"me","age":3}}`, "me"},
		"declined":      {"", `{kind: text, prompt: Why}`, operation.Answer{Verb: "deny", Reason: "busy", Who: "me"}, `{"declined":true,"reason":"busy"}`, "me"},
		"hook answers":  {`hook(id = "h", version = "1", point = "elicit", run = lambda ctx, q: respond(q.options[0]))`, `{kind: choice, prompt: Which, options: [a, b]}`, nil, `{"answer":"a"}`, "project/h"},
		"hook declines": {`hook(id = "h", version = "1", point = "elicit", run = lambda ctx, q: reject("not here"))`, `{kind: text, prompt: Which}`, nil, `{"declined":true,"reason":"not here"}`, "project/h"},
		"guard over an answer of a hook": {`
hook(id = "h", version = "1", point = "elicit", run = lambda ctx, q: respond("x"))
hook(id = "g", version = "1", point = "elicit", guard = True, run = lambda ctx, q: reject("no passwords") if "password" in q.prompt else None)
`, `{kind: text, prompt: Your password}`, nil, `{"declined":true,"reason":"no passwords"}`, "project/g"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, c.hooks, "", asked(c.question))
			gate := &replies{d: d}
			if c.answer != nil {
				gate.answers = []any{c.answer}
			}
			d.person = gate
			d.want(d.task("r", "do it"), agent.Completed, "Done.")
			if got := d.lastRequest(); !strings.Contains(got, "tool call_0_0: "+c.want+"\n") {
				t.Errorf("%s\nwant %s", got, c.want)
			}
			if c.answer == nil && len(gate.asked) > 0 {
				t.Errorf("a person was asked: %+v", gate.asked)
			}
			sum := d.summary("r/t1/s1/c1/e1")
			if sum.By != c.by || !sum.Whole || sum.Head.Parent != "r/t1/s1/c1" || sum.Head.Kind != "elicit" {
				t.Errorf("%+v", sum)
			}
			if call := d.summary("r/t1/s1/c1"); call.State != operation.Finished || call.Status != operation.Succeeded {
				t.Errorf("the call is %s %s", call.State, call.Status)
			}
		})
	}
}

func TestAHookMayNotAnswerWithWhatDoesntFit(t *testing.T) {
	for name, c := range map[string]struct{ question, answer string }{
		"no option":      {`{kind: choice, prompt: Which, options: [a, b]}`, `"c"`},
		"a plain secret": {`{kind: secret, prompt: Key}`, `"hunter22"`},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, `hook(id = "h", version = "1", point = "elicit", run = lambda ctx, q: respond(`+c.answer+`))`, "", asked(c.question))
			d.person = &replies{d: d}
			res := d.run(d.task("r", "do it"))
			if res.Status != agent.Failed || !strings.Contains(res.Reason, "project/h at elicit: hook_failed") {
				t.Errorf("%+v", res)
			}
			d.holdsNowhere("hunter22")
		})
	}
}

func TestNobodyThereMeansDeclined(t *testing.T) {
	d := newDesk(t, "", "", asked(`{kind: text, prompt: Why}`))
	d.open(nil)
	d.serve("", "")
	d.want(d.task("r", "do it"), agent.Completed, "Done.")
	if got := d.lastRequest(); !strings.Contains(got, `{"declined":true,"reason":"nobody can be asked"}`) {
		t.Error(got)
	}
}

func TestABadQuestionIsToldToTheModelAndFiresNoHook(t *testing.T) {
	for question, want := range map[string]string{
		`{kind: choice, prompt: Which}`:          "it needs between 1 and 100 options",
		`{kind: essay, prompt: Which}`:           "the arguments don't fit the tool ask",
		`{kind: text, prompt: Which, more: 1}`:   "there is no argument",
		`{kind: validated, prompt: p, min: 1.5}`: "min must be of type integer",
	} {
		d := newDesk(t, `hook(id = "h", version = "1", point = ["tool.before", "elicit"], run = lambda ctx, q: reject("never"))`, "", asked(question))
		d.person = &replies{d: d}
		d.want(d.task("r", "do it"), agent.Completed, "Done.")
		if got := d.lastRequest(); !strings.Contains(got, want) {
			t.Errorf("%s: %s", question, got)
		}
	}
}

func TestAQuestionWaitsAndItsRunGoesOnWithTheAnswer(t *testing.T) {
	d := newDesk(t, "", "", `turns: [{calls: [{name: note, arguments: {line: one}}, {name: ask, arguments: {kind: choice, prompt: Which, options: [a, b]}}, {name: note, arguments: {line: two}}]}, {text: Done.}]`)
	gate := &replies{d: d}
	d.person = gate
	for range 2 {
		d.want(d.task("r", "do it"), agent.Waiting, "")
	}
	same(t, "witness", d.witness(), []string{"one"})
	gate.answers = []any{`"b"`}
	d.want(d.task("r", "do it"), agent.Completed, "Done.")
	same(t, "witness", d.witness(), []string{"one", "two"})
	same(t, "requests", len(d.requests), 2)
	same(t, "asked", len(gate.asked), 3)
	if got := d.lastRequest(); !strings.Contains(got, `{"answer":"b"}`) {
		t.Error(got)
	}
}

func TestASecretIsAHandleForAllButTheTool(t *testing.T) {
	d := newDesk(t, "", "", "")
	turns := []func(handle string) string{
		func(string) string { return call("ask", `{"kind":"secret","prompt":"Key?"}`) },
		func(h string) string { return call("note", `{"line":"<`+h+`>"}`) },
		func(h string) string {
			return call("shell", `{"command":"printf %s \"`+h+`\" > got.txt; cat got.txt"}`)
		},
		func(h string) string { return call("write_file", `{"path":"out.txt","content":"key=`+h+`"}`) },
		func(h string) string {
			return call("edit_file", `{"path":"out.txt","old":"key=`+h+`","new":"the key=`+h+`"}`)
		},
		func(string) string { return call("read_file", `{"path":"out.txt"}`) },
	}
	d.reply = playing(&turns)
	d.person = &replies{d: d, answers: []any{`"hunter22 ' $x"`}}
	d.want(d.task("r", "do it"), agent.Completed, "Done.")
	same(t, "witness", d.witness(), []string{"<hunter22", "'", "$x>"})
	for name, want := range map[string]string{"got.txt": "hunter22 ' $x", "out.txt": "the key=hunter22 ' $x"} {
		if got, err := os.ReadFile(filepath.Join(d.dir, name)); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	d.holdsNowhere("hunter22")
	if got := d.lastRequest(); strings.Count(got, "the key=secret:value:") < 2 { // written, and read
		t.Error(got)
	}
}

func TestALostSecretIsAskedForAgain(t *testing.T) {
	d := newDesk(t, "", "", "")
	turns := []func(string) string{
		func(string) string { return call("ask", `{"kind":"secret","prompt":"Key?"}`) },
		func(h string) string { return call("note", `{"line":"`+h+`"}`) },
	}
	d.reply = playing(&turns)
	gate := &replies{d: d, answers: []any{`"hunter22"`}}
	d.person = gate
	d.at = journaltest.CrashAt("answer.elicit", 1)
	if journaltest.Dies(func() { d.run(d.task("r", "do it")) }) == "" {
		t.Fatal("it didn't die")
	}
	d.at = nil
	d.rt.Vault().ForgetSession("s") // as the process did
	d.want(d.task("r", "do it"), agent.Waiting, "")
	gate.answers = []any{`"sesame33"`}
	d.want(d.task("r", "do it"), agent.Completed, "Done.")
	same(t, "witness", d.witness(), []string{"sesame33"})
	same(t, "asked", len(gate.asked), 3)
	d.holdsNowhere("hunter22", "sesame33")

	// What was asked again is history like anything else, also when nothing opens any more.
	d.rt.Vault().ForgetSession("s")
	next := d.task("r2", "more")
	next.Earlier = []agent.Task{d.task("r", "do it")}
	d.want(next, agent.Completed, "Done.")
	if got := d.lastRequest(); !strings.Contains(got, `{"answer":"`+gate.given(1)+`"}`) {
		t.Errorf("%s\nwant %s", got, gate.given(1))
	}
}

func TestACallWithALostSecretFailsAndSaysSo(t *testing.T) {
	d := newDesk(t, "", "", "")
	turns := []func(string) string{
		func(string) string { return call("ask", `{"kind":"secret","prompt":"Key?"}`) },
		func(h string) string {
			d.rt.Vault().ForgetSession("s")
			return call("shell", `{"command":"echo `+h+` > got.txt"}`)
		},
	}
	d.reply = playing(&turns)
	d.person = &replies{d: d, answers: []any{`"hunter22"`}}
	d.want(d.task("r", "do it"), agent.Completed, "Done.")
	if got := d.lastRequest(); !strings.Contains(got, "can't be opened: agentd was restarted since it was given, or it was given in another session; ask for it again") {
		t.Error(got)
	}
	if _, err := os.Stat(filepath.Join(d.dir, "got.txt")); err == nil {
		t.Error("the command ran")
	}
}

func TestACancelledQuestionIsAskedAgainByAResume(t *testing.T) {
	d := newDesk(t, "", "", asked(`{kind: text, prompt: Why}`))
	ctx, cancel := context.WithCancelCause(t.Context())
	d.person = cancelling{func() { cancel(agent.ErrCancel) }}
	cancelled := d.task("r", "do it")
	if res, err := d.start(ctx, cancelled); err != nil || res.Status != agent.Cancelled {
		t.Fatal(res, err)
	}
	d.person = &replies{d: d}
	next := d.task("r2", "what now")
	next.Earlier = []agent.Task{cancelled}
	d.want(next, agent.Completed, "Done.")
	if got := d.lastRequest(); !strings.Contains(got, "tool call_0_0: "+`{"error":"not executed: the run ended before","code":"interrupted"}`) {
		t.Error(got)
	}
	d.person = &replies{d: d, answers: []any{`"because"`}}
	d.want(cancelled, agent.Completed, "Done.")
	if got := d.lastRequest(); !strings.Contains(got, `{"answer":"because"}`) {
		t.Error(got)
	}
}

// given is the answer to the n-th question that was answered, as it is saved.
func (r *replies) given(n int) string {
	rows, err := r.d.journal.RunRows(r.d.t.Context(), "r")
	if err != nil {
		r.d.t.Fatal(err)
	}
	for _, row := range rows {
		if a, ok := row.(operation.AnswerRow); ok {
			if n--; n < 0 {
				return a.Answer.Value.Text()
			}
		}
	}
	return "nothing"
}

func call(name, arguments string) string {
	return `{"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"` + name + `","arguments":` + text(arguments).String() + `}}]}`
}

// playing plays turns that know the handle that the model was told last, then says that it is done.
func playing(turns *[]func(handle string) string) func(context.Context, model.Request, func(string)) (payload.Value, error) {
	return func(_ context.Context, req model.Request, _ func(string)) (payload.Value, error) {
		if len(*turns) == 0 {
			return parsed(`{"role":"assistant","content":"Done."}`), nil
		}
		next := (*turns)[0]
		*turns = (*turns)[1:]
		handle := ""
		for m := range req.Messages.Items() {
			if v, err := payload.ParseString(m.Get("content").Text()); err == nil && v.Get("answer").Kind() == payload.String {
				handle = v.Get("answer").Text()
			}
		}
		return parsed(next(handle)), nil
	}
}

// holdsNowhere looks for texts in all that leaves the tools: what the model was sent, events, and every row of the journal.
func (d *desk) holdsNowhere(texts ...string) {
	d.t.Helper()
	all := map[string]string{"events": d.told()}
	for _, r := range d.requests {
		all["requests"] += r.String()
	}
	rows, err := d.journal.RunRows(d.t.Context(), "r")
	if err != nil || len(rows) == 0 {
		d.t.Fatal(err)
	}
	for _, r := range rows {
		e, err := operation.EncodeRow(r)
		if err != nil {
			d.t.Fatal(err)
		}
		all["rows"] += string(e.Body)
		for _, b := range e.Blobs {
			all["rows"] += string(b.Text)
		}
	}
	for where, all := range all {
		for _, text := range texts {
			if i := strings.Index(all, text); i >= 0 {
				d.t.Errorf("%s hold %q: ...%s", where, text, all[max(0, i-200):min(len(all), i+50)])
			}
		}
	}
}
