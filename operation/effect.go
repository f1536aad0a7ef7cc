package operation

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// KindEffect is the kind of the operations that effects are.
const KindEffect = "effect"

// MaxEffectDepth bounds effects that are asked for after effects: one that no hook of the loop asked for
// is one deeper than the one that it comes after.
const MaxEffectDepth = 3

// Effects does what hooks ask for.
type Effects interface {
	// Idempotent: an effect that was started and has no outcome may be done again under its key.
	Idempotent(name string) bool
	// Do does an effect and returns when nothing of it runs any more. The id of its operation is its
	// key. The value of one that didn't succeed has an error, which says why. The status is succeeded,
	// failed, cancelled or, where nobody can know whether it happened, unknown.
	Do(ctx context.Context, h Head, name string, arguments payload.Value) (value payload.Value, status string)
}

// asking is a chain that asked for effects.
type asking struct {
	head     Head
	around   *hookpoints.Around
	n        int // of the row that carries the chain
	depth    int // of the effect that the chain came after, 0 elsewhere
	requests []hookpoints.EffectRequest
}

// id is the same whenever the chain is computed.
func (a asking) id(r hookpoints.EffectRequest) string {
	return a.head.ID + "/e/" + r.Chain + "/" + strconv.Itoa(a.n) + "/" + r.BindingID + "/" + strconv.Itoa(r.Ordinal)
}

// decided is an effect as an operation of its own. Hooks see it in the scope of what asked for it.
func (s *Session) decided(a asking, r hookpoints.EffectRequest) Decided {
	h := Head{ID: a.id(r), Parent: a.head.ID, Kind: KindEffect, RunID: a.head.RunID, SessionID: a.head.SessionID, Instance: a.head.Instance, Client: a.head.Client,
		Agent: a.head.Agent, Tool: r.Name, Revisions: a.head.Revisions, Began: s.runner.Clock.Now()}
	own := []payload.Field{str("operation_id", h.ID), str("parent_operation_id", h.Parent), str("target", r.Name)}
	scope := h.Scope(own[2])
	if a.around != nil {
		scope = a.around.Scope.Value.With(own...)
	}
	in := payload.NewObject(str("name", r.Name), payload.Field{Name: "arguments", Value: r.Arguments})
	return Decided{Head: h, Original: in, Final: in, Outcome: hookpoints.Continued, By: r.BindingID, Scope: scope}
}

func str(name, s string) payload.Field { return payload.Field{Name: name, Value: payload.NewString(s)} }

// request queues a row for each effect that a chain asked for, so that it is durable with the row of the
// chain itself. Acts: the action that they may have to come before will happen.
func (s *Session) request(a asking, acts bool) {
	if s.rehearses { // what was asked for stands in the row of the chain
		return
	}
	for _, r := range a.requests {
		d := s.decided(a, r)
		switch {
		case a.depth >= MaxEffectDepth:
			s.refuse(d, Rejected, "too_deep", fmt.Sprintf("it was asked for after an effect that is %d deep already, and no effect is deeper", a.depth))
		case r.Before && !acts:
			s.refuse(d, Stopped, "not_executed", "the action that it was to come before didn't happen")
		default:
			row := EffectRow{Decided: d, Before: r.Before, Depth: a.depth + 1}
			s.pending = append(s.pending, row)
			s.saved[d.Head.ID] = []Row{row} // in the place of what a chain asked for that was taken back
		}
	}
}

// refuse closes an effect that won't be done.
func (s *Session) refuse(d Decided, state State, code, reason string) {
	d.Outcome, d.Code, d.Reason = hookpoints.Rejected, code, reason
	if state == Stopped {
		d.Outcome = hookpoints.Stopped
	}
	s.pending = append(s.pending, IntentRow{d, state})
	delete(s.saved, d.Head.ID)
}

// asked finds the effects of a chain that weren't refused when they were asked for.
func (s *Session) asked(a asking) (rows []EffectRow) {
	for _, r := range a.requests {
		if row, ok := effectRow(s.saved[a.id(r)]); ok {
			rows = append(rows, row)
		}
	}
	return rows
}

