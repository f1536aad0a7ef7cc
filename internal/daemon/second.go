package daemon

import (
	"context"
	"fmt"
	"slices"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/internal/client"
	"agentd/operation"
)

// Some clients have two events before an action: an input can only be changed at the first, and a person only be
// asked at the second. Hooks decide at the first, and what they ask is asked at the second, once the session has
// shown that it comes: where it doesn't, an ask that waits for it would be nobody's.

// asksLater reports whether an ask can wait for the client's next event about the same action.
func (j *judged) asksLater() bool {
	return j.e.Asks != "" && j.e.SessionID != "" && slices.Contains(j.was.asks, shows(j.e.Asks, j.e))
}

// shows is what is known of an event once it came: of this version of the client.
func shows(event string, e client.Event) string { return event + " " + e.Version }

// awaits notes what came of an event for the one that follows it, and of one that follows for those to come.
func (j *judged) awaits(m *memo, h operation.Head, v client.Verdict) {
	switch {
	case j.e.Asks != "" && v.Kind != client.NoOpinion && v.Kind != client.Allow: // it doesn't happen
	case j.e.Asks != "":
		m.awaits = append(slices.Clone(m.awaits), h.ID)
		m.awaits = m.awaits[max(0, len(m.awaits)-maxAwaits):]
	case j.decided != "": // this is the second
		m.awaits = without(m.awaits, j.decided)
		if seen := shows(j.e.Name, j.e); !slices.Contains(m.asks, seen) {
			m.asks = append(slices.Clone(m.asks), seen)
		}
	case j.e.Point == "tool.after" && slices.Contains(m.awaits, h.ID): // it never came
		m.awaits, m.asks = without(m.awaits, h.ID), nil
	case j.unheard != "":
		m.awaits, m.asks = without(m.awaits, j.unheard), nil
	}
}

// unasked reports whether an action ran that its person was to be asked about at an event which never came. It is
// reported as one that ran without being asked about.
func (j *judged) unasked(saved []operation.Row) bool {
	d := decidedOf(saved)
	if d.Outcome != hookpoints.Asked || !slices.Contains(j.was.awaits, d.Head.ID) {
		return false
	}
	j.unheard = d.Head.ID
	return true
}

func without(list []string, item string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == item })
}

// first finds what was decided about an action at its client's first event: of those whose second hasn't come, of
// this turn and not long ago, one that a hook asked about before others.
func (j *judged) first(ctx context.Context) (first []operation.Row, err error) {
	for _, id := range j.was.awaits {
		rows, err := j.d.store.Rows(ctx, id)
		if err != nil {
			return nil, err
		}
		sum := operation.Summarise(rows)
		if len(rows) == 0 || j.over(rows) || sum.Whole || !j.sameAction(rows) {
			continue
		}
		if d := decidedOf(rows); first == nil || d.Outcome == hookpoints.Asked && decidedOf(first).Outcome != hookpoints.Asked {
			first = rows
		}
	}
	return first, nil
}

// sameAction reports whether an event is about the action whose rows are saved. It may know less of it: of a
// command only the text.
func (j *judged) sameAction(saved []operation.Row) bool {
	d := decidedOf(saved)
	in := d.Final.Get("arguments")
	if j.e.Kind == "shell" {
		in = payload.NewObject(payload.Field{Name: "command", Value: in.Get("command")})
	}
	return d.Head.Tool == j.e.Target && d.Scope.Get("turn").Text() == j.e.Turn && normal(in) == normal(j.e.Input)
}

// decidedOf is what stood before an action.
func decidedOf(rows []operation.Row) (d operation.Decided) {
	for _, r := range rows {
		if in, ok := r.(operation.IntentRow); ok {
			d = in.Decided
		}
	}
	return d
}

// same answers the second event about an action as the first one was decided.
func (j *judged) same(ctx context.Context, id string, first []operation.Row, err error) (client.Verdict, error) {
	if err != nil {
		return client.Verdict{}, err
	}
	d := decidedOf(first)
	j.decided = d.Head.ID
	h := j.head(id)
	a, err := j.action(h)
	if err != nil {
		return client.Verdict{}, err
	}
	done, err := j.s.ForeignSame(ctx, a, fmt.Sprintf("decided as %s, at its client's event before", d.Head.ID))
	if err != nil {
		return client.Verdict{}, err
	}
	v, err := j.concluded(ctx, h, done)
	switch d.Outcome {
	case hookpoints.Asked:
		v.Kind, v.Reason = client.Ask, d.Reason
	case hookpoints.Allowed:
		v.Kind, v.Reason = client.Allow, d.Reason
	}
	return v, err
}
