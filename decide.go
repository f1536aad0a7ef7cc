package agentd

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/operation"
	"agentd/revision"
)

// DecideRequest asks what a chain would do. Nothing is saved.
type DecideRequest struct {
	Point   string        `json:"point"`
	Payload payload.Value `json:"payload"`
	Scope   payload.Value `json:"scope,omitzero"` // an object; a target is taken from the payload if it names none
	Kind    string        `json:"kind,omitempty"`
	Binding string        `json:"binding,omitempty"` // only this one, whatever it matches
	Config  payload.Value `json:"config,omitzero"`   // of that binding, or of the only one
	Facts   payload.Value `json:"facts,omitzero"`    // by key; what isn't there is absent
	State   payload.Value `json:"state,omitzero"`    // of the only binding, or an object by cell: a binding's id, or LAYER/NAME
	// Only keeps bindings for which it returns true; nil keeps all.
	Only func(*hookpoints.Binding) bool `json:"-"`
	// Granted: hooks may ask for every effect that they declare, whatever configuration grants.
	Granted bool `json:"-"`
}

// Decision is what one binding decided.
type Decision struct {
	BindingID string   `json:"binding_id"`
	Decision  string   `json:"decision"`
	Fields    []string `json:"fields,omitempty"`
	Reason    string   `json:"reason,omitempty"`
}

// EffectAsked is an effect that a hook asked for.
type EffectAsked struct {
	BindingID string        `json:"binding_id"`
	Name      string        `json:"name"`
	When      string        `json:"when"` // after, or before the action
	Arguments payload.Value `json:"arguments"`
}

// TraceLine is what only the author of a hook sees.
type TraceLine struct {
	BindingID string `json:"binding_id"`
	Kind      string `json:"kind"` // print or error
	Text      string `json:"text"`
}

// DecideResult is what the chain would do.
type DecideResult struct {
	Outcome     hookpoints.Outcome  `json:"outcome"`
	Payload     payload.Value       `json:"payload"`
	Reason      string              `json:"reason,omitempty"`
	Code        string              `json:"code,omitempty"`
	By          string              `json:"by,omitempty"`
	Value       payload.Value       `json:"value,omitzero"` // of respond
	Decisions   []Decision          `json:"decisions"`
	Records     []hookpoints.Record `json:"records"`
	Context     []string            `json:"context,omitempty"`
	State       payload.Value       `json:"state,omitzero"`
	Effects     []EffectAsked       `json:"effects,omitempty"`
	Annotations payload.Value       `json:"annotations,omitzero"`
	Revisions   operation.Triple    `json:"revisions"`
	Trace       []TraceLine         `json:"trace,omitempty"`
}

// Decide runs both parts of a chain of a generation on a payload.
func (r *Runtime) Decide(ctx context.Context, g *revision.Generation, q DecideRequest) (DecideResult, error) {
	p := r.Points().Point(q.Point)
	if p == nil {
		return DecideResult{}, fmt.Errorf("there is no point %q; see agentd points", q.Point)
	}
	if err := p.Check(q.Payload); err != nil {
		return DecideResult{}, err
	}
	scope, err := q.scope(p)
	if err != nil {
		return DecideResult{}, err
	}
	chain, err := r.chain(g, q, scope)
	if err != nil {
		return DecideResult{}, err
	}
	t := &trace{}
	state := &givenState{q: q, chain: chain}
	req := hookpoints.Request{
		Payload: q.Payload, Around: &hookpoints.Around{Scope: scope, Now: r.clock.Now(), Seed: "decide"},
		Facts: givenFacts{q.Facts}, States: state, Tracer: t, Answer: r.answer(p),
	}
	out := DecideResult{Outcome: hookpoints.Continued, Payload: q.Payload, Decisions: []Decision{}, Records: []hookpoints.Record{}, Revisions: g.Triple}
	run := func(part hookpoints.Part) error {
		res, err := chain.Run(ctx, part, req)
		if err != nil {
			return err
		}
		out.fold(&res)
		req.Payload = res.Payload
		req.Spent += res.Nanos
		state.changed = out.State
		return nil
	}
	for _, part := range order(p) {
		if out.over(part) {
			out.Records = append(out.Records, chain.Skipped(part, out.By)...)
		} else if err := run(part); err != nil {
			return DecideResult{}, err
		}
	}
	if p.Phase == hookpoints.Confirm && out.Outcome == hookpoints.Allowed && !same(q.Payload, req.Payload) { // the guards answered to another input
		if err := run(hookpoints.Guards); err != nil {
			return DecideResult{}, err
		}
	}
	out.Payload, out.Trace = req.Payload, t.lines
	if p.Name == "turn.before" && out.Outcome == hookpoints.Rejected { // it goes with the prompt
		out.Context = nil
	}
	return out, nil
}