func effectRow(rows []Row) (EffectRow, bool) {
	for _, r := range rows {
		if row, ok := r.(EffectRow); ok {
			return row, true
		}
	}
	return EffectRow{}, false
}

var unknownEffect = payload.NewObject(str("error", "nobody knows whether this was done: agentd was interrupted"))

// effect is the action that does an effect.
func (s *Session) effect(row EffectRow) Action {
	a := EffectShape(row.Decided)
	again := s.runner.Effects != nil && s.runner.Effects.Idempotent(row.Head.Tool)
	a.Idempotent, a.Shares, a.depth = again, again, row.Depth
	a.Do = func(ctx context.Context, in, _ payload.Value) (payload.Value, string, error) {
		value, status := s.runner.do(ctx, row.Head, in.Get("arguments"))
		if status == Cancelled && again && ctx.Err() != nil {
			return payload.Value{}, "", ctx.Err() // whoever goes on does it
		}
		return value, status, nil
	}
	return a
}

// EffectShape is an effect as an action that does nothing yet. It fires no point but effect.after, and
// those that every operation fires.
func EffectShape(d Decided) Action {
	h, args := d.Head, d.Original.Get("arguments")
	return Action{
		Head: h, Points: Points{After: "effect.after"}, Around: effectAround(d), Input: d.Original, AfterUnknown: true, UnknownText: unknownEffect,
		After: func(_, raw payload.Value, status string) payload.Value {
			return payload.NewObject(str("name", h.Tool), payload.Field{Name: "arguments", Value: args}, str("status", status), payload.Field{Name: "value", Value: raw})
		},
		Effective: func(after payload.Value) payload.Value { return after.Get("value") },
	}
}

// do does an effect; what can't be done has failed.
func (r *Runner) do(ctx context.Context, h Head, args payload.Value) (value payload.Value, status string) {
	if r.Effects == nil {
		return failedEffect(errors.New("nobody does effects here")), Failed
	}
	value, status = r.Effects.Do(ctx, h, h.Tool, args)
	switch status {
	case Succeeded, Failed, Cancelled, UnknownStat:
		return value, status
	}
	return failedEffect(fmt.Errorf("it ended with the status %q, which there isn't", status)), UnknownStat
}

func failedEffect(err error) payload.Value { return payload.NewObject(str("error", err.Error())) }

func effectAround(d Decided) *hookpoints.Around {
	scope, err := hookpoints.NewScope(d.Scope)
	if err != nil { // that of what asked was as large as a scope may be
		own := []payload.Field{str("operation_id", d.Head.ID), str("target", d.Head.Tool)}
		scope = hookpoints.Scope{Value: payload.NewObject(own...), Key: hookpoints.Key{Purpose: "action", Instance: hookpoints.Main, Target: d.Head.Tool}}
	}
	return &hookpoints.Around{Scope: scope, Now: d.Head.Began, Seed: d.Head.ID}
}

// follow does what the chains of actions asked for after them, all in one batch, and adds what came of
// it to what is told of the actions. What rides in the next commit is durable before any of it begins.
func (s *Session) follow(ctx context.Context, ops []*open, out []Done) error {
	var actions []Action
	var whose []int
	for i, o := range ops {
		rows := s.asked(o.first())
		if o.came != nil { // done, in this process
			rows = nil
		}
		for _, e := range o.came {
			out[i].came(e, o.a.Points.Before)
		}
		for _, a := range o.askings() {
			for _, row := range s.asked(a) {
				if !row.Before {
					rows = append(rows, row)
				}
			}
		}
		for _, row := range rows {
			actions, whose = append(actions, s.effect(row)), append(whose, i)
		}
	}
	if len(actions) == 0 {
		return nil
	}
	done, err := s.Batch(ctx, actions)
	if err != nil && (!s.replays || done == nil) {
		return err
	}
	for k, e := range done {
		out[whose[k]].came(e, ops[whose[k]].a.Points.After)
	}
	return nil
}

