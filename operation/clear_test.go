package operation_test

import (
	"errors"
	"fmt"
	"testing"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/operation"
)

func TestStateIsClearedInOneCommitAndTheRowsSayWhatItWas(t *testing.T) {
	l := newLab(t, "")
	put := func(cells ...operation.Cell) {
		t.Helper()
		if err := l.journal.Commit(t.Context(), operation.Commit{Cells: cells}); err != nil {
			t.Fatal(err)
		}
	}
	own := operation.Cell{Session: "s", Name: "project/own", Value: parsed(`{"a":1,"b":null}`)}
	sub := operation.Cell{Session: "s", Name: "project/own@sub-1", Value: parsed(`{"c":[1]}`)}
	wide := operation.Cell{Name: wideCell, Value: parsed(`{"n":5}`)}
	put(own, sub, wide, operation.Cell{Session: "s", Name: "user/other", Value: parsed(`{"kept":1}`)})
	n := 0
	head := func() operation.Head {
		n++
		return operation.Head{ID: fmt.Sprintf("op-%d", n), Kind: "state", Began: began}
	}
	clear := func() error {
		return l.rt.Runner().ClearState(t.Context(), []operation.Cell{own, sub, wide}, head)
	}
	if err := clear(); !errors.Is(err, operation.ErrStale) || errors.Is(err, operation.ErrPersistence) { // it was read at version 0
		t.Fatalf("over a project's cell that moved on: %v", err)
	}
	same(t, "nothing of it", l.cells(), lines([]string{wideCell + ` {"n":5}`, `project/own {"a":1,"b":null}`, `project/own@sub-1 {"c":[1]}`, `user/other {"kept":1}`}))
	wide.Version, n = 1, 0
	if err := clear(); err != nil {
		t.Fatal(err)
	}
	same(t, "cells", l.cells(), lines([]string{wideCell + ` {}`, `user/other {"kept":1}`}))
	for i, c := range []struct {
		cell operation.Cell
		of   hookpoints.Delta
		head operation.Head
	}{
		{own, hookpoints.Delta{Cell: "project/own"}, operation.Head{SessionID: "s"}},
		{sub, hookpoints.Delta{Cell: "project/own"}, operation.Head{SessionID: "s", Instance: "sub-1"}},
		{wide, hookpoints.Delta{Cell: wideCell}, operation.Head{}},
	} {
		row := rowsOf[operation.PointRow](l, fmt.Sprintf("op-%d", i+1))[0]
		got := row.State[0]
		if got.Cell != c.of.Cell || got.Read != c.cell.Value.Digest() || row.Head.SessionID != c.head.SessionID || row.Head.Instance != c.head.Instance {
			t.Errorf("%s: %+v in %+v", c.cell.Name, got, row.Head)
		}
		same(t, "what the delta makes of it", hookpoints.Remembered(c.cell.Value, got.Set).String(), payload.NewObject().String())
		if sum := operation.Summarise([]operation.Row{row}); !sum.Done() || sum.Reason != "cleared" {
			t.Errorf("%+v", sum)
		}
	}
	// A full disk is no conflict.
	l.journal.FailAt(l.journal.Commits()+1, nil)
	wide.Version = 2
	if err := clear(); !errors.Is(err, operation.ErrPersistence) {
		t.Errorf("got %v", err)
	}
}
