package journaltest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"agentd/operation"
)

func concurrent(t *testing.T, b *bench) {
	const writers, ops = 24, 12
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			session := numbered("session", w)
			for i := range ops {
				op, run := numbered(session, i), numbered("run", w)
				c := operation.Commit{Rows: []operation.Row{intent(op, run)}, Cells: []operation.Cell{cell(session, "n", numbered("op", i)), at(int64(i), cell("", session, numbered("op", i)))}}
				if err := b.j.Commit(b.ctx, c); err != nil {
					t.Error(err)
					return
				}
				if rows, err := b.j.Rows(b.ctx, op); err != nil || len(rows) != 1 {
					t.Errorf("what was acknowledged isn't there: %d rows, %v", len(rows), err)
				}
				if err := b.j.Commit(b.ctx, operation.Commit{Rows: []operation.Row{outcome(op, 0, "x"), after(op, 0, "shared "+long)}}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	for w := range writers {
		var want []operation.Row
		for i := range ops {
			op := numbered(numbered("session", w), i)
			want = append(want, intent(op, numbered("run", w)), outcome(op, 0, "x"), after(op, 0, "shared "+long))
		}
		same(t, "rows of a run", b.runRows(t, numbered("run", w)), want)
		same(t, "cell", b.cells(t, numbered("session", w))["n"], text(numbered("op", ops-1)))
	}
	if n := len(b.cells(t, "")); n != writers {
		t.Errorf("the project has %d cells, want %d", n, writers)
	}
	same(t, "open", b.open(t), []operation.Head(nil))
}

func race(t *testing.T, b *bench) {
	const writers, rounds = 16, 8
	for i := range rounds {
		op := numbered("op", i)
		won := make([]bool, writers)
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				me := numbered("me", w)
				if err := b.j.Commit(b.ctx, operation.Commit{Rows: []operation.Row{outcome(numbered(me, i), 0, "mine")}}); err != nil {
					t.Errorf("a commit without a conflict: %v", err)
				}
				err := b.j.Commit(b.ctx, operation.Commit{Rows: []operation.Row{intent(numbered("loser", w*rounds+i), "run"), outcome(op, 0, me)}})
				if won[w] = err == nil; err != nil && !errors.Is(err, operation.ErrConflict) {
					t.Errorf("got %v, want ErrConflict", err)
				}
			})
		}
		wg.Wait()
		winner := -1
		for w, yes := range won {
			if !yes {
				same(t, "what came with a conflict", b.rows(t, numbered("loser", w*rounds+i)), []operation.Row(nil))
				continue
			}
			if winner >= 0 {
				t.Fatalf("%d and %d both won", winner, w)
			}
			winner = w
		}
		if winner < 0 {
			t.Fatal("nobody won")
		}
		same(t, "the row", b.rows(t, op), []operation.Row{outcome(op, 0, numbered("me", winner))})
		same(t, "what came with it", b.rows(t, numbered("loser", winner*rounds+i)), []operation.Row{intent(numbered("loser", winner*rounds+i), "run")})
	}
	if n := len(b.runRows(t, "run")); n != rounds {
		t.Errorf("the run has %d rows, want %d", n, rounds)
	}
}

func wholeCommits(t *testing.T, b *bench) {
	ctx, stop := context.WithCancel(b.ctx)
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for seen := 0; ctx.Err() == nil; {
				rows, err := b.j.RunRows(b.ctx, "run")
				if err != nil || len(rows)%3 != 0 || len(rows) < seen {
					t.Errorf("read %d rows after %d, %v", len(rows), seen, err)
					return
				}
				seen = len(rows)
			}
		})
	}
	for i := range 40 {
		b.commit(t, intent(numbered("a", i), "run"), outcome(numbered("a", i), 0, long), intent(numbered("b", i), "run"))
	}
	stop()
	readers.Wait()
}
