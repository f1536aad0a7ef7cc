package store

import (
	"context"
	"path/filepath"
	"testing"
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
