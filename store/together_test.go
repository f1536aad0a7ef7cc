package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"agentd/operation"
	"agentd/store"
)

// TestReadersSeeWhatIsCommittedAndNothingElse while several write, some in vain: who has committed sees it at once, no
// list goes back, what failed is in none, and in the end all see what somebody sees who comes then.
func TestReadersSeeWhatIsCommittedAndNothingElse(t *testing.T) {
	for name, key := range map[string]*store.Key{"plain": nil, "encrypted": someKey(3)} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "agentd.db")
			s := openUnder(t, path, key)
			commit(t, s, operation.OutcomeRow{Op: "taken", Status: "a"})
			beside := readUnder(t, path, key)
			const writers, commits, shared = 4, 24, 3
			var writing, reading sync.WaitGroup
			over := make(chan struct{})
			for w := range writers {
				writing.Go(func() {
					for i := range commits {
						own, all := fmt.Sprintf("op-%d-%d", w, i/4), fmt.Sprintf("shared-%d", i%shared)
						rows := []operation.Row{operation.RetryRow{Op: own, N: i % 4}, operation.RetryRow{Op: all, N: w*commits + i}}
						if err := s.Commit(t.Context(), operation.Commit{Rows: rows}); err != nil {
							t.Error(err)
							return
						}
						if got, err := s.Rows(t.Context(), own); err != nil || len(got) != i%4+1 {
							t.Errorf("after its commit %d %s has %d rows, %v", i, own, len(got), err)
						}
						bad := []operation.Row{operation.RetryRow{Op: own, N: 100}, operation.RetryRow{Op: "bad"}, operation.OutcomeRow{Op: "taken", Status: "b"}}
						if err := s.Commit(t.Context(), operation.Commit{Rows: bad}); !errors.Is(err, operation.ErrConflict) {
							t.Errorf("what can't be committed: %v", err)
						}
					}
				})
			}
			for _, r := range []*store.Reader{s.Reader, s.Reader, s.Reader, beside} {
				reading.Go(func() {
					watch(t, r, over)
				})
			}
			reading.Go(func() { // who doesn't wait disturbs nobody
				for {
					ctx, cancel := context.WithTimeout(t.Context(), 50*time.Microsecond)
					_, err := s.Operations(ctx, store.Filter{})
					cancel()
					if err != nil && !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("who doesn't wait is told %v", err)
					}
					select {
					case <-over:
						return
					default:
					}
				}
			})
			writing.Wait()
			close(over)
			reading.Wait()
			want := seen(t, readUnder(t, path, key))
			same(t, "in the process that writes", seen(t, s.Reader), want)
			same(t, "beside it", seen(t, beside), want)
			if n := want.Report.Rows; n != 1+2*writers*commits {
				t.Errorf("there are %d rows", n)
			}
		})
	}
}

// watch lists operations again and again, at least once after it is over.
func watch(t *testing.T, r *store.Reader, over <-chan struct{}) {
	had := map[string]store.OperationRow{}
	for last := false; !last; {
		select {
		case <-over:
			last = true
		default:
		}
		ops, err := r.Operations(t.Context(), store.Filter{})
		if err != nil {
			t.Error(err)
			return
		}
		if len(ops) < len(had) {
			t.Errorf("of %d operations %d are left", len(had), len(ops))
		}
		for _, op := range ops {
			if was := had[op.Head.ID]; op.Attempts < was.Attempts || op.Updated.Before(was.Updated) || op.Head.ID == "bad" {
				t.Errorf("%+v is seen after %+v", op, was)
			}
			had[op.Head.ID] = op
		}
	}
}

// TestWhoeverReadsWhenItIsClosedIsToldSo: nobody's answer is cut off.
func TestWhoeverReadsWhenItIsClosedIsToldSo(t *testing.T) {
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "agentd.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, operation.RetryRow{Op: "a"})
	const readers = 8
	var reading sync.WaitGroup
	began := make(chan struct{}, readers)
	for i := range readers {
		reading.Go(func() {
			for n := 0; ; n++ {
				rows, err := s.Rows(t.Context(), "a")
				found := len(rows)
				if i%2 == 0 && err == nil {
					var ops []store.OperationRow
					ops, err = s.Operations(t.Context(), store.Filter{})
					found = len(ops)
				}
				if n == 1 {
					began <- struct{}{}
				}
				if errors.Is(err, store.ErrClosed) {
					return
				}
				if err != nil || found != 1 {
					t.Errorf("%d are found, %v", found, err)
					return
				}
			}
		})
	}
	for range readers {
		<-began
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	reading.Wait()
}
