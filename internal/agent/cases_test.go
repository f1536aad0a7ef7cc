package agent_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentd/internal/agent"
)

var update = flag.Bool("update", false, "write what the cases of testdata give now; read the difference before you keep it")

// wanted are the parts of a case that say what comes out.
var wanted = []string{"results", "model", "events", "states", "files"}

// TestRuns plays testdata/runs/*.txt: hooks, the model's turns, and the tasks of one session, a line each.
// What comes out is compared line by line: how each run ended, what the model was sent at the end of it,
// what was told to whoever watches, how each operation stands, and what the tools wrote.
func TestRuns(t *testing.T) {
	files, err := filepath.Glob("testdata/runs/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { playRuns(t, file) })
	}
}

func playRuns(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parts := sections(string(data))
	d := newDesk(t, parts["hooks.star"], parts["agent"], parts["turns"])
	got := map[string]string{}
	var earlier []agent.Task
	for line := range strings.Lines(parts["tasks"]) {
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
	if *update {
		rewrite(t, file, string(data), got)
		return
	}
	for _, name := range wanted {
		same(t, name, got[name], parts[name])
	}
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

// sections splits text at its lines "-- NAME --".
func sections(data string) map[string]string {
	out, name := map[string]string{}, ""
	for line := range strings.Lines(data) {
		if n, ok := strings.CutPrefix(line, "-- "); ok {
			name = strings.TrimSuffix(n, " --\n")
			continue
		}
		out[name] += line
	}
	return out
}

// rewrite keeps what a case asks and replaces what it wants.
func rewrite(t *testing.T, file, data string, got map[string]string) {
	t.Helper()
	head, _, _ := strings.Cut(data, "-- results --\n")
	for _, name := range wanted {
		if got[name] != "" {
			head += "-- " + name + " --\n" + got[name]
		}
	}
	if err := os.WriteFile(file, []byte(head), 0o644); err != nil {
		t.Fatal(err)
	}
}
