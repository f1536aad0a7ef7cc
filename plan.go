package agentd

import (
	"fmt"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/revision"
)

// PlanRequest asks which bindings a call would meet.
type PlanRequest struct {
	Point string        `json:"point"`
	Scope payload.Value `json:"scope,omitzero"` // an object; without a target, its tool_id or model_id is the target
	Kind  string        `json:"kind,omitempty"`
}

// PlanRow is one binding of the point: in the order in which they run, then those that don't, with why.
type PlanRow struct {
	BindingID   string          `json:"binding_id"`
	HookID      string          `json:"hook_id"`
	Version     string          `json:"version"`
	Layer       string          `json:"layer"`
	Priority    int             `json:"priority"`
	Part        hookpoints.Part `json:"part"`
	Observation bool            `json:"observation"`
	File        string          `json:"file"`
	Line        int             `json:"line"`
	Runs        bool            `json:"runs"`
	Why         string          `json:"why,omitempty"` // it doesn't
}

// Plan lists the bindings of a point in the order in which a call of this scope would meet them.
func (r *Runtime) Plan(g *revision.Generation, q PlanRequest) ([]PlanRow, error) {
	p := r.Points().Point(q.Point)
	if p == nil {
		return nil, fmt.Errorf("there is no point %q; see agentd points", q.Point)
	}
	// Where no payload can say what the target is, the scope may.
	ask := DecideRequest{Point: q.Point, Scope: q.Scope, Kind: q.Kind, Payload: q.Scope}
	scope, err := ask.scope(p)
	if err != nil {
		return nil, err
	}
	rows := []PlanRow{}
	add := func(b *hookpoints.Binding, why string) {
		part := hookpoints.Ordinary
		if b.Guard {
			part = hookpoints.Guards
		}
		rows = append(rows, PlanRow{b.BindingID, b.HookID, b.Version, b.Layer.String(), b.Priority, part, b.Observation, b.File, b.Line, why == "", why})
	}
	chain := g.Table.Chain(q.Point, scope)
	for _, part := range order(p) {
		for _, b := range chain.Bindings(part) {
			add(b, "")
		}
	}
	for _, u := range g.Table.Unmatched(q.Point, scope) {
		add(u.Binding, u.Why)
	}
	return rows, nil
}
