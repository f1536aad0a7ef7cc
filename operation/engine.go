package operation

import (
	"bytes"
	"context"
	"fmt"

	"agentd/hookpoints/payload"
)

// EngineRow says that a run may go on under another agentd than the one that it began with, because a
// person accepted how the two differ. Rows of the run that follow were computed by the other one.
type EngineRow struct {
	Op          string
	N           int
	Who         string
	Differences payload.Value // an array
}

// Key implements Row.
func (r EngineRow) Key() Key { return Key{r.Op, StEngine, r.N} }

// AcceptedEngine is the last acceptance among the rows of a run.
func AcceptedEngine(rows []Row) (last EngineRow, ok bool) {
	for _, r := range rows {
		if r, is := r.(EngineRow); is {
			last, ok = r, true
		}
	}
	return last, ok
}

// AcceptEngine records that a run goes on under another agentd. What was accepted last needn't be
// accepted again, and is told so.
func (r *Runner) AcceptEngine(ctx context.Context, run, who string, differences payload.Value) error {
	rows, err := r.Journal.Rows(ctx, run)
	if err != nil {
		return fmt.Errorf("run %s: %w", run, err)
	}
	row := EngineRow{Op: run, Who: who, Differences: differences}
	if last, ok := AcceptedEngine(rows); ok {
		if bytes.Equal(last.Differences.JSON(), differences.JSON()) {
			return nil
		}
		row.N = last.N + 1
	}
	if err := r.Journal.Commit(ctx, Commit{Rows: []Row{row}}); err != nil {
		return fmt.Errorf("%w: %w", ErrPersistence, err)
	}
	return nil
}
