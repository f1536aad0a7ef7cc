//go:build unix

package facts_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/internal/facts"
	"agentd/operation"
	"agentd/store"
)

// history is a journal that was made up.
type history struct {
	rows []store.TrailRow
	err  error
	asks int
}

func (h *history) Trail(_ context.Context, session string, n int) ([]store.TrailRow, error) {
	h.asks++
	return append([]store.TrailRow(nil), h.rows[max(0, len(h.rows)-n):]...), h.err
}

func (h *history) Usage(context.Context, string, string) (store.Usage, store.Usage, error) {
	h.asks++
	return store.Usage{Input: 1, Output: 2, Total: 3, ModelCalls: 4, ToolCalls: 5}, store.Usage{Input: 10, Output: 20, Total: 30, ModelCalls: 40, ToolCalls: 50}, h.err
}

func action(id, args string) store.TrailRow {
	r := store.TrailRow{OperationRow: store.OperationRow{Head: operation.Head{ID: id, Kind: "tool", Tool: "shell"}, State: operation.Finished, Status: operation.Succeeded}}
	if args != "" {
		r.Arguments, _ = payload.ParseString(args)
	}
	return r
}

func TestTheTrailLeadsUpToTheOperation(t *testing.T) {
	rejected := action("c", `{"command":"curl"}`)
	rejected.State, rejected.Status, rejected.Outcome, rejected.By, rejected.Reason = operation.Rejected, operation.NotRun, hookpoints.Rejected, "project/net", "no"
	h := &history{rows: []store.TrailRow{action("a", ""), action("b", `{"command":"ls"}`), rejected, action("me", `{}`)}}
	o := options("")
	o.History = h
	uncommitted := func(context.Context) ([][]operation.Row, error) {
		decided := func(id, args string) operation.Decided {
			v, err := payload.ParseString(`{"arguments":` + args + `}`)
			if err != nil {
				t.Fatal(err)
			}
			return operation.Decided{Head: operation.Head{ID: id, Kind: "tool", Tool: "shell"}, Final: v}
		}
		return [][]operation.Row{
			{operation.ReadyRow{Decided: decided("b", `{"command":"ls"}`)}},
			{operation.IntentRow{Decided: decided("p", `{"path":".env"}`), State: operation.Running}, operation.OutcomeRow{Op: "p", Status: operation.Succeeded}},
			{operation.ReadyRow{Decided: decided("me", `{}`)}},
		}, nil
	}
	me := operation.Head{ID: "me", SessionID: "s"}
	ids := func(key string) (out []string) {
		f := facts.NewReader(o).Open(me, "tool.before", uncommitted).Fact(context.Background(), key)
		if f.Absent != "" {
			return []string{told(f)}
		}
		for v := range f.Value.Items() {
			out = append(out, v.Get("id").Text()+" "+v.Get("state").Text())
		}
		return out
	}
	for key, want := range map[string][]string{
		"trail:200": {"a finished", "b not_started", "c rejected", "p finished"},
		"trail:2":   {"c rejected", "p finished"},
		"trail:1":   {"p finished"},
		"trail:0":   {"- trail: needs a number from 1 to 200"},
		"trail:201": {"- trail: needs a number from 1 to 200"},
		"trail:-1":  {"- trail: needs a number from 1 to 200"},
		"trail:05":  {"- trail: needs a number from 1 to 200"},
		"trail:+5":  {"- trail: needs a number from 1 to 200"},
		"trail:":    {"- trail: needs a number from 1 to 200"},
		"trail:1e1": {"- trail: needs a number from 1 to 200"},
	} {
		if d := cmp.Diff(want, ids(key)); d != "" {
			t.Errorf("%s (-want +got):\n%s", key, d)
		}
	}
	f := facts.NewReader(o).Open(me, "", uncommitted).Fact(context.Background(), "trail:2")
	const want = `{"id":"c","kind":"tool","tool":"shell","arguments":{"command":"curl"},"decision":"rejected","by":"project/net","reason":"no","state":"rejected","status":"not_started","cut":false}`
	if got := string(f.Value.At(0).JSON()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	f = facts.NewReader(o).Open(me, "", uncommitted).Fact(context.Background(), "usage")
	const used = `{"run":{"input_tokens":1,"output_tokens":2,"total_tokens":3,"model_calls":4,"tool_calls":5},"session":{"input_tokens":10,"output_tokens":20,"total_tokens":30,"model_calls":40,"tool_calls":50}}`
	if told(f) != used {
		t.Errorf("got  %s\nwant %s", told(f), used)
	}
	h.err = errors.New("the disk is gone\nand more")
	for _, key := range []string{"usage", "trail:3"} {
		if got := told(facts.NewReader(o).Open(me, "", uncommitted).Fact(context.Background(), key)); got != "- it can't be read: the disk is gone" {
			t.Errorf("%s of a broken journal is %s", key, got)
		}
		if got := told(read(o, key)); got != "- this belongs to no session" {
			t.Errorf("%s without a session is %s", key, got)
		}
	}
}

func TestLongArgumentsOfTheTrailAreCut(t *testing.T) {
	long, deep := strings.Repeat("é", 2000), strings.Repeat(`{"a":`, 20)+strconv.Quote(strings.Repeat("x", 600))+strings.Repeat("}", 20)
	many := "[" + strings.Repeat(`"abcdefghi",`, 600) + "0]"
	quotes, err := json.Marshal(strings.Repeat(`"`, 400))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args, want string
		cut        bool
	}{
		{``, `null`, false},
		{`{"path":"a"}`, `{"path":"a"}`, false},
		{`{"path":"a","content":"` + long + `"}`, `{"path":"a","content":"` + long[:512] + `"}`, true},
		{`{"e":["x` + long + `"]}`, `{"e":["x` + long[:510] + `"]}`, true},
		{`{"q":` + string(quotes) + `}`, `{"q":` + string(quotes) + `}`, false},
		{`{"m":` + many + `}`, `null`, true},
		{deep, strings.Repeat(`{"a":`, 8) + `null` + strings.Repeat("}", 8), true},
	} {
		o := options("")
		o.History = &history{rows: []store.TrailRow{action("a", c.args)}}
		f := facts.NewReader(o).Open(operation.Head{ID: "me", SessionID: "s"}, "", nil).Fact(context.Background(), "trail:5")
		got := f.Value.At(0)
		if string(got.Get("arguments").JSON()) != c.want || got.Get("cut").IsTrue() != c.cut {
			t.Errorf("%.60s\ngot  %.700s\nwant %.700s %v", c.args, got, c.want, c.cut)
		}
	}
}
