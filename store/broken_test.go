package store

import (
	"context"
	"path/filepath"
	"testing"

	"agentd/operation"
)

// TestALookThatBreaksLeavesNobodyItsState: what it had chosen is given up, and all who look later see what is new.
func TestALookThatBreaksLeavesNobodyItsState(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "agentd.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 2 * readers {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("it didn't break")
				}
			}()
			_ = s.view(t.Context(), func(v *snapshot) error {
				if _, err := v.tail(); err != nil {
					return err
				}
				panic("broken")
			})
		}()
	}
	for range 2 * readers {
		if err := s.view(context.Background(), func(v *snapshot) error { _, err := v.tail(); return err }); err != nil {
			t.Error(err)
		}
	}
}

// TestAWriteThatBreaksHoldsNobodyBack: nothing of it stays, and what comes next is written.
func TestAWriteThatBreaksHoldsNobodyBack(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "agentd.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	sh, err := s.ready(operation.Commit{Rows: []operation.Row{operation.OutcomeRow{Op: "broken"}}})
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("it didn't break")
			}
		}()
		_ = s.write(t.Context(), func(w *writer) error {
			if err := w.put(sh); err != nil {
				return err
			}
			panic("broken")
		})
	}()
	row := operation.OutcomeRow{Op: "next"}
	if err := s.Commit(t.Context(), operation.Commit{Rows: []operation.Row{row}}); err != nil {
		t.Error(err)
	}
	ops, err := s.Operations(t.Context(), Filter{})
	if err != nil || len(ops) != 1 || ops[0].Head.ID != "next" {
		t.Errorf("%+v, %v", ops, err)
	}
}
