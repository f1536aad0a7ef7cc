package operation

import (
	"context"
	"errors"
	"time"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// Rehearsal computes the chains of recorded operations again, by the very code that computed them
// first, with what is recorded in the place of the world: nothing acts, nothing is asked, nothing is
// saved. It has the state of one session, and belongs to one goroutine.
type Rehearsal struct {
	s     *Session
	notes notes
}

// Given is what a recorded chain was given beside its input.
type Given struct {
	// Facts gives the source for a part of a chain, which had run so many times before for this operation.
	Facts func(point string, part hookpoints.Part, round int) hookpoints.FactSource
	// Answers are what persons said, in order. A question beyond them parks the operation.
	Answers []Answer
	// Alone: nobody could be asked.
	Alone bool
}

// NewRehearsal makes one for a session, with state of its own.
func NewRehearsal(chains Chains, session string) *Rehearsal {
	r := &Rehearsal{}
	r.s = &Session{ID: session, rehearses: true, cells: map[string]payload.Value{}, dirty: map[string]bool{}, saved: map[string][]Row{},
		runner: &Runner{Journal: &r.notes, Chains: chains, Clock: beginning{}, Background: func(Head, hookpoints.Deferred) {}}}
	return r
}

// Cells is the state, by cell, as it is now. The caller may change it between two chains.
func (r *Rehearsal) Cells() map[string]payload.Value { return r.s.cells }

// Remember applies what a chain that isn't computed again remembered.
func (r *Rehearsal) Remember(instance string, deltas []hookpoints.Delta) { r.s.merge(instance, deltas) }

// begin forgets what the chain before left, but for the state.
func (r *Rehearsal) begin(g Given) {
	r.notes.failed = nil
	r.s.pending, r.s.release, r.s.late = nil, nil, false
	clear(r.s.dirty)
	clear(r.s.saved)
	r.s.reread = g.Facts
	r.s.runner.Gate = nil
	if !g.Alone {
		r.s.runner.Gate = &recordedAnswers{g.Answers}
	}
}

// Point computes a chain without an action; of a only its checks and what surrounds it count. The row is a
// PointRow, or a FailedRow if a hook failed.
func (r *Rehearsal) Point(ctx context.Context, was PointRow, a Action, g Given) (Row, error) {
	r.begin(g)
	a.Head, a.Input, a.Note = was.Head, was.Original, nil
	if _, err := r.s.computePoint(ctx, a, was.N, was.Point); err != nil {
		return r.notes.failure(err)
	}
	return r.notes.last(r.s.pending), nil
}

// Rehearsed is one action on its way through a rehearsal.
type Rehearsed struct {
	r *Rehearsal
	o *open
}

// Begin takes up an action, whose Do isn't called.
func (r *Rehearsal) Begin(a Action) *Rehearsed { return &Rehearsed{r, a.fresh()} }

// Decide computes everything before the action. The row is an IntentRow, a WaitingRow if a question
// has no answer, or a FailedRow if a hook failed and the run stops.
func (x *Rehearsed) Decide(ctx context.Context, g Given) (Row, error) {
	x.r.begin(g)
	if x.o.a.Head.Foreign {
		if _, err := x.r.s.decideForeign(ctx, x.o); err != nil {
			return nil, err
		}
		return IntentRow{x.o.d, x.o.state}, nil
	}
	err := x.r.s.decide(ctx, x.o, nil)
	switch {
	case errors.Is(err, ErrWaiting):
		return x.r.notes.last(nil), nil
	case err != nil:
		return x.r.notes.failure(err)
	}
	return IntentRow{x.o.d, x.o.state}, nil
}

// Finish computes everything after the action that ended with this outcome; none is that of an action
// that a hook answered, or, with told, of one of which nobody knows. The row is an AfterRow, or a
// FailedRow if a hook failed.
func (x *Rehearsed) Finish(ctx context.Context, out *OutcomeRow, told payload.Value, g Given) (Row, error) {
	x.r.begin(g)
	o := x.o
	switch {
	case out != nil:
		o.raw, o.status, o.n, o.state, o.stage = out.Value, out.Status, out.N, Finished, toFinish
	case told.Exists():
		o.a.UnknownText, o.state, o.stage = told, Unknown, toTell
	case o.state != Responded:
		return nil, errors.New("operation: there is no outcome to finish")
	}
	if err := x.r.s.finish(ctx, o); err != nil {
		return x.r.notes.failure(err)
	}
	return o.after, nil
}

// Started takes an action as decided that wasn't decided here.
func (x *Rehearsed) Started(d Decided, state State) {
	x.o.d, x.o.state, x.o.stage, x.o.intent = d, state, toRun, true
	if state == Responded {
		x.o.raw, x.o.status, x.o.stage = d.Response, Succeeded, toFinish
	}
}

// Reported replaces what hooks are told after the action, as a client's report may. Absent evidence is
// that of the intent.
func (x *Rehearsed) Reported(a *hookpoints.Around, evidence payload.Value) {
	x.o.a.Around = a
	after := x.o.a.After
	if !evidence.Exists() || after == nil {
		return
	}
	x.o.a.After = func(in, raw payload.Value, status string) payload.Value {
		return after(in, raw, status).With(payload.Field{Name: "evidence_arguments", Value: evidence})
	}
}

// notes is the journal of a rehearsal: it keeps the last row that is interesting.
type notes struct {
	failed *FailedRow
	kept   Row
}

// Commit implements Journal.
func (n *notes) Commit(_ context.Context, c Commit) error {
	for _, r := range c.Rows {
		if f, ok := r.(FailedRow); ok {
			n.failed = &f
		}
		n.kept = r
	}
	return nil
}

// failure is the row of a failed hook, where that is what the error is about.
func (n *notes) failure(err error) (Row, error) {
	if n.failed != nil && errors.Is(err, ErrHook) {
		return *n.failed, nil
	}
	return nil, err
}

// last is the last row that was computed, saved or not.
func (n *notes) last(pending []Row) Row {
	if len(pending) > 0 {
		return pending[len(pending)-1]
	}
	return n.kept
}

// Rows implements Journal.
func (n *notes) Rows(context.Context, string) ([]Row, error) { return nil, nil }

// RunRows implements Journal.
func (n *notes) RunRows(context.Context, string) ([]Row, error) { return nil, nil }

// Open implements Journal.
func (n *notes) Open(context.Context) ([]Head, error) { return nil, nil }

// Cells implements Journal.
func (n *notes) Cells(context.Context, string) (map[string]Cell, error) { return nil, nil }

// recordedAnswers is the gate of a rehearsal.
type recordedAnswers struct{ left []Answer }

// Ask implements Gate.
func (g *recordedAnswers) Ask(context.Context, Question) (Answer, error) {
	if len(g.left) == 0 {
		return Answer{}, ErrWaiting
	}
	a := g.left[0]
	g.left = g.left[1:]
	return a, nil
}

// beginning is a clock by which nothing is late.
type beginning struct{}

// Now implements Clock.
func (beginning) Now() time.Time { return time.Unix(0, 0).UTC() }
