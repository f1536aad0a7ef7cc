package journaltest

import (
	"maps"
	"slices"
	"testing"

	"agentd/hookpoints/payload"
	"agentd/operation"
)

func order(t *testing.T, b *bench) {
	// Neither ids nor stages nor numbers sort in the order of commits.
	b.commit(t, intent("z", "run"))
	b.commit(t, intent("a", "run"), outcome("z", 5, "five"))
	b.commit(t, after("z", 5, "five"), outcome("a", 0, "x"), operation.RetryRow{Op: "z", N: 9, Why: "why"})
	b.commit(t, outcome("z", 2, "two"))
	same(t, "rows of z", b.rows(t, "z"), []operation.Row{intent("z", "run"), outcome("z", 5, "five"), after("z", 5, "five"),
		operation.RetryRow{Op: "z", N: 9, Why: "why"}, outcome("z", 2, "two")})
	same(t, "rows of a", b.rows(t, "a"), []operation.Row{intent("a", "run"), outcome("a", 0, "x")})
}

func runOrder(t *testing.T, b *bench) {
	var want []operation.Row
	for i := range 20 {
		first, second := numbered("op", (i*7)%20), numbered("elsewhere", i)
		b.commit(t, intent(first, "run"), intent(second, "other"))
		want = append(want, intent(first, "run"))
		if i >= 3 {
			earlier := numbered("op", ((i-3)*7)%20)
			b.commit(t, outcome(second, 0, "x"), outcome(earlier, 0, "y"), after(earlier, 0, "z"))
			want = append(want, outcome(earlier, 0, "y"), after(earlier, 0, "z"))
		}
	}
	same(t, "rows of the run", b.runRows(t, "run"), want)
	same(t, "rows of no run", b.runRows(t, ""), []operation.Row(nil))
	same(t, "rows of another run", b.runRows(t, "runs"), []operation.Row(nil))
	if n := len(b.runRows(t, "other")); n != 37 {
		t.Errorf("the other run has %d rows, want 37", n)
	}
}

func opened(t *testing.T, b *bench) {
	full := operation.Head{ID: "full", Parent: "p", Kind: "run", RunID: "r", SessionID: "s", Instance: "i", Client: "c", Agent: "a", Tool: "t",
		Foreign: true, Composite: true, Revisions: operation.Triple{Shipped: "x", User: "y", Project: "z"}, Began: began}
	whole := operation.IntentRow{State: operation.Running, Decided: operation.Decided{Head: full}}
	b.commit(t, whole)
	b.commit(t, intent("z", "run"), intent("m", "run"))
	b.commit(t, intent("a", "run"))
	head := func(op string) operation.Head { return intent(op, "run").Head }
	same(t, "open", b.open(t), []operation.Head{full, head("z"), head("m"), head("a")})
	b.commit(t, outcome("m", 0, "x"), after("m", 0, "x"))
	b.commit(t, outcome("z", 0, "x"))
	same(t, "open", b.open(t), []operation.Head{full, head("z"), head("a")})
	b.commit(t, operation.RetryRow{Op: "m", N: 1}) // it is taken up again, in its old place
	same(t, "open", b.open(t), []operation.Head{full, head("z"), head("m"), head("a")})
}

func headless(t *testing.T, b *bench) {
	failed := operation.FailedRow{Op: "op", Point: "turn.before", By: "hook", Error: "budget"}
	b.commit(t, failed)
	same(t, "open", b.open(t), []operation.Head{{ID: "op"}})
	same(t, "rows", b.rows(t, "op"), []operation.Row{failed})
	b.commit(t, intent("op", "run"))
	same(t, "open", b.open(t), []operation.Head{intent("op", "run").Head})
	same(t, "rows of the run", b.runRows(t, "run"), []operation.Row{failed, intent("op", "run")})
}

func cells(t *testing.T, b *bench) {
	put := func(cells ...operation.Cell) {
		t.Helper()
		if err := b.j.Commit(b.ctx, operation.Commit{Cells: cells}); err != nil {
			t.Fatal(err)
		}
	}
	put(cell("s", "a", "1"), cell("s", "b", "1"))
	put(cell("s", "a", "2"), cell("s", "c", "1"), cell("s", "c", "2"))
	put(cell("s", "große Zelle/✓ 'x'", long), cell("s", "b", ""))
	put(operation.Cell{Session: "s", Name: "c"}, operation.Cell{Session: "s", Name: "never"})
	same(t, "cells", b.cells(t, "s"), map[string]payload.Value{"a": text("2"), "b": text(""), "große Zelle/✓ 'x'": text(long)})
	for i, v := range samples(t) {
		put(operation.Cell{Session: "s", Name: "a", Value: v})
		same(t, "cell "+numbered("value", i), b.cells(t, "s")["a"], v)
	}
}

// unreadable values are refused with the whole commit: what was accepted has to come back.
func unreadable(t *testing.T, b *bench) {
	deep := text("x")
	for range payload.MaxDepth + 1 {
		deep = payload.NewArray([]payload.Value{deep})
	}
	for _, c := range []operation.Commit{
		{Rows: []operation.Row{intent("op", "run")}, Cells: []operation.Cell{{Session: "s", Name: "n", Value: deep}}},
		{Rows: []operation.Row{intent("op", "run"), operation.OutcomeRow{Op: "op", Value: deep}}},
	} {
		if err := b.j.Commit(b.ctx, c); err == nil {
			t.Error("it was accepted")
		}
	}
	same(t, "rows", b.rows(t, "op"), []operation.Row(nil))
	if got := b.cells(t, "s"); len(got) > 0 {
		t.Errorf("cells are %v", got)
	}
}

func cellIsolation(t *testing.T, b *bench) {
	c := []operation.Cell{cell("s1", "a", "1"), cell("s2", "a", "2"), cell("s2", "b", "2"), cell("", "wide", "p"), cell("", "both", "p"), cell("s1", "both", "1")}
	if err := b.j.Commit(b.ctx, operation.Commit{Cells: c}); err != nil {
		t.Fatal(err)
	}
	for session, want := range map[string]map[string]string{
		"s1":     {"a": "1", "wide": "p", "both": "1"},
		"s2":     {"a": "2", "b": "2", "wide": "p", "both": "p"},
		"s":      {"wide": "p", "both": "p"},
		"S1":     {"wide": "p", "both": "p"},
		"":       {"wide": "p", "both": "p"},
		"s1' --": {"wide": "p", "both": "p"},
	} {
		got := map[string]string{}
		for name, v := range b.cells(t, session) {
			got[name] = v.Text()
		}
		if !maps.Equal(got, want) {
			t.Errorf("cells of %q are %v, want %v", session, slices.Sorted(maps.Keys(got)), want)
		}
	}
}