// order is that of the parts: at tool.confirm guards answer first.
func order(p *hookpoints.Point) []hookpoints.Part {
	if p.Phase == hookpoints.Confirm {
		return []hookpoints.Part{hookpoints.Guards, hookpoints.Ordinary}
	}
	return []hookpoints.Part{hookpoints.Ordinary, hookpoints.Guards}
}

// over reports whether a part has nothing left to decide. What lets something go on never keeps the
// guards from looking.
func (d *DecideResult) over(part hookpoints.Part) bool {
	switch d.Outcome {
	case hookpoints.Continued:
		return false
	case hookpoints.Responded, hookpoints.Proceeded:
		return part != hookpoints.Guards
	}
	return true
}

// answer holds the value of a respond to what the action would have given to the hooks after it.
func (r *Runtime) answer(p *hookpoints.Point) func(payload.Value) error {
	after := r.Points().Point(strings.TrimSuffix(p.Name, ".before") + ".after")
	if after == nil || p.Name == "tool.before" { // a tool may give anything
		return nil
	}
	return after.Check
}

func (q *DecideRequest) scope(p *hookpoints.Point) (hookpoints.Scope, error) {
	v := q.Scope
	if !v.Exists() {
		v = payload.NewObject()
	}
	if q.Kind != "" {
		v = v.With(payload.Field{Name: "kind", Value: payload.NewString(q.Kind)})
	}
	if p.HasTarget && v.Kind() == payload.Object && !v.Get("target").Exists() {
		for _, name := range []string{"tool_id", "model_id"} {
			if id := q.Payload.Get(name); id.Kind() == payload.String {
				v = v.With(payload.Field{Name: "target", Value: id})
				break
			}
		}
	}
	return hookpoints.NewScope(v)
}

// chain plans the call, or picks out what was asked for.
func (r *Runtime) chain(g *revision.Generation, q DecideRequest, scope hookpoints.Scope) (*hookpoints.Chain, error) {
	planned := g.Table.Chain(q.Point, scope)
	list := slices.Concat(planned.Bindings(hookpoints.Ordinary), planned.Bindings(hookpoints.Guards))
	if q.Binding != "" {
		list = nil
		for _, b := range g.Table.Bindings() {
			if b.Point == q.Point && (b.BindingID == q.Binding || b.BindingID == b.Layer.String()+"/"+q.Binding) {
				list = append(list, b)
			}
		}
		switch len(list) {
		case 0:
			return nil, fmt.Errorf("there is no binding %q at %s; see agentd hooks list", q.Binding, q.Point)
		case 1:
		default:
			return nil, fmt.Errorf("%q is a binding of several layers at %s; write %s or %s", q.Binding, q.Point, list[0].BindingID, list[1].BindingID)
		}
	} else if q.Only == nil && !q.Config.Exists() && !q.Granted {
		return planned, nil
	}
	if q.Only != nil {
		list = slices.DeleteFunc(list, func(b *hookpoints.Binding) bool { return !q.Only(b) })
	}
	if q.Config.Exists() {
		if len(list) != 1 {
			return nil, fmt.Errorf("%d bindings would run at %s, so a config must say whose it is; name the binding", len(list), q.Point)
		}
		b := *list[0]
		b.Config = q.Config
		if err := r.checkConfig(g, &b); err != nil {
			return nil, err
		}
		list = []*hookpoints.Binding{&b}
	}
	if q.Granted {
		for i, b := range list {
			if len(b.Effects) > 0 {
				c := *b
				c.Grants = b.Effects
				list[i] = &c
			}
		}
	}
	return hookpoints.NewChain(planned.Point(), r.planner.Clock, list), nil
}