// askings are the chains of an action that may have asked for effects.
func (o *open) askings() []asking {
	return []asking{
		{o.d.Head, o.a.Around, 0, o.a.depth, o.d.Effects},
		{o.d.Head, o.a.Around, o.after.N, o.a.depth, o.after.Effects},
	}
}

// followed is follow for a chain without an action.
func (s *Session) followed(ctx context.Context, a asking, point string, done Done) (Done, error) {
	var actions []Action
	for _, row := range s.asked(a) {
		actions = append(actions, s.effect(row))
	}
	if len(actions) == 0 {
		return done, nil
	}
	came, err := s.Batch(ctx, actions)
	if err != nil && (!s.replays || came == nil) {
		return done, err
	}
	for _, e := range came {
		done.came(e, point)
	}
	return done, nil
}

// came adds what the hooks after an effect said to what is told of what asked for it. Proceed is the next
// prompt at the end of a turn; elsewhere the agent goes on anyway, and the text is context.
func (d *Done) came(e Done, point string) {
	if e.State != Finished && e.State != Unknown {
		return
	}
	d.Texts = append(d.Texts[:len(d.Texts):len(d.Texts)], e.Texts...)
	switch {
	case e.Proceed == "":
	case point != "turn.after" && d.Head.Kind != KindEffect:
		d.Texts = append(d.Texts, hookpoints.Text{BindingID: e.By, Text: e.Proceed})
	case d.Proceed == "":
		d.Proceed, d.By = e.Proceed, e.By
	default:
		d.Proceed = hookpoints.Cut(d.Proceed+"\n\n"+e.Proceed, hookpoints.MaxText)
	}
	if e.Stop && !d.Stop {
		d.Stop, d.By, d.Reason = true, e.By, e.Reason
	}
}

// halted makes the end of a run of a halt after an effect.
func (o *open) halted(after *AfterRow, res *hookpoints.Result) {
	if o.d.Head.Kind == KindEffect && res.Halted != "" {
		after.Stopped, after.By = true, res.Halted
		after.Reason = fmt.Sprintf("%s ended the run after the effect %s (%s)", res.Halted, o.d.Head.Tool, o.status)
	}
}

// Effect goes on with an effect that was asked for, whoever did and when, and with what its hooks ask for.
// Nobody else may be at it.
func (s *Session) Effect(ctx context.Context, op string) (Done, error) {
	row, err := s.load(ctx, op)
	if err != nil {
		return Done{}, err
	}
	done, err := s.Do(ctx, s.effect(row))
	if err != nil {
		return done, err
	}
	return done, s.Flush(ctx)
}

// DoEffect is the part of [Session.Effect] that runs no hook and needs no session: when it returns, the
// outcome is durable.
func (r *Runner) DoEffect(ctx context.Context, op string) error {
	s := &Session{runner: r, dirty: map[string]bool{}, saved: map[string][]Row{}}
	row, err := s.load(ctx, op)
	if err != nil {
		return err
	}
	o := s.take(s.effect(row))
	if o.stage != toRun {
		return nil
	}
	return s.act(ctx, []*open{o})
}

func (s *Session) load(ctx context.Context, op string) (EffectRow, error) {
	rows, err := s.runner.Journal.Rows(ctx, op)
	if err != nil {
		return EffectRow{}, fmt.Errorf("effect %s: %w", op, err)
	}
	row, ok := effectRow(rows)
	if !ok {
		return EffectRow{}, fmt.Errorf("there is no effect %s", op)
	}
	s.saved[op] = rows
	return row, nil
}

// tellEffect tells that an effect is over, once it is durable.
func (s *Session) tellEffect(o *open) {
	if o.d.Head.Kind == KindEffect && s.runner.Effected != nil {
		s.Leave(func() { s.runner.Effected(o.d.Head, o.status, o.after.Effective) })
	}
}
