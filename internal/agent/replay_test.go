package agent_test

import (
	"context"
	"regexp"
	"testing"

	"agentd/hookpoints"
	"agentd/internal/agent"
	"agentd/internal/replay"
	"agentd/operation"
)

// unreplayable are the reasons that recorded operations of tests may have.
var unreplayable = regexp.MustCompile(`isn't declared replay-safe|the wall clock ended the hook|isn't recorded$`)

// replays computes everything that the desk's journal holds again, under the revisions that it is
// pinned to: every row has to come out as it is.
func (d *desk) replays(t *testing.T) {
	t.Helper()
	report, err := replay.Run(context.Background(), replay.Options{Journal: d.journal, Chains: d.rt.Planner(), Pinned: true,
		Shape: func(of operation.Decided) (operation.Action, error) { return agent.Shape(hookpoints.Standard(), of) }})
	if err != nil {
		t.Errorf("replay: %v", err)
	}
	for _, c := range report.Changed {
		if c.Before.Get("by").Text() == "shipped/flaky" { // it isn't pure, whatever it says
			continue
		}
		t.Errorf("replayed otherwise: %s at %s\n was %s\n now %s", c.ID, c.Point, c.Before, c.After)
	}
	for _, u := range report.Unreplayable {
		if !unreplayable.MatchString(u.Reason) {
			t.Errorf("can't be replayed: %s: %s", u.ID, u.Reason)
		}
	}
}
