package agent_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentd/internal/agent"
	"agentd/operation/journaltest"
)

var update = flag.Bool("update", false, "write what the cases of testdata give now; read the difference before you keep it")

// TestRuns plays testdata/runs/*.txt: hooks, the model's turns, and the tasks of one session, a line each.
// What comes out is compared line by line: how each run ended, what the model was sent at the end of it,
// what was told to whoever watches, how each operation stands, and what the tools wrote.
func TestRuns(t *testing.T) {
	journaltest.EachCase(t, "testdata/runs/*.txt", playRuns)
}

func playRuns(t *testing.T, c journaltest.Case) {
	d := newDesk(t, c.Part("hooks.star"), c.Part("agent"), c.Part("turns"))
	got := map[string]string{}
	var earlier []agent.Task
	for line := range strings.Lines(c.Part("tasks")) {
		task := d.task(fmt.Sprintf("run-%d", len(earlier)+1), strings.TrimSpace(line))
		task.Earlier = earlier
		res := d.run(task)
		earlier = append(earlier, task)
		got["results"] += strings.TrimSpace(fmt.Sprintf("%s %q %s", res.Status, res.Answer, res.Reason)) + "\n"
		got["model"] += d.lastRequest() + "\n"
	}
	got["model"] = strings.TrimSuffix(got["model"], "\n")
	got["events"] = d.told("model.delta")
	got["states"] = d.states(earlier)
	for _, name := range []string{"witness.txt", "out.txt"} {
		if text, err := os.ReadFile(filepath.Join(d.dir, name)); err == nil {
			got["files"] += name + ": " + strings.ReplaceAll(string(text), "\n", "\\n") + "\n"
		}
	}
	for name := range got {
		got[name] = strings.ReplaceAll(got[name], d.dir, "FOLDER")
	}
	c.Wants(t, *update, got, "results", "model", "events", "states", "files")
}

// states is a line an operation: how it stands, and its real result where that isn't what is shown.
func (d *desk) states(tasks []agent.Task) string {
	var b strings.Builder
	for _, task := range tasks {
		for _, id := range d.operations(task.RunID) {
			sum := d.summary(id)
			fmt.Fprintf(&b, "%s %s %s", strings.Replace(id, task.RunID, "r", 1), sum.State, sum.Status)
			if sum.Raw.Exists() && sum.Raw.String() != sum.Output.String() && sum.Head.Kind == "tool" {
				fmt.Fprintf(&b, " raw=%s", sum.Raw.String())
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// operations are the ids of a run's operations, in the order of their first rows.
func (d *desk) operations(run string) (ids []string) {
	d.t.Helper()
	rows, err := d.journal.RunRows(d.t.Context(), run)
	if err != nil {
		d.t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, r := range rows {
		if op := r.Key().Op; !seen[op] {
			seen[op] = true
			ids = append(ids, op)
		}
	}
	return ids
}
