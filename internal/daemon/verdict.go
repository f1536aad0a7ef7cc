package daemon

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/internal/client"
	"agentd/operation"
)

// maxProceeds is how often in a row hooks may send a client's agent on, where the client itself allows
// more or doesn't count.
const maxProceeds = 8

// proceeds is how often it is for this client: below its own limit, so that ours is the one that ends it.
func proceeds(e client.Event) int64 {
	if k, ok := client.KnownEvent(e.Client, e.Name); ok && k.Proceeds > 0 {
		return int64(min(maxProceeds, k.Proceeds-1))
	}
	return maxProceeds
}

// counts says at the end of a turn how often it was sent on.
func (j *judged) counts() {
	n := int64(0)
	if j.e.Continues || j.was.proceed != "" {
		n = j.was.continuation
	}
	j.e.Payload = j.e.Payload.With(payload.Field{Name: "continuation", Value: payload.NewInt(n)})
	j.e.Absent = slices.DeleteFunc(slices.Clone(j.e.Absent), func(name string) bool { return name == "continuation" })
}

// verdict is what a client is told of what was decided. capped: a hook wanted to send the agent on once
// too often.
func (j *judged) verdict(done operation.Done) (v client.Verdict, capped bool) {
	v = client.Verdict{Reason: done.Reason, Clear: done.Clear}
	switch {
	case done.Stop:
		v.Kind = client.Stop
	case done.State == operation.Rejected:
		v.Kind = client.Deny
		if v.Reason == "" || done.Reason == "the hook failed" {
			v.Reason = fmt.Sprintf("the hook %s failed (%s)", done.By, done.Code)
		}
		if j.e.Asks != "" && strings.HasPrefix(v.Reason, operation.NobodyAsked) {
			v.Reason += "\n" + fmt.Sprintf("its client asks at %s, and it isn't known that calls of this session come to that; the next one that does shows it", j.e.Asks)
		}
	case j.e.Point != "tool.after" && (done.State == operation.Waiting || done.State == operation.Finished && done.Outcome == hookpoints.Asked):
		if v.Kind = client.Ask; j.asksLater() {
			v.Kind, v.Reason = client.NoOpinion, ""
		}
	case done.State == operation.Responded:
		v.Kind, v.Value = client.Respond, done.Effective
	case done.Proceed != "":
		v.Kind, v.Text = client.Proceed, done.Proceed
		if n, _ := j.e.Payload.Get("continuation").Int64(); n >= proceeds(j.e) {
			capped = true
			v = client.Verdict{Kind: client.NoOpinion, Note: fmt.Sprintf("%s sent the turn on more than %d times; it ends here", done.By, proceeds(j.e))}
		}
	case done.Outcome == hookpoints.Allowed && j.e.Point != "tool.after":
		v.Kind = client.Allow
	default:
		v.Kind, v.Reason = client.NoOpinion, ""
	}
	if done.State != operation.Responded {
		v.Patch = j.changed(done)
	}
	for _, t := range done.Texts {
		v.Context = append(v.Context, client.Text{Text: t.Text, From: t.BindingID, Pin: t.Pin})
	}
	return v, capped
}

// changed is what hooks made of the payload, where that is otherwise.
func (j *judged) changed(done operation.Done) (out []payload.Field) {
	if j.e.Point == "tool.after" {
		if done.Effective.Exists() && done.Effective.String() != j.e.Payload.Get("value").String() {
			out = append(out, payload.Field{Name: "value", Value: done.Effective})
		}
		return out
	}
	for _, name := range j.d.rt.Points().Point(j.e.Point).Writable {
		if now := done.Effective.Get(name); now.Exists() && now.String() != j.e.Payload.Get(name).String() {
			out = append(out, payload.Field{Name: name, Value: now})
		}
	}
	return out
}

// conclude is the verdict, with what waited for an event that can carry it, and what is to be known of the
// session from now on. It depends on what the session was before the event, and changes nothing.
func (j *judged) conclude(h operation.Head, done operation.Done) (client.Verdict, memo) {
	v, capped := j.verdict(done)
	m := j.was
	j.moves(&m, h.Began)
	m.came(j.e, j.at.UnixMilli())
	if j.e.Point == "turn.after" {
		n, _ := j.e.Payload.Get("continuation").Int64()
		m.continuation, m.proceed = 0, ""
		switch {
		case capped: // until another prompt comes
			m.continuation, m.proceed = n, done.Proceed
			j.d.log.Warn("a hook sends a client's agent on too often", "client", j.e.Client, "session_id", j.s.ID, "binding_id", done.By, "times", n)
		case v.Kind == client.Proceed:
			m.continuation, m.proceed = n+1, v.Text
		}
	}
	j.awaits(&m, h, v)
	m.pin(v.Context)
	if j.carries(v) && len(m.later) > 0 {
		m.given, m.givenWith = m.later, h.ID
		v.Context = after(m.later, v.Context)
		m.later = nil
	}
	_, later, _ := client.Say(j.codec, j.e, v)
	m.wait(later)
	return v, m
}

// after are texts behind those that waited, but for what these say already.
func after(waited, now []client.Text) []client.Text {
	return append(slices.Clone(waited), slices.DeleteFunc(slices.Clone(now), func(t client.Text) bool { return slices.Contains(waited, t) })...)
}

// moves notes what an event says of its session.
func (j *judged) moves(m *memo, began time.Time) {
	switch {
	case j.e.Ends:
		m.ended = true
	case j.e.Point == "session.start":
		m.began, m.ended = true, false
	default:
		m.ended = false
	}
	if j.e.Point == "turn.before" || j.e.Point == "turn.after" || j.e.Point == "session.start" {
		m.turned, m.awaits, m.heard = began.UnixMilli(), nil, nil
	}
	if j.e.Point == "turn.before" && m.sent(j.e.Payload.Get("prompt").Text()) == sentNot {
		m.proceed = "" // how often it was is kept, for clients that say themselves that they were sent on
	}
	forgets := j.e.Forgets
	if j.e.Point == "model.chat.before" && len(m.pinned) > 0 { // a conversation that became shorter was compacted
		n := int64(j.e.Payload.Get("messages").Len())
		forgets, m.messages = forgets || n < m.messages, n
	}
	if forgets {
		m.forget()
	}
}

// carries reports whether context that waited can go with this verdict. What goes with a request is gone
// with the next one, so it isn't given there.
func (j *judged) carries(v client.Verdict) bool {
	switch v.Kind {
	case client.NoOpinion, client.Allow:
		return j.e.Point != "model.chat.before" && client.Carries(j.codec, j.e)
	}
	return false
}

// sameMemo compares what would be kept.
func sameMemo(a, b memo) bool { return a.value().String() == b.value().String() }
