package agent_test

import (
	"fmt"
	"testing"

	"agentd/internal/agent"
	"agentd/internal/model"
)

func TestTheHistoryOfASessionIsThatOfItsRunsAsFarAsTheyCame(t *testing.T) {
	const turns = "turns: [{calls: [{name: note, arguments: {line: one}}]}, {calls: [{name: note, arguments: {line: two}}, {name: note, arguments: {line: three}}]}, {text: Done.}]"
	first := "user: do it\n"
	step1 := "assistant:  -> note {\"line\":\"one\"}\ntool call_0_0: {\"noted\":\"one\"}\n"
	for _, c := range []struct {
		place string
		n     int
		want  string
	}{
		{"intent.run", 1, ""},
		{"intent.model.chat", 1, first},
		{"action.model.chat", 1, first},
		{"intent.tool", 1, first}, // the reply has a result, and its after row rides in this very commit, but the call has none
		{"action.tool", 1, first},
		{"intent.model.chat", 2, first + step1},
		{"intent.tool", 2, first + step1},
		{"intent.tool", 3, first + step1},
		{"action.tool", 3, first + step1},
		{"intent.model.chat", 3, first + step1 + "assistant:  -> note {\"line\":\"two\"} -> note {\"line\":\"three\"}\ntool call_1_0: {\"noted\":\"two\"}\ntool call_1_1: {\"noted\":\"three\"}\n"},
	} {
		t.Run(fmt.Sprintf("%s %d", c.place, c.n), func(t *testing.T) {
			d := newDesk(t, "", "", turns)
			crashed := d.task("r1", "do it")
			d.at = crashAt(c.place, c.n)
			if dies(func() { d.run(crashed) }) == "" {
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
