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
)

// flaky is a Go hook that fails the first so many times.
func flaky(id, point string, failures int) agentd.GoHook {
	return agentd.GoHook{ID: id, Version: "1", ReplaySafe: true, Points: []string{point}, Priority: 300, Run: func(context.Context, *hookpoints.Call) ([]hookpoints.Decision, error) {
		if failures--; failures >= 0 {
			return nil, errors.New("secret text of the author")
		}
		return nil, nil
	}}
}

const countAfter = `
def count(ctx, call):
    return [remember(n = ctx.state.get("n", 0) + 1), patch(value = "projected")]

hook(id = "count", version = "1", run = count, point = "tool.after", priority = 1)
`

func TestAFailedAfterChainKeepsTheOutcomeAndIsComputedAgain(t *testing.T) {
	l := newLab(t, countAfter, flaky("flaky", "tool.after", 2))
	now := int64(0)
	l.ticks = func() int64 { now += 7e5; return now } // each record has another time
	c := call{id: "a", kind: "shell", args: object()}
	for range 2 {
		_, err := l.batch(l.session("r"), c)
		if !errors.Is(err, operation.ErrHook) || strings.Contains(err.Error(), "secret") {
			t.Fatalf("%v, want ErrHook without the hook's own text", err)
		}
		same(t, "after rows", len(rowsOf[operation.AfterRow](l, "a")), 0)
		same(t, "state", l.cells(), "")
	}
	done, err := l.batch(l.session("r"), c)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "done", describe(done[0]), `a finished succeeded effective="projected" raw="raw a"`)
	same(t, "tries", l.tries["a"], 1)
	same(t, "state", l.cells(), "project/count {\"n\":1}\n")
	for i, r := range rowsOf[operation.FailedRow](l, "a") {
		if r.N != i || r.By != "shipped/flaky" || r.Error != "hook_failed" || r.State != nil {
			t.Errorf("failed row %+v", r)
		}
	}
	if done, err = l.batch(l.session("r"), c); err != nil || describe(done[0]) != `a finished succeeded effective="projected" raw="raw a"` {
		t.Errorf("once more: %v, %v", done, err)
	}
	same(t, "state", l.cells(), "project/count {\"n\":1}\n")
}

// chat is a model call: nothing may be said when nobody knows how it ended.
func (l *lab) chat(id string, status ...string) operation.Action {
	h := l.head(id, "model.chat")
	return operation.Action{
		Head: h, Around: l.around(h, field("target", text("m")), field("purpose", text("action"))), Points: operation.Points{Before: "model.chat.before", After: "model.chat.after"},
		Input: parsed(`{"messages":[],"tools":[],"model_id":"m","purpose":"action","temperature":null,"top_p":null,"max_tokens":null}`),
		Answer: func(v payload.Value) error {
			if v.Get("role").Text() != "assistant" {
				return errors.New("no reply")
			}
			return nil
		},
		Insert: func(in payload.Value, texts []hookpoints.Text) payload.Value {
			return in.With(field("messages", payload.NewArray([]payload.Value{object(field("role", text("user")), field("content", text(texts[0].Text)))})))
		},
		Do: func(ctx context.Context, in, w payload.Value) (payload.Value, string, error) {
			c := call{id: id, flags: status}
			_, status, err := l.do(ctx, c, object(field("arguments", object())), payload.Value{})
			return object(field("role", text("assistant")), field("content", text("said "+in.Get("messages").String()))), status, err
		},
	}
}

func TestAFailedBeforeChainElsewhereStopsAndIsComputedAgain(t *testing.T) {
	l := newLab(t, `
def count(ctx, call):
    return [remember(n = ctx.state.get("n", 0) + 1), context("hint")]

hook(id = "count", version = "1", run = count, point = "model.chat.before", priority = 1)
`, flaky("flaky", "model.chat.before", 2))
	now := int64(0)
	l.ticks = func() int64 { now += 7e5; return now }
	for range 2 {
		if _, err := l.session("r").Do(t.Context(), l.chat("m")); !errors.Is(err, operation.ErrHook) {
			t.Fatal(err)
		}
		same(t, "state", l.cells(), "")
		same(t, "tries", l.tries["m"], 0)
	}
	done, err := l.session("r").Do(t.Context(), l.chat("m"))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "effective", done.Effective.Get("content").Text(), `said [{"role":"user","content":"hint"}]`)
	same(t, "state", l.cells(), "project/count {\"n\":1}\n")
	same(t, "failures", len(rowsOf[operation.FailedRow](l, "m")), 2)
}

func TestTheValueOfARespondIsHeldToWhatTheActionWouldReturn(t *testing.T) {
	l := newLab(t, `
def answer(ctx, call):
    return respond({"role": "assistant", "content": "mine"} if ctx.seed == "good" else {"content": "mine"})

hook(id = "answer", version = "1", run = answer, point = "model.chat.before")
`)
	done, err := l.session("r").Do(t.Context(), l.chat("good"))
	if err != nil || done.State != operation.Responded || done.By != "project/answer" || done.Effective.Get("content").Text() != "mine" {
		t.Errorf("%+v, %v", done, err)
	}
	if _, err := l.session("r").Do(t.Context(), l.chat("bad")); !errors.Is(err, operation.ErrHook) {
		t.Errorf("a value that is no reply: %v", err)
	}
	same(t, "ran", l.ran, []string(nil))
}
