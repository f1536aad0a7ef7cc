// Package journaltest is the suite that every journal passes, and what the tests of those who use a journal
// share: one in memory, cases in files, and a process that dies.
package journaltest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"agentd/hookpoints/payload"
	"agentd/operation"
)

// Run runs the suite. open makes an empty journal and has the test clean it up.
func Run(t *testing.T, open func(t *testing.T) operation.Journal) {
	for _, c := range []struct {
		name string
		test func(*testing.T, *bench)
	}{
		{"an empty journal has nothing", empty},
		{"a commit is all or nothing", allOrNothing},
		{"a row may be committed again if it is the same", repeated},
		{"a repeated commit doesn't put old cells back", repeatedCells},
		{"another row under a key is a conflict and leaves nothing", conflict},
		{"two rows of one commit can conflict", conflictWithin},
		{"a commit with a cancelled context writes nothing", cancelled},
		{"rows come in commit order", order},
		{"the rows of a run come in commit order", runOrder},
		{"what is unfinished is open, oldest first", opened},
		{"an operation that has no head yet is open under its id", headless},
		{"cells keep the last value", cells},
		{"cells of sessions don't mix", cellIsolation},
		{"a cell counts its versions", versions},
		{"a project's cell that moved on refuses the whole commit", stale},
		{"a project's cell without a value is only compared", compared},
		{"of concurrent changes of a project's cell none is lost", counted},
		{"what could not be read again is refused", unreadable},
		{"every row comes back as it went in", roundTrip},
		{"every value comes back byte for byte", values},
		{"concurrent commits are all there", concurrent},
		{"of concurrent conflicting commits one wins and no other suffers", race},
		{"a reader sees whole commits", wholeCommits},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, &bench{t.Context(), open(t)}) })
	}
	states(t, open)
}

// bench is a journal under test.
type bench struct {
	ctx context.Context
	j   operation.Journal
}

func (b *bench) commit(t *testing.T, rows ...operation.Row) {
	t.Helper()
	if err := b.j.Commit(b.ctx, operation.Commit{Rows: rows}); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) rows(t *testing.T, op string) []operation.Row {
	t.Helper()
	rows, err := b.j.Rows(b.ctx, op)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func (b *bench) runRows(t *testing.T, run string) []operation.Row {
	t.Helper()
	rows, err := b.j.RunRows(b.ctx, run)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func (b *bench) open(t *testing.T) []operation.Head {
	t.Helper()
	heads, err := b.j.Open(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	return heads
}

func (b *bench) cells(t *testing.T, session string) map[string]payload.Value {
	t.Helper()
	cells, err := b.j.Cells(b.ctx, session)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]payload.Value{}
	for name, c := range cells {
		out[name] = c.Value
		if c.Name != name || c.Session != session && c.Session != "" || c.Version < 1 {
			t.Errorf("under %q of %q is the cell %+v", name, session, c)
		}
	}
	return out
}

// version is that of a cell of the project, 0 if there is none.
func (b *bench) version(t *testing.T, name string) int64 {
	t.Helper()
	cells, err := b.j.Cells(b.ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	return cells[name].Version
}

// Same compares what holds payload values: by their text, and whether they are there at all.
func Same() cmp.Option {
	return cmp.Options{
		cmp.Comparer(func(a, b payload.Value) bool { return a.Exists() == b.Exists() && a.String() == b.String() }),
		cmpopts.EquateEmpty(),
	}
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got, Same()); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func text(s string) payload.Value { return payload.NewString(s) }

func parse(t testing.TB, s string) payload.Value {
	t.Helper()
	v, err := payload.ParseString(s)
	if err != nil {
		t.Fatalf("%.80s: %v", s, err)
	}
	return v
}

var began = time.Date(2026, 2, 3, 4, 5, 6, 789, time.UTC)

// intent is the start of a tool call in a run.
func intent(op, run string) operation.IntentRow {
	return operation.IntentRow{State: operation.Running, Decided: operation.Decided{
		Head:     operation.Head{ID: op, Kind: "tool", RunID: run, SessionID: "session-of-" + run, Tool: "write_file", Began: began},
		Original: text("as asked"), Final: text("as done")}}
}

func outcome(op string, n int, value string) operation.OutcomeRow {
	return operation.OutcomeRow{Op: op, N: n, Status: operation.Succeeded, Value: text(value)}
}

func after(op string, n int, value string) operation.AfterRow {
	return operation.AfterRow{Op: op, N: n, Effective: text(value)}
}

func cell(session, name, value string) operation.Cell {
	return operation.Cell{Session: session, Name: name, Value: text(value)}
}

// at is a cell computed from a version.
func at(version int64, c operation.Cell) operation.Cell {
	c.Version = version
	return c
}

func numbered(name string, n int) string { return fmt.Sprintf("%s-%03d", name, n) }
