package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"agentd/hookpoints"
	"agentd/store"
)

// outcome is how the world is at the end of a scenario.
type outcome struct {
	runs         []ran
	lines        map[string]int // what was appended, and what was committed with git
	tree         map[string]string
	conversation []string
	asked        map[int]int // by replies so far
	cells        map[string]string
	head         string
}

func (t *trial) outcome(ctx context.Context) (o outcome, err error) {
	if o.runs, err = t.runs(ctx); err != nil {
		return o, err
	}
	lines, err := t.lines()
	if err != nil {
		return o, err
	}
	o.lines = map[string]int{}
	for _, line := range lines {
		o.lines[line]++
	}
	if err := t.commits(ctx, o.lines); err != nil {
		return o, err
	}
	if o.tree, err = t.tree(); err != nil {
		return o, err
	}
	if o.conversation, err = t.world.conversation(); err != nil {
		return o, err
	}
	if o.asked, err = t.world.asked(); err != nil {
		return o, err
	}
	return o, t.durable(ctx, &o)
}

// commits counts what git has by message.
func (t *trial) commits(ctx context.Context, into map[string]int) error {
	if _, err := os.Stat(filepath.Join(t.project(), ".git")); err != nil {
		return nil
	}
	cmd := exec.CommandContext(ctx, "git", "log", "--format=%s")
	cmd.Dir = t.project()
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) { // without a commit there is no log
		return err
	}
	for line := range strings.Lines(string(out)) {
		into["commit "+strings.TrimSpace(line)]++
	}
	return nil
}

func (t *trial) durable(ctx context.Context, o *outcome) error {
	o.cells = map[string]string{}
	r, err := store.OpenReader(ctx, t.database(), nil)
	if errors.Is(err, store.ErrNoDatabase) {
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Close()
	sessions, err := r.Sessions(ctx)
	if err != nil {
		return err
	}
	for _, s := range sessions {
		cells, err := r.Cells(ctx, s.ID)
		if err != nil {
			return err
		}
		for name, c := range cells {
			o.cells[s.ID+" "+name] = ids.ReplaceAllString(c.Value.String(), "ID")
		}
	}
	o.head, err = r.Head(ctx, hookpoints.Project)
	return err
}

// check holds an outcome against that of the life without a kill.
func (t *trial) check(want, got outcome) {
	v := &t.verdict
	for _, line := range union(want.lines, got.lines) {
		n, m := want.lines[line], got.lines[line]
		switch {
		case n == 0:
			v.add(&v.wrong, "%q was written, which nobody asked for", line)
		case m > n && !(strings.HasPrefix(line, "again-") && t.excused(line)):
			v.add(&v.repeated, "%q was done %d times, want %d", line, m, n)
		case m < n && !t.excused(line):
			v.add(&v.lost, "%q was done %d times, want %d", line, m, n)
		}
	}
	t.checkAsked(want, got)
	if len(got.runs) != len(want.runs) {
		v.add(&v.wrong, "there are %d runs, want %d", len(got.runs), len(want.runs))
	} else {
		for i, w := range want.runs {
			if g := got.runs[i]; g.Status != w.Status || g.Answer != w.Answer && !t.cutTools() {
				v.add(&v.wrong, "the run %q is %s with %q, want %s with %q", g.Task, g.Status, g.Answer, w.Status, w.Answer)
			}
		}
	}
	for _, name := range sameTree(want.tree, got.tree) {
		if litter, _ := path.Match(".agentd-*.tmp", path.Base(name)); !t.excused(name) && !(litter && t.cutTools()) {
			v.add(&v.wrong, "the file %s has %q, want %q", name, got.tree[name], want.tree[name])
		}
	}
	if want.head != got.head {
		v.add(&v.wrong, "the head is %s, want %s", got.head, want.head)
	}
	if t.cutTools() { // what nobody knows, no hook looked at, and the model is told so
		return
	}
	if !slices.Equal(want.conversation, got.conversation) {
		v.add(&v.wrong, "the model was told\n%s\nwant\n%s", strings.Join(got.conversation, "\n"), strings.Join(want.conversation, "\n"))
	}
	if !maps.Equal(want.cells, got.cells) {
		v.add(&v.wrong, "the state is %v, want %v", got.cells, want.cells)
	}
}

// checkAsked: a model call is made again only if the one before was cut off, once each time.
func (t *trial) checkAsked(want, got outcome) {
	more := 0
	for _, n := range union(want.asked, got.asked) {
		if got.asked[n] == 0 && !t.cutTools() {
			t.verdict.add(&t.verdict.lost, "the model was never asked with %d replies", n)
		}
		more += max(got.asked[n]-want.asked[n], 0)
	}
	if more > t.retries {
		t.verdict.add(&t.verdict.repeated, "the model was asked %d times more, and %d of its calls were cut off", more, t.retries)
	}
}

func union[K comparable](a, b map[K]int) []K {
	out := slices.Collect(maps.Keys(a))
	for k := range b {
		if _, ok := a[k]; !ok {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, func(a, b K) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return out
}
