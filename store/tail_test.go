package store

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"agentd/operation"
)

// A reader that began earlier must not be handed what a later one has folded.
func TestASnapshotDoesNotSeeTheFuture(t *testing.T) {
	ctx := context.Background()
	s, err := Open(ctx, filepath.Join(t.TempDir(), "agentd.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	add := func(n int) {
		t.Helper()
		var rows []operation.Row
		for i := range n {
			rows = append(rows, operation.RetryRow{Op: "old", N: int(s.writer.now)*1000 + i})
		}
		rows = append(rows, operation.OutcomeRow{Op: fmt.Sprint("new-", s.writer.now)})
		if err := s.Commit(ctx, operation.Commit{Rows: rows}); err != nil {
			t.Fatal(err)
		}
	}
	see := func(v *snapshot) (n, attempts int) {
		t.Helper()
		ops, err := v.list(Filter{})
		if err != nil {
			t.Fatal(err)
		}
		for _, op := range ops {
			attempts += op.sum.Attempts
		}
		return len(ops), attempts
	}
	add(1)
	for _, n := range []int{1, 2, indexAfter} { // the last brings the table up to date meanwhile
		err := s.view(ctx, func(early *snapshot) error {
			var ops, attempts int
			if err := early.tx.QueryRowContext(ctx, `SELECT count(DISTINCT op), count(*) FILTER (WHERE stage = 'retry') FROM rows`).Scan(&ops, &attempts); err != nil {
				return err
			}
			add(n)
			err := s.view(ctx, func(late *snapshot) error {
				if o, a := see(late); o != ops+1 || a != attempts+n {
					t.Errorf("the later one sees %d operations and %d attempts, want %d and %d", o, a, ops+1, attempts+n)
				}
				return nil
			})
			if o, a := see(early); o != ops || a != attempts {
				t.Errorf("the earlier one sees %d operations and %d attempts, want %d and %d", o, a, ops, attempts)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.view(ctx, func(v *snapshot) error {
			if o, _ := see(v); o == 0 {
				t.Error("nothing is seen")
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}
