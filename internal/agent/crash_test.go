package agent_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentd/internal/agent"
	"agentd/operation"
	"agentd/operation/journaltest"
)

const crashHooks = `
def count(ctx, call):
    return remember(n = ctx.state.get("n", 0) + 1)

hook(id = "count", version = "1", run = count, point = ["session.start", "run.before", "turn.before", "step.before", "model.chat.before", "tool.before", "file.write.before"])

def after(ctx, call):
    return [remember(n = ctx.state.get("n", 0) + 1), context("seen " + ctx.call_id)]

hook(id = "after", version = "1", run = after, point = "tool.after")

def hide(ctx, call):
    return [remember(n = ctx.state.get("n", 0) + 1)] + ([patch(content = call.content.replace("secret", "[hidden]"))] if call.get("content") else [])

hook(id = "hide", version = "1", run = hide, point = "model.chat.after")
hook(id = "ends", version = "1", run = count, point = ["step.after", "turn.after", "run.after"])
`

const crashTurns = `
turns:
  - {text: a secret plan, calls: [{name: note, arguments: {line: one}}, {name: note, arguments: {line: two}}, {name: mark, arguments: {line: three}}]}
  - {calls: [{name: search_files, arguments: {pattern: zebra}}, {name: search_files, arguments: {pattern: horse}}, {name: write_file, arguments: {path: out.txt, content: "written"}}, {name: note, arguments: {line: four}}]}
  - text: A secret end.
  - text: More.
`

// lines are what each call writes into the witness file, by operation.
var crashLines = map[string]string{"r/t1/s1/c1": "one", "r/t1/s1/c2": "two", "r/t1/s1/c3": "three", "r/t1/s2/c4": "four"}

// dying is a desk that dies, and what was unknown each time that it did.
type dying struct {
	*desk
	cut map[string]int
}

func newDying(t *testing.T) *dying {
	return &dying{newDesk(t, crashHooks, "", crashTurns), map[string]int{}}
}

