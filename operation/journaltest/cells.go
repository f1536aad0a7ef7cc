package journaltest

import (
	"errors"
	"sync"
	"testing"

	"agentd/hookpoints/payload"
	"agentd/operation"
)

func versions(t *testing.T, b *bench) {
	put := func(cells ...operation.Cell) {
		t.Helper()
		if err := b.j.Commit(b.ctx, operation.Commit{Cells: cells}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(what string, of map[string]int64) {
		t.Helper()
		got, err := b.j.Cells(b.ctx, "s")
		if err != nil {
			t.Fatal(err)
		}
		have := map[string]int64{}
		for name, c := range got {
			have[name] = c.Version
		}
		same(t, what, have, of)
	}
	put(cell("s", "own", "1"), cell("", "wide", "1"))
	want("first", map[string]int64{"own": 1, "wide": 1})
	put(cell("s", "own", "1"))
	put(at(1, cell("", "wide", "1")))
	want("the same value again", map[string]int64{"own": 2, "wide": 2})
	put(at(7, cell("s", "own", "2")), at(9, cell("s", "other", "1"))) // a session is the only one that writes there
	want("a session's version isn't compared", map[string]int64{"own": 3, "wide": 2, "other": 1})
	put(at(2, cell("", "wide", "2")), at(3, cell("", "wide", "3")))
	want("twice in one commit", map[string]int64{"own": 3, "wide": 4, "other": 1})
	b.commit(t, intent("op", "run"))
	want("nothing of it", map[string]int64{"own": 3, "wide": 4, "other": 1})
	put(operation.Cell{Session: "s", Name: "own"})
	want("removed", map[string]int64{"wide": 4, "other": 1})
}

func stale(t *testing.T, b *bench) {
	big := outcome("op", 0, long)
	for i, c := range []struct {
		from int64 // computed from
		ok   bool
	}{{1, false}, {-1, false}, {0, true}, {0, false}, {2, false}, {1, true}, {1, false}, {0, false}, {3, false}, {2, true}} {
		op := numbered("op", i)
		commit := operation.Commit{
			Rows:  []operation.Row{intent(op, "run"), outcome(op, 0, "x"), outcome(op, 1, long+op)},
			Cells: []operation.Cell{cell("s", "own "+op, "x"), at(c.from, cell("", "wide", op)), cell("", "new "+op, "x")},
		}
		before := b.cells(t, "s")
		err := b.j.Commit(b.ctx, commit)
		if c.ok {
			if err != nil {
				t.Fatalf("%s: %v", op, err)
			}
			same(t, "rows of "+op, b.rows(t, op), commit.Rows)
			same(t, "the cell", b.cells(t, "s")["wide"], text(op))
			continue
		}
		if !errors.Is(err, operation.ErrStale) || errors.Is(err, operation.ErrConflict) {
			t.Errorf("%s: got %v, want ErrStale", op, err)
		}
		same(t, "rows of "+op, b.rows(t, op), []operation.Row(nil))
		same(t, "cells after "+op, b.cells(t, "s"), before)
		for _, h := range b.open(t) {
			if h.ID == op {
				t.Errorf("%s is open", op)
			}
		}
	}
	// A row that is there doesn't help one that isn't.
	b.commit(t, big)
	err := b.j.Commit(b.ctx, operation.Commit{Rows: []operation.Row{big, outcome("op", 1, "x")}, Cells: []operation.Cell{at(1, cell("", "wide", "x"))}})
	if !errors.Is(err, operation.ErrStale) {
		t.Errorf("got %v, want ErrStale", err)
	}
	same(t, "rows", b.rows(t, "op"), []operation.Row{big})
	// And what was refused can be committed over what is there now.
	if err := b.j.Commit(b.ctx, operation.Commit{Rows: []operation.Row{big, outcome("op", 1, "x")}, Cells: []operation.Cell{at(b.version(t, "wide"), cell("", "wide", "x"))}}); err != nil {
		t.Error(err)
	}
}

// compared: a project's cell without a value is never removed, and nothing of its commit is there if it
// moved on.
func compared(t *testing.T, b *bench) {
	put := func(op string, cells ...operation.Cell) error {
		return b.j.Commit(b.ctx, operation.Commit{Rows: []operation.Row{intent(op, "run")}, Cells: cells})
	}
	for i, c := range []struct {
		ok    bool
		cells []operation.Cell
	}{
		{true, []operation.Cell{{Name: "wide"}}}, // there is none
		{false, []operation.Cell{{Name: "wide", Version: 1}}},
		{true, []operation.Cell{cell("", "wide", "x"), cell("", "other", "x")}},
		{false, []operation.Cell{{Name: "wide"}}},
		{true, []operation.Cell{{Name: "wide", Version: 1}}},
		{true, []operation.Cell{{Name: "wide", Version: 1}, {Name: "other", Version: 1}, {Name: "never"}}},
		{false, []operation.Cell{{Name: "wide", Version: 2}}},
		{false, []operation.Cell{{Name: "wide", Version: -1}}},
		{true, []operation.Cell{{Name: "wide", Version: 1}, at(1, cell("", "wide", "y"))}},
		{true, []operation.Cell{at(1, cell("", "other", "y")), {Name: "wide", Version: 2}}},
		{false, []operation.Cell{at(2, cell("", "other", "z")), {Name: "wide", Version: 1}}},
		{false, []operation.Cell{{Name: "wide", Version: 2}, at(1, cell("", "other", "z"))}},
	} {
		op := numbered("op", i)
		err := put(op, c.cells...)
		if c.ok != (err == nil) || err != nil && !errors.Is(err, operation.ErrStale) {
			t.Errorf("%s, %+v: %v", op, c.cells, err)
		}
		if got := len(b.rows(t, op)) == 1; got != c.ok {
			t.Errorf("%s is there: %v", op, got)
		}
	}
	same(t, "cells", b.cells(t, ""), map[string]payload.Value{"wide": text("y"), "other": text("y")})
	if b.version(t, "wide") != 2 || b.version(t, "other") != 2 {
		t.Error("comparing counts as writing")
	}
}

// counted has writers that add one to the same cell, each again until nobody was faster.
func counted(t *testing.T, b *bench) {
	const writers, each = 8, 12
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				op := numbered(numbered("writer", w), i)
				for {
					now, err := b.j.Cells(b.ctx, "")
					if err != nil {
						t.Error(err)
						return
					}
					n, _ := now["n"].Value.Int64()
					err = b.j.Commit(b.ctx, operation.Commit{Rows: []operation.Row{intent(op, "run")},
						Cells: []operation.Cell{{Name: "n", Value: payload.NewInt(n + 1), Version: now["n"].Version}, cell(op, "mine", op)}})
					if err == nil {
						break
					}
					if !errors.Is(err, operation.ErrStale) {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	now, err := b.j.Cells(b.ctx, "")
	if n, _ := now["n"].Value.Int64(); err != nil || n != writers*each || now["n"].Version != n {
		t.Errorf("the cell is %d at version %d, want %d of both, %v", n, now["n"].Version, writers*each, err)
	}
	if n := len(b.runRows(t, "run")); n != writers*each {
		t.Errorf("%d rows, want %d", n, writers*each)
	}
}
