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

// asksLater reports whether an ask can wait for the client's next event about the same action. None that waits is
// forgotten for another one.
func (j *judged) asksLater() bool {
	return j.e.Asks != "" && len(j.was.awaits) < maxAwaits && j.e.SessionID != "" && slices.Contains(j.was.asks, shows(j.e.Asks, j.e))
}

// shows is what is known of an event once it came: of this version of the client.
func shows(event string, e client.Event) string { return event + " " + e.Version }

// awaits notes what came of an event for the one that follows it, and of one that follows for those to come.
func (j *judged) awaits(m *memo, h operation.Head, v client.Verdict) {
	if j.e.Point == "tool.after" {
		m.heard = without(m.heard, h.ID)
	}
	switch {
	case j.e.Asks != "" && v.Kind != client.NoOpinion && v.Kind != client.Allow: // it doesn't happen
	case j.e.Asks != "" && len(m.awaits) < maxAwaits:
		m.awaits = append(slices.Clone(m.awaits), h.ID)
	case j.e.Asks != "": // its next event is judged anew
	case j.e.Second && j.e.Point == "tool.before":
		m.second(j)
	case j.e.Point == "tool.after" && slices.Contains(m.awaits, h.ID): // it never came
		m.awaits, m.asks = without(m.awaits, h.ID), nil
	case j.unheard != "":
		m.awaits, m.asks = without(m.awaits, j.unheard), nil
	}
}

// second notes that a second event came, and whose it may have been.
func (m *memo) second(j *judged) {
	if j.decided != "" {
		m.comes(j.decided)
		if seen := shows(j.e.Name, j.e); !slices.Contains(m.asks, seen) {
			m.asks = append(slices.Clone(m.asks), seen)
		}
	}
	if j.asked != nil {
		m.comes(j.asked.Head.ID)
	}
}

// comes notes that the second event about an action came.
func (m *memo) comes(id string) {
	m.awaits, m.heard = without(m.awaits, id), append(without(m.heard, id), id)
	m.heard = m.heard[max(0, len(m.heard)-2*maxAwaits):]
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

// firsts is what is known of an action at its client's second event.
type firsts struct {
	answered string             // the operation that it was decided as at its first, "" if none fits
	asked    *operation.Decided // one that its person is to be asked about, and that may be this very one
	allowed  bool               // whichever it is, it is allowed
}

// first finds what was decided about an action at its client's first event, of this turn and not long ago; a question
// waits as long as the turn, as a person may be looking at what the client itself wants to know first. Its second event
// may fit several, as it knows less of the action: of these one that a hook asked about is answered before others, and
// until that one has ended all that fit are asked about, as an event may come twice. Where none fits, as somebody else
// changed the input, say, it may be any that waits for its question.
func (j *judged) first(ctx context.Context) (f firsts, err error) {
	f.allowed = true
	var unfit *operation.Decided
	for i, id := range slices.Concat(j.was.awaits, j.was.heard) {
		rows, err := j.d.store.Rows(ctx, id)
		if err != nil {
			return f, err
		}
		d, waits := decidedOf(rows), i < len(j.was.awaits)
		fits, asked := j.sameAction(d), d.Outcome == hookpoints.Asked
		if len(rows) == 0 || j.past(rows) || !asked && j.over(rows) || operation.Summarise(rows).Whole {
			continue
		}
		switch {
		case fits:
			if waits && (f.answered == "" || asked && f.asked == nil) {
				f.answered = id
			}
			if asked && f.asked == nil {
				f.asked = &d
			}
			f.allowed = f.allowed && d.Outcome == hookpoints.Allowed
		case asked && waits && j.sameTool(d):
			unfit = &d
		}
	}
	if f.answered == "" && f.asked == nil {
		f.asked = unfit
	}
	return f, nil
}

// sameAction reports whether an event is about the action that was decided. It may know less of it: of a command
// only the text.
func (j *judged) sameAction(d operation.Decided) bool {
	in := d.Final.Get("arguments")
	if j.e.Kind == "shell" {
		in = payload.NewObject(payload.Field{Name: "command", Value: in.Get("command")})
	}
	return j.sameTool(d) && normal(in) == normal(j.e.Input)
}

// sameTool reports whether an event is about the tool of an action that was decided, in the same turn.
func (j *judged) sameTool(d operation.Decided) bool {
	return d.Head.Tool == j.e.Target && d.Scope.Get("turn").Text() == j.e.Turn
}

// decidedOf is what stood before an action.
func decidedOf(rows []operation.Row) (d operation.Decided) {
	for _, r := range rows {
		if was, ok := operation.DecidedIn(r); ok {
			d = was
		}
	}
	return d
}

// second answers the second event about an action as the first one was decided. Where none fits it is judged anew.
func (j *judged) second(ctx context.Context, id string) (client.Verdict, error) {
	f, err := j.first(ctx)
	if err != nil {
		return client.Verdict{}, err
	}
	j.asked = f.asked
	v, err := client.Verdict{}, error(nil)
	if f.answered != "" {
		v, err = j.same(ctx, id, f.answered)
	} else {
		v, err = j.before(ctx, id)
	}
	switch {
	case err != nil || v.Kind != client.NoOpinion && v.Kind != client.Allow:
	case f.asked != nil:
		v.Kind, v.Reason = client.Ask, f.asked.Reason
	case f.answered != "" && f.allowed:
		v.Kind = client.Allow
	}
	return v, err
}

// same records that an event is about an action that was decided already.
func (j *judged) same(ctx context.Context, id, decided string) (client.Verdict, error) {
	j.decided = decided
	h := j.head(id)
	a, err := j.action(h)
	if err != nil {
		return client.Verdict{}, err
	}
	done, err := j.s.ForeignSame(ctx, a, fmt.Sprintf("decided as %s, at its client's event before", decided))
	if err != nil {
		return client.Verdict{}, err
	}
	return j.concluded(ctx, h, done)
}
