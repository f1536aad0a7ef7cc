package agent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"agentd"
	"agentd/hookpoints"
	"agentd/internal/agent"
	"agentd/operation"
)

var errStops = errors.New("the daemon stops")

// TestARunThatIsCutOffAnywhereGoesOnThere ends a run's context at each named place between two durable
// steps, as a person or the daemon's end does: whatever goes on still ends well, what is resumed loses
// nothing and repeats nothing, and no hook is blamed.
func TestARunThatIsCutOffAnywhereGoesOnThere(t *testing.T) {
	history, cells, places, _ := undisturbed(t)
	for i, place := range places {
		cause := []error{agent.ErrCancel, errStops}[i%2] // places of a kind come often enough to meet both
		t.Run(fmt.Sprintf("%02d %s, %v", i+1, place, cause), func(t *testing.T) {
			d := newDying(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			n := i + 1
			d.at = func(string) {
				if n--; n == 0 {
					cancel(cause)
				}
			}
			res, err := d.start(ctx, d.task("r", "do it"))
			if err != nil {
				t.Fatal(err)
			}
			want := map[error]string{agent.ErrCancel: agent.Cancelled, errStops: agent.Interrupted}[cause]
			if res.Status != want && res.Status != agent.Completed { // at its very end it is complete
				t.Errorf("%+v, want %s", res, want)
			}
			d.dead()
			d.at = nil
			d.blameless()
			d.finish()
			d.blameless()
			wanted := cells
			if res.Status == agent.Cancelled { // run.after has counted that too
				wanted = d.cells()
			}
			d.check(t, history, wanted)
		})
	}
}

// blameless fails the test if a record says that a hook failed.
func (d *desk) blameless() {
	d.t.Helper()
	rows, err := d.journal.RunRows(d.t.Context(), "r")
	if err != nil {
		d.t.Fatal(err)
	}
	for _, r := range rows {
		var recs []hookpoints.Record
		switch r := r.(type) {
		case operation.FailedRow:
			d.t.Errorf("%s failed at %s: %s", r.By, r.Point, r.Error)
		case operation.PointRow:
			recs = r.Records
		case operation.IntentRow:
			recs = r.Records
		case operation.AfterRow:
			recs = r.Records
		}
		for _, rec := range recs {
			if rec.Error != "" {
				d.t.Errorf("%s at %s is said to be %s", rec.BindingID, rec.Point, rec.Error)
			}
		}
	}
}

// TestAContextThatEndsInsideOfAHookIsNotItsFailure: the chain is computed again when the run goes on,
// nothing of it counts, and the net of the wall clock is fresh.
func TestAContextThatEndsInsideOfAHookIsNotItsFailure(t *testing.T) {
	for _, point := range []string{"run.before", "session.start", "turn.before", "step.before", "model.chat.before", "model.chat.after", "tool.before", "tool.after", "step.after", "turn.after"} {
		for name, cause := range map[string]error{"by a person": agent.ErrCancel, "by the daemon": errStops} {
			t.Run(point+" "+name, func(t *testing.T) {
				calls := 0
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				hook := agentd.GoHook{ID: "ends", Version: "1", Points: []string{point}, ReplaySafe: true, Run: func(ctx context.Context, _ *hookpoints.Call) ([]hookpoints.Decision, error) {
					if calls++; calls == 1 {
						cancel(cause)
						return nil, ctx.Err()
					}
					if err := ctx.Err(); err != nil {
						return nil, err
					}
					return nil, nil
				}}
				d := newDesk(t, "", "", oneNote, hook)
				want := map[error]string{agent.ErrCancel: agent.Cancelled, errStops: agent.Interrupted}[cause]
				if res, err := d.start(ctx, d.task("r", "do it")); err != nil || res.Status != want {
					t.Fatalf("%+v, %v, want %s", res, err, want)
				}
				d.blameless()
				d.want(d.task("r", "do it"), agent.Completed, "Done.")
				d.blameless()
				if calls < 2 {
					t.Errorf("the hook was called %d times", calls)
				}
				same(t, "witness", d.witness(), []string{"one"})
				same(t, "requests", len(d.requests), 2)
			})
		}
	}
}
