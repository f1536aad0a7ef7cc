package agent_test

import (
	"context"
	"regexp"
	"slices"
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

// A call that is rejected is written before one that was decided earlier and runs when its turn comes.
func TestCallsOfAReplyAreReplayedInTheOrderInWhichTheyWereDecided(t *testing.T) {
	d := newDesk(t, `
def count(ctx, call):
    n = ctx.state.get("n", 0) + 1
    return [remember(n = n), annotate(n = n)] + ([reject("no")] if call.arguments["line"] == "b" else [])

hook(id = "count", version = "v1", run = count, point = "tool.before")
`, "", `turns:
  - calls: [{name: note, arguments: {line: a}}, {name: note, arguments: {line: b}}, {name: note, arguments: {line: c}}]
  - text: Done.`)
	if res := d.run(d.task("r", "do it")); res.Status != agent.Completed {
		t.Fatalf("%+v", res)
	}
	var order []operation.Key
	for _, keys := range d.journal.Log() {
		order = append(order, keys...)
	}
	at := func(op string) int {
		return slices.IndexFunc(order, func(k operation.Key) bool { return k.Op == op })
	}
	if at("r/t1/s1/c2") > at("r/t1/s1/c1") {
		t.Error("the rejected call isn't written first, so this shows nothing")
	}
	d.replays(t)
}
