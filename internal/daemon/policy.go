package daemon

import (
	"slices"
	"time"

	"agentd/hookpoints"
	"agentd/internal/client"
	"agentd/internal/config"
)

// usualLimit is how long a client waits of which nobody knows it.
const usualLimit = 30 * time.Second

// share of a client's limit within which it is answered, in percent: nearly all clients go on as if nothing
// had been said when a hook is late.
const share = 80

// Patience is how long the answer to an event may take where nobody says it: 80 % of how long the client
// waits if nobody configured it.
func Patience(e client.Event) time.Duration {
	limit := usualLimit
	if k, ok := client.KnownEvent(e.Client, e.Name); ok && k.Limit > 0 {
		limit = k.Limit
	}
	return limit * share / 100
}

// points is the catalogue, for policies.
var points = hookpoints.Standard()

// closed reports whether an event that can't be decided is refused. By default it is where hooks may hold
// something back: before an action, a prompt or a request, and what came of them. Where hooks only look,
// it isn't.
func closed(c config.Clients, point string) bool {
	switch {
	case slices.Contains(c.Closed, point):
		return true
	case slices.Contains(c.Open, point):
		return false
	}
	p := points.Point(point)
	switch {
	case p == nil:
		return true
	case point == "client.event", point == "context.compact.before", point == "context.compact.after", p.Observation:
		return false
	}
	return p.Allows&hookpoints.SetOf(hookpoints.Reject, hookpoints.Deny, hookpoints.Patch) != 0
}

// Undecided is the verdict about an event that can't be decided.
func Undecided(c config.Clients, e client.Event, cause error) client.Verdict {
	reason := "agentd can't decide this: " + cause.Error()
	// Without a name nobody knows what it was.
	if e.Name != "" && !closed(c, e.Point) {
		return client.Verdict{Kind: client.NoOpinion}
	}
	return refusal(e.Point, reason)
}

// refusal holds back what an event is about: before something happens it is denied, and after that the
// agent stops, but for a tool's result, which can be replaced by the reason.
func refusal(point, reason string) client.Verdict {
	if p := points.Point(point); p != nil && p.Phase == hookpoints.After && point != "tool.after" {
		return client.Verdict{Kind: client.Stop, Reason: reason}
	}
	return client.Verdict{Kind: client.Deny, Reason: reason}
}
