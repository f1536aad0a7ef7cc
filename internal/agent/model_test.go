package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"agentd"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/internal/agent"
	"agentd/internal/model"
	"agentd/operation"
)

// says makes a model answer with each of these in turn: a reply, or an error.
func says(list ...any) func(context.Context, model.Request, func(string)) (payload.Value, error) {
	return func(context.Context, model.Request, func(string)) (payload.Value, error) {
		next := list[0]
		list = list[1:]
		if err, ok := next.(error); ok {
			return payload.Value{}, err
		}
		return parsed(next.(string)), nil
	}
}

const done = `{"role":"assistant","content":"Done."}`

func TestAModelCallThatFailedIsMadeAgainByAResumeAndOnlyByThat(t *testing.T) {
	for name, reply := range map[string]any{
		"not sent":                   &model.Error{Kind: model.ErrNotSent, Message: "the server isn't there"},
		"refused":                    &model.Error{Kind: model.ErrRefused, Message: "no such model"},
		"malformed":                  &model.Error{Kind: model.ErrMalformed, Message: "no JSON", Raw: "<html>"},
		"no reply at all":            `{}`,
		"another role":               `{"role":"user","content":"Done."}`,
		"a call without an id":       `{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"note","arguments":"{}"}}]}`,
		"two calls with one id":      `{"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":"note","arguments":"{}"}},{"id":"a","function":{"name":"note","arguments":"{}"}}]}`,
		"arguments that are no text": `{"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":"note","arguments":{}}}]}`,
		"an endless id":              `{"role":"assistant","content":null,"tool_calls":[{"id":"` + strings.Repeat("x", 20000) + `","function":{"name":"note","arguments":"{}"}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, `
hook(id = "look", version = "1", run = lambda ctx, call: None, point = "model.chat.after")
`, "", "")
			d.reply = says(reply, reply, done)
			for try := range 2 {
				res := d.want(d.task("r", "do it"), agent.Failed, "")
				if !strings.Contains(res.Reason, "the model call failed") {
					t.Error(res.Reason)
				}
				same(t, "requests", len(d.requests), try+1)
			}
			d.want(d.task("r", "do it"), agent.Completed, "Done.")
			same(t, "requests", len(d.requests), 3)
			same(t, "each has the same request", d.requests[0].String() == d.requests[2].String(), true)
			first := d.summary("r/t1/s1/m1")
			same(t, "first", string(first.State)+" "+first.Status, "finished failed")
			if name == "malformed" {
				same(t, "what came", first.Raw.Get("invalid_response").Text(), "<html>")
			}
			d.want(d.task("r", "do it"), agent.Completed, "Done.")
			same(t, "requests", len(d.requests), 3)
		})
	}
}

func TestALostAnswerNeedsAPersonForEachRetry(t *testing.T) {
	d := newDesk(t, "", "", "")
	lost := &model.Error{Kind: model.ErrUnknown, Message: "the connection broke"}
	d.reply = says(lost, lost, &model.Error{Kind: model.ErrNotSent, Message: "the server isn't there"}, done)
	task := d.task("r", "do it")
	for try := range 2 {
		for range 2 {
			res := d.want(task, agent.Interrupted, "")
			if !strings.Contains(res.Reason, "--retry-unknown-models") {
				t.Error(res.Reason)
			}
			same(t, "requests", len(d.requests), try+1)
		}
		if err := d.rt.Runner().AllowRetry(t.Context(), "r/t1/s1/m1", "I say so"); err != nil {
			t.Fatal(err)
		}
	}
	// What is known to have failed is another matter: it stops the run, and a resume asks again.
	d.want(task, agent.Failed, "")
	same(t, "requests", len(d.requests), 3)
	d.want(task, agent.Completed, "Done.")
	same(t, "requests", len(d.requests), 4)
	same(t, "attempts of the lost one", d.summary("r/t1/s1/m1").Attempts, 3)
}

func TestHooksMayOnlyAppendUserMessagesToARequest(t *testing.T) {
	for name, c := range map[string]struct{ patch, status string }{
		"append":             {`messages = list(call.messages) + [{"role": "user", "content": "x"}]`, agent.Completed},
		"temperature":        {`temperature = 0.5, top_p = 1`, agent.Completed},
		"replace the system": {`messages = [{"role": "system", "content": "x"}] + list(call.messages)[1:]`, agent.Failed},
		"drop one":           {`messages = list(call.messages)[:-1]`, agent.Failed},
		"append a system":    {`messages = list(call.messages) + [{"role": "system", "content": "x"}]`, agent.Failed},
		"append with a name": {`messages = list(call.messages) + [{"role": "user", "content": "x", "name": "n"}]`, agent.Failed},
		"append no text":     {`messages = list(call.messages) + [{"role": "user", "content": 1}]`, agent.Failed},
		"no unlimited":       {`max_tokens = 999999`, agent.Failed},
		"tools":              {`tools = []`, agent.Failed},
		"temperature of 3":   {`temperature = 3`, agent.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, `
hook(id = "patch", version = "1", run = lambda ctx, call: patch(`+c.patch+`), point = "model.chat.before")
`, "", "turns: [{text: Done.}]")
			if res := d.run(d.task("r", "do it")); res.Status != c.status {
				t.Errorf("%+v, want %s", res, c.status)
			}
			if asked := len(d.requests) > 0; asked != (c.status == agent.Completed) {
				t.Errorf("asked: %v", asked)
			}
			same(t, "the conversation", strings.Contains(d.summary("r/t1/s1/m1").Original.String(), `"x"`), false)
		})
	}
}

func TestHooksMayNotRewriteOrEmptyAReply(t *testing.T) {
	for _, patch := range []string{`tool_calls = []`, `usage = {}`, `content = " "`, `content = None`} {
		d := newDesk(t, `
hook(id = "patch", version = "1", run = lambda ctx, call: patch(`+patch+`), point = "model.chat.after")
`, "", "turns: [{text: Done.}]")
		for range 2 {
			res := d.want(d.task("r", "do it"), agent.Failed, "")
			if !strings.Contains(res.Reason, "project/patch") {
				t.Errorf("%s: %s", patch, res.Reason)
			}
		}
		sum := d.summary("r/t1/s1/m1")
		same(t, "raw", sum.Status+" "+sum.Raw.Get("content").Text(), "succeeded Done.")
		same(t, "requests", len(d.requests), 1)
	}
}

func TestLiveOutputWaitsForHooksThatMayChangeIt(t *testing.T) {
	const at = `run = lambda ctx, call: None, point = "model.chat.after"`
	for _, c := range []struct {
		name, hooks string
		live        bool
	}{
		{"no hook", ``, true},
		{"a hook", `hook(id = "h", version = "1", ` + at + `)`, false},
		{"a guard", `hook(id = "h", version = "1", ` + at + `, guard = True)`, false},
		{"an observation", `hook(id = "h", version = "1", ` + at + `, observation = True)`, true},
		{"a provisional hook", `hook(id = "h", version = "1", ` + at + `, stream = "provisional")`, true},
		{"a provisional hook beside another", `hook(id = "h", version = "1", ` + at + `, stream = "provisional")` + "\n" + `hook(id = "i", version = "1", ` + at + `)`, false},
		{"a hook for another model", `hook(id = "h", version = "1", ` + at + `, targets = ["other"])`, true},
		{"a hook for this model", `hook(id = "h", version = "1", ` + at + `, targets = ["m"])`, false},
		{"a hook for compaction", `hook(id = "h", version = "1", ` + at + `, purposes = ["compaction"])`, true},
		{"a hook elsewhere", `hook(id = "h", version = "1", run = lambda ctx, call: None, point = "tool.after")`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t, c.hooks, "", "turns: [{text: All of it.}]")
			d.want(d.task("r", "do it"), agent.Completed, "All of it.")
			var live strings.Builder
			var kinds []string
			for _, e := range d.events {
				kinds = append(kinds, e.Type)
				if e.Type == "model.delta" {
					live.WriteString(e.Fields[0].Value.Text())
				}
			}
			want := []string{"run.started", "model.delta", "model.delta", "model.delta", "model.completed"}
			if !c.live {
				want = []string{"run.started", "model.completed"}
			}
			same(t, "events", kinds, want)
			same(t, "live", live.String(), map[bool]string{true: "All of it."}[c.live])
		})
	}
}

func TestAFailedHookOnAReplyShowsItToNobodyAndIsComputedAgain(t *testing.T) {
	failures := 1
	flaky := agentd.GoHook{ID: "flaky", Version: "1", ReplaySafe: true, Points: []string{"model.chat.after"}, Run: func(context.Context, *hookpoints.Call) ([]hookpoints.Decision, error) {
		if failures--; failures >= 0 {
			return nil, errors.New("out of luck")
		}
		return []hookpoints.Decision{{Verb: hookpoints.Patch, Fields: []payload.Field{field("content", text("[hidden]"))}}}, nil
	}}
	d := newDesk(t, "", "", "turns: [{text: secret}]", flaky)
	res := d.want(d.task("r", "do it"), agent.Failed, "")
	if strings.Contains(res.Reason+d.told(), "secret") || !strings.Contains(res.Reason, "shipped/flaky") {
		t.Errorf("%s\n%s", res.Reason, d.told())
	}
	d.want(d.task("r", "do it"), agent.Completed, "[hidden]")
	same(t, "requests", len(d.requests), 1)
	same(t, "shown", strings.Contains(d.told(), "secret"), false)
	open, err := d.journal.Open(t.Context())
	if err != nil || slices.ContainsFunc(open, func(h operation.Head) bool { return h.RunID == "r" }) {
		t.Error(open, err)
	}
}