func (r *Runtime) checkConfig(g *revision.Generation, b *hookpoints.Binding) error {
	for _, l := range g.Layers {
		if d := l.Definition(b.HookID); d != nil && d.Hook == b.Hook && d.ConfigSchema.Exists() {
			schema, err := revision.NewSchema(d.ConfigSchema)
			if err != nil {
				return err
			}
			if err := schema.Check(b.Config); err != nil {
				return fmt.Errorf("the config doesn't fit the schema of %s: %w", b.HookID, err)
			}
		}
	}
	return nil
}

func (d *DecideResult) fold(res *hookpoints.Result) {
	if res.By != "" {
		d.Outcome, d.By, d.Reason, d.Code, d.Value = res.Outcome, res.By, res.Decision.Text, res.Decision.Name, res.Decision.Value
	}
	if res.Outcome == hookpoints.Failed || res.Error != "" {
		d.Code = res.Error
		d.Reason = fmt.Sprintf("the hook %s failed: %s", res.By, res.Error)
	}
	for _, rec := range res.Records {
		d.Records = append(d.Records, rec)
		if rec.Decision != "" && rec.Error == "" {
			d.Decisions = append(d.Decisions, Decision{rec.BindingID, rec.Decision, rec.Fields, rec.Reason})
		}
		if rec.Annotations.Exists() { // a record of a failed hook has none
			d.Annotations = merged(d.Annotations, rec.Annotations)
		}
	}
	for _, t := range res.Texts {
		d.Context = append(d.Context, t.Text)
	}
	for _, delta := range res.State {
		cell := merged(d.State.Get(delta.Cell), payload.NewObject(delta.Set...))
		d.State = merged(d.State, payload.NewObject(payload.Field{Name: delta.Cell, Value: cell}))
	}
	for _, e := range res.Effects {
		when := "after"
		if e.Before {
			when = "before"
		}
		d.Effects = append(d.Effects, EffectAsked{e.BindingID, e.Name, when, e.Arguments})
	}
}

func merged(a, b payload.Value) payload.Value {
	if !a.Exists() {
		return b
	}
	out := a
	for k, v := range b.Members() {
		out = out.With(payload.Field{Name: k, Value: v})
	}
	return out
}

func same(a, b payload.Value) bool { return bytes.Equal(a.JSON(), b.JSON()) }

// givenFacts are facts that somebody wrote down.
type givenFacts struct{ v payload.Value }

// Fact implements hookpoints.FactSource.
func (g givenFacts) Fact(_ context.Context, key string) hookpoints.Fact {
	if v := g.v.Get(key); v.Exists() {
		return hookpoints.Fact{Key: key, Value: v}
	}
	return hookpoints.Fact{Key: key, Absent: "it wasn't given"}
}

// givenState is state that somebody wrote down.
type givenState struct {
	q       DecideRequest
	chain   *hookpoints.Chain
	changed payload.Value // by the parts that ran before, by cell
}

// State implements hookpoints.States.
func (g *givenState) State(cell string) payload.Value {
	if now := g.changed.Get(cell); now.Exists() {
		var set []payload.Field
		for k, v := range now.Members() {
			set = append(set, payload.Field{Name: k, Value: v})
		}
		return hookpoints.Remembered(g.given(cell), set)
	}
	return g.given(cell)
}

func (g *givenState) given(cell string) payload.Value {
	if byID := g.q.State.Get(cell); byID.Exists() {
		return byID
	}
	n := len(g.chain.Bindings(hookpoints.Ordinary)) + len(g.chain.Bindings(hookpoints.Guards))
	if n == 1 && g.q.State.Kind() == payload.Object {
		return g.q.State
	}
	return payload.Value{}
}

type trace struct{ lines []TraceLine }

// Trace implements hookpoints.Tracer.
func (t *trace) Trace(id, kind, text string) { t.lines = append(t.lines, TraceLine{id, kind, text}) }