// dead notes what is unknown now that the process is dead: only that may be told as unknown or made again.
func (d *dying) dead() {
	open, err := d.journal.Open(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	for _, h := range open {
		if d.summary(h.ID).State == operation.Unknown {
			d.cut[h.ID]++
		}
	}
}

// finish resumes until the run has ended, as a person does who allows model calls to be repeated.
func (d *dying) finish() {
	d.t.Helper()
	for range 9 {
		res := d.run(d.task("r", "do it"))
		if res.Status == agent.Completed {
			same(d.t, "answer", res.Answer, "A [hidden] end.")
			return
		}
		if res.Status != agent.Interrupted {
			d.t.Fatalf("%+v", res)
		}
		open, err := d.journal.Open(d.t.Context())
		if err != nil {
			d.t.Fatal(err)
		}
		for _, h := range open {
			if h.Kind == "model.chat" && d.summary(h.ID).State == operation.Unknown {
				if err := d.rt.Runner().AllowRetry(d.t.Context(), h.ID, "I say so"); err != nil {
					d.t.Fatal(err)
				}
			}
		}
	}
	d.t.Fatal("it doesn't come to an end")
}

// next is what the model is sent by another run of the session: the whole history of this one.
func (d *dying) next() string {
	d.t.Helper()
	task := d.task("next", "and now")
	task.Earlier = []agent.Task{d.task("r", "do it")}
	d.want(task, agent.Completed, "More.")
	return d.lastRequest()
}

func (d *dying) cells() string {
	cells, err := d.journal.Cells(d.t.Context(), "s")
	if err != nil {
		d.t.Fatal(err)
	}
	return fmt.Sprint(cells["project/count"].Value, cells["project/after"].Value, cells["project/hide"].Value, cells["project/ends"].Value)
}

func (d *dying) check(t *testing.T, wantHistory, wantCells string) {
	t.Helper()
	cutTools := 0
	for op, n := range d.cut {
		if strings.Contains(op, "/c") {
			cutTools += n
		}
	}
	if cutTools == 0 {
		same(t, "cells", d.cells(), wantCells)
	}
	wrote := map[string]int{}
	for _, line := range d.witness() {
		wrote[line]++
	}
	for op, line := range crashLines {
		least, most := 1, 1
		if d.cut[op] > 0 && line == "three" { // it may be repeated
			most += d.cut[op]
		} else if d.cut[op] > 0 {
			least = 0
		}
		if n := wrote[line]; n < least || n > most {
			t.Errorf("%s was written %d times, and its call cut off %d times", line, n, d.cut[op])
		}
	}
	if out, err := os.ReadFile(filepath.Join(d.dir, "out.txt")); err != nil || string(out) != "written" {
		t.Errorf("out.txt: %q, %v", out, err)
	}
	history, wanted := strings.Split(d.next(), "\n"), strings.Split(wantHistory, "\n")
	if cutTools > 0 { // no hook looked at a result that nobody knows
		history, wanted = slices.DeleteFunc(history, isContext), slices.DeleteFunc(wanted, isContext)
	}
	if len(history) != len(wanted) {
		t.Fatalf("the history is\n%s\nwant\n%s", strings.Join(history, "\n"), wantHistory)
	}
	for i, want := range wanted {
		got := history[i]
		if id, _, _ := strings.Cut(want, ":"); got != want && !d.toldUnknown(id, got) {
			t.Errorf("the model is told\n%s\nwant\n%s", got, want)
		}
	}
	open, err := d.journal.Open(t.Context())
	if err != nil || len(open) > 0 {
		t.Errorf("open at the end: %v, %v", open, err)
	}
	if strings.Contains(d.told(), "secret") {
		t.Errorf("hooks have hidden what was told: %s", d.told())
	}
}

func isContext(line string) bool { return strings.HasPrefix(line, "user: <hook_context") }

// toldUnknown reports whether a line tells the model that nobody knows how a call ended that was cut off.
func (d *dying) toldUnknown(id, got string) bool {
	var turn, n int
	if _, err := fmt.Sscanf(id, "tool call_%d_%d", &turn, &n); err != nil {
		return false
	}
	op := fmt.Sprintf("r/t1/s%d/c%d", turn+1, n+1)
	return d.cut[op] > 0 && crashLines[op] != "three" && strings.Contains(got, "nobody knows whether this ran")
}

// undisturbed is how the run goes when nothing dies.
func undisturbed(t *testing.T) (history, cells string, places []string, commits int) {
	t.Helper()
	d := newDying(t)
	d.at = func(place string) { places = append(places, place) }
	d.finish()
	commits, cells, d.at = d.journal.Commits(), d.cells(), nil
	same(t, "witness", d.witness(), []string{"one", "two", "three", "four"})
	history = d.next()
	return history, cells, places, commits
}

func TestARunThatDiesAnywhereLosesNothingAndDoesNothingTwice(t *testing.T) {
	history, cells, places, _ := undisturbed(t)
	if len(places) < 25 {
		t.Fatalf("only %d places: %v", len(places), places)
	}
	for i, place := range places {
		t.Run(fmt.Sprintf("%02d %s", i+1, place), func(t *testing.T) {
			d := newDying(t)
			d.at = journaltest.CrashAt("", i+1)
			if journaltest.Dies(func() { d.run(d.task("r", "do it")) }) == "" {
				t.Fatal("it didn't die")
			}
			d.dead()
			d.at = nil
			d.finish()
			d.check(t, history, cells)
		})
	}
}

func TestARunThatDiesTwice(t *testing.T) {
	history, cells, places, _ := undisturbed(t)
	for i := range places {
		for j := i % 41; ; j += 41 {
			d := newDying(t)
			d.at = journaltest.CrashAt("", i+1)
			journaltest.Dies(func() { d.run(d.task("r", "do it")) })
			d.dead()
			d.at = journaltest.CrashAt("", j+1)
			if journaltest.Dies(func() { d.finish() }) == "" {
				break
			}
			d.dead()
			d.at = nil
			d.finish()
			d.check(t, history, cells)
		}
	}
}

func TestARunOverAJournalThatFailsAtAnyCommit(t *testing.T) {
	history, cells, _, commits := undisturbed(t)
	journaltest.FailsAtAnyCommit(t, commits, func(t *testing.T, spoil func(*journaltest.Memory)) {
		d := newDying(t)
		spoil(d.journal)
		if _, err := d.start(t.Context(), d.task("r", "do it")); !errors.Is(err, operation.ErrPersistence) {
			t.Fatalf("%v, want ErrPersistence", err)
		}
		d.dead()
		d.finish()
		d.check(t, history, cells)
	})
}
