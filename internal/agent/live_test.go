package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"agentd"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/internal/agent"
	"agentd/internal/model"
	"agentd/operation"
)

const countsPieces = `
def piece(ctx, call):
    return remember(n = ctx.state.get("n", 0) + 1, said = ctx.state.get("said", "") + call.text + "|")

hook(id = "piece", version = "1", run = piece, point = "model.chat.chunk", observation = True)

def cut(ctx, call):
    return remember(partial = call.partial)

hook(id = "cut", version = "1", run = cut, point = "model.chat.interrupt", observation = True)
`

// pieces makes a model say a reply in pieces and then fail, or not.
func pieces(end func() error, list ...string) func(context.Context, model.Request, func(string)) (payload.Value, error) {
	return func(_ context.Context, _ model.Request, stream func(string)) (payload.Value, error) {
		for _, p := range list {
			if stream != nil {
				stream(p)
			}
		}
		if err := end(); err != nil {
			return payload.Value{}, err
		}
		return parsed(`{"role":"assistant","content":"` + strings.Join(list, "") + `"}`), nil
	}
}

func fine() error { return nil }

func (d *desk) cell(name string) string {
	d.t.Helper()
	cells, err := d.journal.Cells(d.t.Context(), "s")
	if err != nil {
		d.t.Fatal(err)
	}
	return cells[name].Value.String()
}

func TestHooksSeeThePiecesOfAReplyAndTheirRowsComeWithIt(t *testing.T) {
	for _, held := range []bool{false, true} {
		hooks := countsPieces
		if held {
			hooks += "\nhook(id = \"h\", version = \"1\", run = lambda ctx, call: None, point = \"model.chat.after\")\n"
		}
		d := newDesk(t, hooks, "", "")
		d.reply = pieces(fine, "All ", "of ", "it.")
		d.want(d.task("r", "do it"), agent.Completed, "All of it.")
		same(t, "seen", d.cell("project/piece"), `{"n":3,"said":"All |of |it.|"}`)
		same(t, "cut off", d.cell("project/cut"), "null")
		with := 0
		for _, commit := range d.journal.Log() {
			for _, k := range commit {
				if k.Op == "r/t1/s1/m1/live" && commit[len(commit)-1] == (operation.Key{Op: "r/t1/s1/m1", Stage: operation.StOutcome}) {
					with++
				}
			}
		}
		same(t, "rows of pieces in the commit of the outcome", with, 3)
		same(t, "told live", strings.Count(d.told(), "model.delta"), map[bool]int{false: 3}[held])
	}
}

func TestHooksSeeWhatAReplySaidThatWasCutOff(t *testing.T) {
	lost := &model.Error{Kind: model.ErrUnknown, Message: "the connection broke"}
	for name, c := range map[string]struct {
		cause  error
		err    error
		status string
		want   string
	}{
		"by the connection": {nil, lost, agent.Interrupted, `{"partial":"All of "}`},
		"by a person":       {agent.ErrCancel, context.Canceled, agent.Cancelled, `{"partial":"All of "}`},
		"by the daemon":     {errors.New("the daemon stops"), context.Canceled, agent.Interrupted, `{"partial":"All of "}`},
		"not, as it failed": {nil, &model.Error{Kind: model.ErrRefused, Message: "no such model"}, agent.Failed, "null"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, countsPieces, "", "")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			d.reply = pieces(func() error {
				if c.cause != nil {
					cancel(c.cause)
				}
				return c.err
			}, "All ", "of ")
			if res, err := d.start(ctx, d.task("r", "do it")); err != nil || res.Status != c.status {
				t.Fatal(res, err)
			}
			same(t, "cut off", d.cell("project/cut"), c.want)
			// The next attempt's pieces are others, and its chains are computed.
			if d.summary("r/t1/s1/m1").State == operation.Unknown {
				if err := d.rt.Runner().AllowRetry(t.Context(), "r/t1/s1/m1", "I say so"); err != nil {
					t.Fatal(err)
				}
			}
			d.reply = pieces(fine, "Done.")
			d.want(d.task("r", "do it"), agent.Completed, "Done.")
			same(t, "seen", d.cell("project/piece"), `{"n":3,"said":"All |of |Done.|"}`)
		})
	}
}

func TestAHookOnAPieceThatFailsStopsTheRunBehindTheReply(t *testing.T) {
	seen := ""
	d := newDesk(t, "", "", "", agentd.GoHook{ID: "watch", Version: "1", Points: []string{"model.chat.chunk"}, Observation: true, ReplaySafe: true, Run: func(_ context.Context, c *hookpoints.Call) ([]hookpoints.Decision, error) {
		piece := c.Payload.Get("text").Text()
		if seen += piece; piece == "of " {
			return nil, errors.New("out of luck")
		}
		return nil, nil
	}})
	d.reply = pieces(fine, "All ", "of ", "it.")
	res := d.want(d.task("r", "do it"), agent.Failed, "")
	if !strings.Contains(res.Reason, "shipped/watch at model.chat.chunk") {
		t.Error(res.Reason)
	}
	same(t, "seen", seen, "All of ")
	seen = ""
	same(t, "told", d.told(), "run.started task=\"do it\"\nmodel.delta text=\"All \"\n")
	d.want(d.task("r", "do it"), agent.Completed, "All of it.")
	same(t, "requests", len(d.requests), 1)
	same(t, "seen again", seen, "") // the pieces can't come again
}

func TestPiecesThatNobodyWatchesCostNothing(t *testing.T) {
	d := newDesk(t, `hook(id = "h", version = "1", run = lambda ctx, call: None, point = "model.chat.chunk", observation = True, targets = ["other"])`, "", "")
	many := make([]string, 1000)
	for i := range many {
		many[i] = fmt.Sprint(i, " ")
	}
	d.reply = pieces(fine, many...)
	d.run(d.task("r", "do it"))
	for _, commit := range d.journal.Log() {
		for _, k := range commit {
			if strings.HasSuffix(k.Op, "/live") {
				t.Fatalf("a row %v", k)
			}
		}
	}
}
