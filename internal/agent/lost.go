package agent

import (
	"context"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/operation"
)

// unknownText is what the model is told about a call of which nobody knows how it ended.
func unknownText() payload.Value {
	return object(field("error", text("nobody knows whether this ran: agentd was interrupted. Check the real state before you do it again.")), field("code", text("unknown")))
}

// lost is a call that could be made when it was decided and can't be now, as its tool isn't there or
// takes other arguments. It doesn't run; what is saved of it is worked off like that of any other, so
// its after hooks see a result that came, and nobody says of one that may have run that it didn't.
func (r *run) lost(head operation.Head, cause error) (operation.Action, bool) {
	d, ok := r.s.Decided(head.ID)
	if !ok || !d.Original.Get("tool_id").Exists() {
		return operation.Action{}, false
	}
	a, err := Shape(r.o.Runtime.Points(), d)
	if err != nil {
		return a, false
	}
	scope, err := hookpoints.NewScope(d.Scope)
	if err != nil {
		return a, false
	}
	a.Around = &hookpoints.Around{Scope: scope, Now: d.Head.Began, Seed: d.Head.ID}
	a.UnknownText = unknownText()
	a.Validate = func(_ context.Context, in payload.Value) (payload.Value, error) { return in, cause }
	a.Do = func(context.Context, payload.Value, payload.Value) (payload.Value, string, error) {
		return payload.Value{}, "", cause
	}
	return a, true
}
