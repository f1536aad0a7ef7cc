package store_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/operation"
	"agentd/operation/journaltest"
	"agentd/store"
)

func object(t testing.TB, text string) payload.Value {
	t.Helper()
	v, err := payload.ParseString(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// tale is a session's rows: one operation of each sort, again and again.
func tale(t testing.TB, session string, rounds int) (rows [][]operation.Row) {
	t.Helper()
	long := strings.Repeat("x", 5000)
	for i := range rounds {
		decided := func(name, kind, tool, final string, o hookpoints.Outcome) operation.Decided {
			return operation.Decided{Head: operation.Head{ID: fmt.Sprintf("%s/r%d/%s", session, i%2, name) + fmt.Sprint(i), Kind: kind, Tool: tool, RunID: fmt.Sprintf("%s/r%d", session, i%2), SessionID: session, Began: zero},
				Original: object(t, final), Final: object(t, final), Outcome: o, By: "project/" + name, Reason: "since " + name}
		}
		run := decided("run", "run", "", `{}`, hookpoints.Continued)
		run.Head.Composite = true
		chat := decided("chat", "model.chat", "m", `{"messages":[{"content":"`+long+`"}]}`, hookpoints.Continued)
		called := decided("called", "tool", "shell", `{"name":"shell","arguments":{"command":"ls"}}`, hookpoints.Allowed)
		written := decided("written", "tool", "write_file", `{"name":"write_file","arguments":{"path":"a","content":"`+long+`"}}`, hookpoints.Continued)
		id := func(d operation.Decided) string { return d.Head.ID }
		rows = append(rows,
			[]operation.Row{operation.IntentRow{Decided: run, State: operation.Running}},
			[]operation.Row{operation.PointRow{Decided: decided("turn", "turn", "", `{"prompt":"go"}`, hookpoints.Continued), Point: "turn.before"}},
			[]operation.Row{operation.IntentRow{Decided: chat, State: operation.Running},
				operation.OutcomeRow{Op: id(chat), Status: operation.Succeeded, Value: object(t, `{"content":"`+long+`","usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120}}`)}},
			[]operation.Row{operation.ReadyRow{Decided: called}, operation.IntentRow{Decided: called, State: operation.Running}, operation.OutcomeRow{Op: id(called), Status: operation.Failed, Value: object(t, `{}`)}},
			[]operation.Row{operation.IntentRow{Decided: written, State: operation.Running}},
			[]operation.Row{operation.IntentRow{Decided: decided("rejected", "tool", "shell", `{"arguments":{"command":"curl x"}}`, hookpoints.Rejected), State: operation.Rejected}},
			[]operation.Row{operation.WaitingRow{Decided: decided("waiting", "tool", "shell", `{"arguments":{}}`, hookpoints.Asked)}},
		)
	}
	return rows
}

func TestTheTrailIsTheLastActionsOfASession(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agentd.db")
	s := openTicking(t, path)
	var want []store.TrailRow
	for i, rows := range tale(t, "s", 20) { // the table of operations is behind by any number of rows
		commit(t, s, rows...)
		if i%3 == 0 {
			commit(t, s, tale(t, fmt.Sprintf("other%d", i), 1)[3]...)
		}
		row := store.TrailOf(rows)
		if k := row.Head.Kind; k != "run" && k != "turn" {
			want = append(want, row)
		}
		for _, n := range []int{1, 3, 200} {
			got, err := s.Trail(context.Background(), "s", n)
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				got[i].Updated = store.TrailRow{}.Updated
			}
			if d := cmp.Diff(want[max(0, len(want)-n):], got, journaltest.Same()); d != "" {
				t.Fatalf("after commit %d, trail of %d (-want +got):\n%s", i, n, d)
			}
		}
	}
	for _, nobody := range []string{"", "nobody"} {
		if got, err := s.Trail(context.Background(), nobody, 10); err != nil || len(got) > 0 {
			t.Errorf("the trail of %q: %v, %v", nobody, got, err)
		}
	}
}

func TestTheTrailSaysWhatWasDecidedAndHowFarItGot(t *testing.T) {
	s := openTicking(t, filepath.Join(t.TempDir(), "agentd.db"))
	for _, rows := range tale(t, "s", 1) {
		commit(t, s, rows...)
	}
	list, err := s.Trail(context.Background(), "s", 10)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range list {
		args := "none"
		if r.Arguments.Exists() {
			args = fmt.Sprint(r.Arguments.Size())
		}
		got = append(got, fmt.Sprintf("%s %s %s %s %s %s %s", r.Head.Kind, r.Head.Tool, r.Outcome, r.By, r.State, r.Status, args))
	}
	want := []string{
		"model.chat m continue project/chat finished succeeded none",
		"tool shell allowed project/called finished failed 16",
		"tool write_file continue project/written unknown unknown 5025",
		"tool shell rejected project/rejected rejected not_started 20",
		"tool shell ask project/waiting waiting not_started 2",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestUsageIsSummedByRunAndSession(t *testing.T) {
	s := openTicking(t, filepath.Join(t.TempDir(), "agentd.db"))
	for _, rows := range append(tale(t, "s", 5), tale(t, "other", 2)...) {
		commit(t, s, rows...)
	}
	// another form of usage, none, a value that isn't an object, a call without an outcome
	for i, value := range []string{`{"usage":{"input_tokens":7,"output_tokens":2}}`, `{"content":""}`, `"no"`, `{"usage":null}`, ``} {
		d := operation.Decided{Head: operation.Head{ID: fmt.Sprintf("s/more%d", i), Kind: "model.chat", SessionID: "s", RunID: "s/r1", Began: zero}, Final: object(t, `{}`), Original: object(t, `{}`)}
		commit(t, s, operation.IntentRow{Decided: d, State: operation.Running})
		if value != "" {
			commit(t, s, operation.OutcomeRow{Op: d.Head.ID, Status: operation.Succeeded, Value: object(t, value)})
		}
	}
	for _, c := range []struct {
		session, run string
		ofRun, whole store.Usage
	}{
		{"s", "s/r0", store.Usage{Input: 300, Output: 60, Total: 360, ModelCalls: 3, ToolCalls: 6}, store.Usage{Input: 507, Output: 102, Total: 609, ModelCalls: 10, ToolCalls: 10, Uncounted: 3}},
		{"s", "s/r1", store.Usage{Input: 207, Output: 42, Total: 249, ModelCalls: 7, ToolCalls: 4, Uncounted: 3}, store.Usage{Input: 507, Output: 102, Total: 609, ModelCalls: 10, ToolCalls: 10, Uncounted: 3}},
		{"s", "", store.Usage{}, store.Usage{Input: 507, Output: 102, Total: 609, ModelCalls: 10, ToolCalls: 10, Uncounted: 3}},
		{"", "s/r0", store.Usage{}, store.Usage{}},
	} {
		run, session, err := s.Usage(context.Background(), c.session, c.run)
		if err != nil {
			t.Fatal(err)
		}
		if run != c.ofRun || session != c.whole {
			t.Errorf("usage of %q, %q: %+v, %+v, want %+v, %+v", c.session, c.run, run, session, c.ofRun, c.whole)
		}
	}
}
