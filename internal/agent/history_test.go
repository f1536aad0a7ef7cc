package agent_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"agentd/internal/agent"
	"agentd/internal/model"
	"agentd/operation/journaltest"
)

func TestTheHistoryOfASessionIsThatOfItsRunsAsFarAsTheyCameAndEveryCallHasAResult(t *testing.T) {
	const turns = "turns: [{calls: [{name: note, arguments: {line: one}}]}, {calls: [{name: note, arguments: {line: two}}, {name: note, arguments: {line: three}}]}, {text: Done.}]"
	const (
		first   = "user: do it\n"
		call1   = "assistant:  -> note {\"line\":\"one\"}\ntool call_0_0: "
		step1   = call1 + "{\"noted\":\"one\"}\n"
		call2   = "assistant:  -> note {\"line\":\"two\"} -> note {\"line\":\"three\"}\ntool call_1_0: "
		call3   = "tool call_1_1: "
		unknown = `{"error":"nobody knows whether this ran: agentd was interrupted. Check the real state before you do it again.","code":"unknown"}` + "\n"
		unrun   = `{"error":"not executed: the run ended before","code":"interrupted"}` + "\n"
		unseen  = `{"error":"this ended (succeeded), but the run was cut off before its result could be shown. Check the real state before you do it again.","code":"withheld"}` + "\n"
	)
	for _, c := range []struct {
		place string
		n     int
		want  string
	}{
		{"intent.run", 1, ""},
		{"intent.model.chat", 1, first},
		{"action.model.chat", 1, first},
		{"intent.tool", 1, first + call1 + unknown}, // the reply's after row rides in this very commit
		{"action.tool", 1, first + call1 + unknown},
		{"intent.model.chat", 2, first + step1},
		{"intent.tool", 2, first + step1 + call2 + unknown + call3 + unrun},
		{"intent.tool", 3, first + step1 + call2 + unseen + call3 + unknown},
		{"action.tool", 3, first + step1 + call2 + unseen + call3 + unknown},
		{"intent.model.chat", 3, first + step1 + call2 + "{\"noted\":\"two\"}\n" + call3 + "{\"noted\":\"three\"}\n"},
	} {
		t.Run(fmt.Sprintf("%s %d", c.place, c.n), func(t *testing.T) {
			d := newDesk(t, "", "", turns)
			crashed := d.task("r1", "do it")
			d.at = journaltest.CrashAt(c.place, c.n)
			if journaltest.Dies(func() { d.run(crashed) }) == "" {
				t.Fatal("it didn't die")
			}
			d.at = nil
			wrote := len(d.witness())
			d.reply = says(done)
			next := d.task("r2", "what now")
			next.Earlier = []agent.Task{crashed}
			d.want(next, agent.Completed, "Done.")
			same(t, "request", d.lastRequest(), c.want+"user: what now\n")
			same(t, "witness", len(d.witness()), wrote) // a replay does nothing
		})
	}
}

func TestTheHistoryOfASessionSurvivesRunsThatFailed(t *testing.T) {
	d := newDesk(t, "", "", "")
	lost := &model.Error{Kind: model.ErrUnknown, Message: "the connection broke"}
	refused := &model.Error{Kind: model.ErrRefused, Message: "no such model"}
	d.reply = says(lost, refused, done)
	var earlier []agent.Task
	for i, status := range []string{agent.Interrupted, agent.Failed, agent.Completed} {
		task := d.task(fmt.Sprintf("r%d", i), fmt.Sprintf("task %d", i))
		task.Earlier = earlier
		if res := d.run(task); res.Status != status {
			t.Fatalf("%+v, want %s", res, status)
		}
		earlier = append(earlier, task)
	}
	same(t, "request", d.lastRequest(), "user: task 0\nuser: task 1\nuser: task 2\n")
}

// TestACancelledBatchLeavesNothingBegunAndEveryCallWithAResult cancels a run in the middle of three calls:
// what wasn't begun isn't, and both the next run and a resume are told about all three.
func TestACancelledBatchLeavesNothingBegunAndEveryCallWithAResult(t *testing.T) {
	const turns = `turns: [{calls: [{name: note, arguments: {line: one}}, {name: shell, arguments: {command: "echo two >> witness.txt; test -e again || sleep 60"}}, {name: note, arguments: {line: three}}]}, {text: Done.}]`
	for _, c := range []struct {
		place         string
		n             int
		begun         int // calls that were to begin
		next, resumed []string
	}{
		{"intent.tool", 1, 1, []string{"c1 interrupted", "c2 interrupted", "c3 interrupted"}, []string{"c1 one", "c2 succeeded", "c3 three"}},
		{"inside.note", 1, 1, []string{"c1 withheld", "c2 interrupted", "c3 interrupted"}, []string{"c1 one", "c2 succeeded", "c3 three"}},
		{"intent.tool", 2, 2, []string{"c1 withheld", "c2 interrupted", "c3 interrupted"}, []string{"c1 one", "c2 succeeded", "c3 three"}},
		{"inside.note", 2, 3, []string{"c1 one", "c2 succeeded", "c3 three"}, []string{"c1 one", "c2 succeeded", "c3 three"}},
	} {
		t.Run(fmt.Sprintf("%s %d", c.place, c.n), func(t *testing.T) {
			d := newDesk(t, "", "", turns)
			if c.begun != 2 {
				d.put("again", "")
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			d.at = func(place string) {
				if place == c.place {
					if c.n--; c.n == 0 {
						cancel(agent.ErrCancel)
					}
				}
			}
			cancelled := d.task("r1", "do it")
			if res, err := d.start(ctx, cancelled); err != nil || res.Status != agent.Cancelled {
				t.Fatal(res, err)
			}
			d.at = nil
			for n := range 3 {
				if s := d.summary(fmt.Sprintf("r1/t1/s1/c%d", n+1)); s.Attempts > 0 != (n < c.begun) {
					t.Errorf("call %d is %s after %d attempts", n+1, s.State, s.Attempts)
				}
			}
			next := d.task("r2", "what now")
			next.Earlier = []agent.Task{cancelled}
			d.want(next, agent.Completed, "Done.")
			same(t, "told to the next run", d.results(), c.next)
			d.put("again", "")
			d.want(cancelled, agent.Completed, "Done.")
			same(t, "told to the run when it goes on", d.results(), c.resumed)
		})
	}
}

func (d *desk) put(name, text string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o666); err != nil {
		d.t.Fatal(err)
	}
}

// results are the calls of the first step as the model was told of them last: a word for each.
func (d *desk) results() (out []string) {
	for m := range d.requests[len(d.requests)-1].Items() {
		var n int
		if _, err := fmt.Sscanf(m.Get("tool_call_id").Text(), "call_0_%d", &n); err != nil {
			continue
		}
		v := parsed(m.Get("content").Text())
		word := v.Get("code").Text() + v.Get("noted").Text()
		if v.Get("exit_code").Exists() {
			word = "succeeded"
		}
		out = append(out, fmt.Sprintf("c%d %s", n+1, word))
	}
	return out
}
