package journaltest

import (
	"context"
	"errors"
	"testing"

	"agentd/operation"
)

func empty(t *testing.T, b *bench) {
	same(t, "rows", b.rows(t, "op"), []operation.Row(nil))
	same(t, "rows of a run", b.runRows(t, "run"), []operation.Row(nil))
	same(t, "rows of no run", b.runRows(t, ""), []operation.Row(nil))
	same(t, "open", b.open(t), []operation.Head(nil))
	if c := b.cells(t, "session"); len(c) > 0 {
		t.Errorf("cells are %v", c)
	}
	b.commit(t) // nothing
}

func allOrNothing(t *testing.T, b *bench) {
	b.commit(t, outcome("taken", 0, "first"))
	c := operation.Commit{
		Rows:  []operation.Row{intent("a", "run"), outcome("a", 0, "x"), intent("b", "run"), outcome("taken", 0, "second"), intent("c", "run")},
		Cells: []operation.Cell{cell("session", "cell", "new"), cell("", "wide", "new")},
	}
	if err := b.j.Commit(b.ctx, c); err == nil {
		t.Fatal("the commit was accepted")
	}
	for _, op := range []string{"a", "b", "c"} {
		same(t, "rows of "+op, b.rows(t, op), []operation.Row(nil))
	}
	same(t, "rows of the run", b.runRows(t, "run"), []operation.Row(nil))
	same(t, "open", b.open(t), []operation.Head{{ID: "taken"}})
	if got := b.cells(t, "session"); len(got) > 0 {
		t.Errorf("cells are %v", got)
	}
	c.Rows[3] = outcome("taken", 1, "second")
	if err := b.j.Commit(b.ctx, c); err != nil {
		t.Fatalf("after a failed commit: %v", err)
	}
	same(t, "rows of a", b.rows(t, "a"), c.Rows[:2])
	same(t, "rows of taken", b.rows(t, "taken"), []operation.Row{outcome("taken", 0, "first"), c.Rows[3]})
	if got := b.cells(t, "session"); len(got) != 2 {
		t.Errorf("cells are %v", got)
	}
}

func repeated(t *testing.T, b *bench) {
	big := outcome("op", 0, long)
	rows := []operation.Row{intent("op", "run"), big}
	b.commit(t, rows...)
	b.commit(t, rows...)
	b.commit(t, big)
	b.commit(t, big, big)
	b.commit(t, rows[0], after("op", 0, "end"), rows[1])
	want := []operation.Row{rows[0], rows[1], after("op", 0, "end")}
	same(t, "rows", b.rows(t, "op"), want)
	same(t, "rows of the run", b.runRows(t, "run"), want)
	same(t, "open", b.open(t), []operation.Head(nil))
}

func repeatedCells(t *testing.T, b *bench) {
	put := func(value string, rows ...operation.Row) {
		t.Helper()
		if err := b.j.Commit(b.ctx, operation.Commit{Rows: rows, Cells: []operation.Cell{at(b.version(t, "wide"), cell("", "wide", value))}}); err != nil {
			t.Fatal(err)
		}
	}
	put("one", intent("a", "run"))
	put("two", intent("b", "run"))
	for _, version := range []int64{0, 1, 2, 7} { // it wasn't acknowledged, and another session has moved on
		c := operation.Commit{Rows: []operation.Row{intent("a", "run")}, Cells: []operation.Cell{at(version, cell("", "wide", "one"))}}
		if err := b.j.Commit(b.ctx, c); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "cell", b.cells(t, "")["wide"], text("two"))
	put("three", intent("a", "run"), outcome("a", 0, "x"))
	same(t, "cell", b.cells(t, "")["wide"], text("three"))
	put("four")
	same(t, "cell", b.cells(t, "")["wide"], text("four"))
}

func conflict(t *testing.T, b *bench) {
	b.commit(t, intent("op", "run"), outcome("op", 0, "what happened"))
	other := intent("op", "run")
	other.Final = text("something else")
	for _, c := range [][]operation.Row{
		{outcome("op", 0, "what did not")},
		{outcome("op", 0, long)},
		{other},
		{after("op", 0, "rides along"), outcome("op", 0, "what did not")},
		{operation.OutcomeRow{Op: "op", Value: text("what happened"), Status: operation.Failed}},
	} {
		err := b.j.Commit(b.ctx, operation.Commit{Rows: c, Cells: []operation.Cell{cell("", "wide", "x")}})
		if !errors.Is(err, operation.ErrConflict) {
			t.Errorf("%+v gave %v, want ErrConflict", c, err)
		}
	}
	same(t, "rows", b.rows(t, "op"), []operation.Row{intent("op", "run"), outcome("op", 0, "what happened")})
	if got := b.cells(t, ""); len(got) > 0 {
		t.Errorf("cells are %v", got)
	}
	b.commit(t, outcome("op", 1, "the same stage under another number"))
}

func conflictWithin(t *testing.T, b *bench) {
	err := b.j.Commit(b.ctx, operation.Commit{Rows: []operation.Row{outcome("op", 0, "one"), outcome("op", 0, "two")}})
	if !errors.Is(err, operation.ErrConflict) {
		t.Errorf("got %v, want ErrConflict", err)
	}
	same(t, "rows", b.rows(t, "op"), []operation.Row(nil))
	same(t, "open", b.open(t), []operation.Head(nil))
	b.commit(t, outcome("op", 0, "one"), outcome("op", 0, "one"))
	same(t, "rows", b.rows(t, "op"), []operation.Row{outcome("op", 0, "one")})
}

func cancelled(t *testing.T, b *bench) {
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	c := operation.Commit{Rows: []operation.Row{intent("op", "run")}, Cells: []operation.Cell{cell("", "wide", "x")}}
	if err := b.j.Commit(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	same(t, "rows", b.rows(t, "op"), []operation.Row(nil))
	same(t, "open", b.open(t), []operation.Head(nil))
	if got := b.cells(t, ""); len(got) > 0 {
		t.Errorf("cells are %v", got)
	}
	if _, err := b.j.Rows(ctx, "op"); !errors.Is(err, context.Canceled) {
		t.Errorf("Rows gave %v, want context.Canceled", err)
	}
}
