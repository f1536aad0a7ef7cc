package operation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// A client's action isn't ours: its before event is the intent, its after event the outcome. Such an
// operation never waits, and one whose end nobody saw is unobserved, which is normal.

// UnobservedAfter is how long an after event may take.
const UnobservedAfter = 24 * time.Hour

// ForeignFinder finds the open operations of a client's session, oldest first.
type ForeignFinder interface {
	OpenForeign(ctx context.Context, client, session, tool string) ([]Head, error)
}

// ForeignBefore decides about a client's action, and commits before the answer leaves. Done.State is
// Running if the action may happen, with Effective as its input; Rejected, Responded or Stopped
// otherwise; Waiting if a hook wants the client to ask its person.
func (s *Session) ForeignBefore(ctx context.Context, a Action) (Done, error) {
	a.Head.Foreign = true
	o := a.fresh()
	asks, was := false, *o
	err := s.settle(ctx, func() { *o = was }, func() (err error) {
		asks, err = s.decideForeign(ctx, o)
		return err
	})
	if err != nil {
		return Done{}, err
	}
	if o.state == Responded { // the client sees no more of it, so this is its after chain too
		if err := s.finish(ctx, o); err != nil {
			return Done{}, err
		}
	}
	if err := s.Flush(ctx); err != nil {
		return Done{}, err
	}
	done := o.foreignDone(asks)
	if err := s.foreignPrecede(ctx, o, &done); err != nil {
		return Done{}, err
	}
	done.Asked = o.later()
	return done, nil
}

// decideForeign takes a client's action to the point where it may happen, or is closed, and queues its row.
func (s *Session) decideForeign(ctx context.Context, o *open) (asks bool, err error) {
	o.was = s.mark()
	asks, err = s.foreign(ctx, o)
	var failed *failedChain
	if errors.As(err, &failed) { // fail closed: the client is told no
		o.closes(Rejected, &failed.res)
	} else if err != nil {
		s.forget(o.was)
		return false, err
	}
	if o.state == NotStarted {
		o.state = Running
	}
	if err := s.close(ctx, o); err != nil {
		return false, err
	}
	if o.state == Responded {
		o.raw, o.status, o.stage = o.d.Response, Succeeded, toFinish
	}
	if o.a.Note != nil && o.state != Responded { // then what comes of it isn't known before its after chain
		o.a.Note(o.foreignDone(asks))
	}
	return asks, nil
}

// foreignDone is what was decided about a client's action, before it happens.
func (o *open) foreignDone(asks bool) Done {
	done := o.done()
	if o.state != Responded {
		done.Effective = o.d.Final
	}
	if asks && o.state == Running {
		done.State = Waiting
	}
	return done
}

func (s *Session) foreign(ctx context.Context, o *open) (asks bool, err error) {
	a := &o.a
	res, err := s.run(ctx, o.d.Head, chainRun{point: a.Points.Before, part: hookpoints.Ordinary, in: o.d.Final, around: a.Around, validate: a.Validate, answer: a.Answer}, &o.d.Chained, &o.before)
	if err != nil {
		return false, err
	}
	o.d.Final = res.Payload
	if over, err := s.ended(ctx, o, &res, a.Points.Before, a.Points.Before); over || err != nil {
		return false, err
	}
	if res.Outcome == hookpoints.Responded {
		o.d.decided(&res)
	}
	if over, err := s.guards(ctx, o); over || err != nil {
		return false, err
	}
	if res.Outcome == hookpoints.Responded {
		o.state = Responded
		return false, nil
	}
	if a.Points.Confirm == "" {
		return false, nil
	}
	if res, err = s.confirmed(ctx, o); err != nil {
		return false, err
	}
	if res.Outcome == hookpoints.Allowed && res.Decision.Verb == hookpoints.Edit {
		o.d.decided(&res)
		o.d.Final = o.d.Final.With(payload.Field{Name: "arguments", Value: res.Payload.Get("arguments")})
		var over bool
		if res, over, err = s.lookAgain(ctx, o); over || err != nil {
			return false, err
		}
	}
	switch {
	case res.Outcome == hookpoints.Denied, res.Outcome == hookpoints.Asked && a.Policy == "deny": // a client that can't ask
		o.denied(&res)
	case res.Outcome == hookpoints.Asked, res.Outcome == hookpoints.Allowed:
		o.d.decided(&res)
	}
	return res.Outcome == hookpoints.Asked, nil
}

// ForeignSame journals a client's second event about an action that was decided at its first one, and may happen. No
// chain is asked about it; why says where it was decided.
func (s *Session) ForeignSame(ctx context.Context, a Action, why string) (Done, error) {
	a.Head.Foreign = true
	o := a.fresh()
	o.d.Reason, o.d.Code, o.state, o.intent = why, SameAction, Running, true
	s.pending = append(s.pending, IntentRow{o.d, Running})
	done := o.foreignDone(false)
	if a.Note != nil {
		a.Note(done)
	}
	return done, s.Flush(ctx)
}

// ForeignAfter takes a client's report about the operation whose rows are saved, under the revisions
// of its intent; without rows it makes an operation with an outcome only. Done.Texts are what the after
// chain said.
func (s *Session) ForeignAfter(ctx context.Context, a Action, saved []Row, raw payload.Value, status string) (Done, error) {
	a.Head.Foreign = true
	s.saved[a.Head.ID] = saved
	o := s.take(a)
	if len(saved) == 0 {
		o.d.Outcome, o.d.Reason = hookpoints.Continued, NoBefore
		s.pending = append(s.pending, IntentRow{o.d, Running})
	} else if sum := Summarise(saved); sum.State != Unobserved || sum.Whole {
		return Done{}, fmt.Errorf("operation %s is over already", a.Head.ID)
	}
	o.raw, o.status, o.state, o.stage, o.report.Event = raw, status, Finished, toFinish, a.Report
	o.reported()
	s.pending = append(s.pending, o.outcome())
	if err := s.finish(ctx, o); err != nil {
		return Done{}, err
	}
	if err := s.Flush(ctx); err != nil {
		return Done{}, err
	}
	done := o.reportedDone()
	done.Asked = o.later()
	return done, nil
}

// reportedDone is what was decided about the end of a client's action, or what a hook gave in its place.
func (o *open) reportedDone() Done {
	done := o.done()
	if o.state != Responded {
		done.Texts = o.after.Texts
	}
	return done
}

// ForeignPoint decides about a client's event that has no action of its own, and commits before the
// answer leaves. What hooks ask for is done here and now if waits, as hooks look at what came of it and
// may send the agent on; else Done.Asked says that it is to be done.
func (s *Session) ForeignPoint(ctx context.Context, a Action, point string, waits bool) (Done, error) {
	a.Head.Foreign = true
	var d Decided
	err := s.settle(ctx, nothing, func() (err error) {
		d, err = s.computePoint(ctx, a, 0, point)
		return err
	})
	if err != nil {
		return Done{}, err
	}
	if err := s.Flush(ctx); err != nil {
		return Done{}, err
	}
	asks := asking{a.Head, a.Around, 0, 0, d.Effects}
	done := pointDone(d)
	if waits {
		return s.followed(ctx, asks, point, done)
	}
	done.Asked = len(s.asked(asks)) > 0
	return done, nil
}

// ForeignQuiet journals a client's event that no chain is asked about.
func (s *Session) ForeignQuiet(ctx context.Context, a Action, why string) error {
	return s.foreignAlone(ctx, a, Decided{Outcome: hookpoints.Continued, Reason: why})
}

// Undecided is the code of a client's event that couldn't be decided.
const Undecided = "undecided"

// ForeignUndecided journals such an event, and whether it is refused.
func (s *Session) ForeignUndecided(ctx context.Context, a Action, why string, refused bool) error {
	d := Decided{Outcome: hookpoints.Continued, Reason: why, Code: Undecided}
	if refused {
		d.Outcome = hookpoints.Rejected
	}
	return s.foreignAlone(ctx, a, d)
}

// foreignAlone journals what was decided about a client's event without a chain.
func (s *Session) foreignAlone(ctx context.Context, a Action, d Decided) error {
	a.Head.Foreign = true
	d.Head, d.Original, d.Final, d.Scope = a.Head, a.Input, a.Input, a.Around.Scope.Value
	s.pending = append(s.pending, PointRow{Decided: d})
	if a.Note != nil {
		a.Note(pointDone(d))
	}
	return s.Flush(ctx)
}

// ForeignAgain is what was decided about a client's event that is saved already. Point is where it fired; waits
// is as it was then: what came of effects belongs to it, and one that wasn't done is done now. Where a hook failed
// and nothing was decided it is that failure again.
func (s *Session) ForeignAgain(ctx context.Context, a Action, saved []Row, point string, waits bool) (Done, error) {
	for _, r := range saved {
		row, ok := r.(PointRow)
		if !ok || row.Point != point && row.Point != "" {
			continue
		}
		done, asks := pointDone(row.Decided), asking{row.Head, a.Around, row.N, 0, row.Effects}
		if !waits {
			return done, nil
		}
		for _, r := range row.Effects {
			rows, err := s.runner.Journal.Rows(ctx, asks.id(r))
			if err != nil {
				return Done{}, err
			}
			s.saved[asks.id(r)] = rows
		}
		done, err := s.followed(ctx, asks, point, done)
		return done, errors.Join(err, s.Flush(ctx))
	}
	if err := undecided(saved); err != nil {
		return Done{}, err
	}
	a.Head = Summarise(saved).Head
	s.saved[a.Head.ID] = saved
	o := s.take(a)
	if point == a.Points.After {
		if o.stage != closed {
			return Done{}, fmt.Errorf("%w: what came after operation %s was never decided", ErrRecovery, a.Head.ID)
		}
		return o.reportedDone(), nil
	}
	done := o.foreignDone(false)
	switch {
	case o.status == Blocked:
		done.State, done.Reason, done.Code = Rejected, o.raw.Get("error").Text(), o.raw.Get("code").Text()
	case o.state == Finished: // and it has ended since
		done.State = Running
	}
	done.Texts = o.d.Texts
	if done.State == Running && o.d.Outcome == hookpoints.Asked {
		done.State = Waiting
	}
	if done.State != Responded {
		done.Effective, done.Stop, done.Proceed = o.d.Final, done.State == Stopped, ""
	}
	return done, nil
}

// undecided is why rows say nothing of what was decided, nil if they do.
func undecided(saved []Row) error {
	err := fmt.Errorf("%w: what was decided isn't saved", ErrRecovery)
	for _, r := range saved {
		switch r := r.(type) {
		case IntentRow, WaitingRow:
			return nil
		case FailedRow:
			err = r.failure()
		}
	}
	return err
}

// Kept is what the host keeps in the session under a name, which no hook can name: it begins with "agentd/".
func (s *Session) Kept(name string) payload.Value { return s.cells[name] }

// Keep has something kept. It becomes durable with the next row.
func (s *Session) Keep(name string, v payload.Value) {
	s.cells[name] = v
	s.dirty[name] = true
}

// reported notes where a client's report isn't what follows from the intent and the result: it writes
// arguments anew, and leaves other things out.
func (o *open) reported() {
	if o.a.After != nil {
		said := o.a.After(o.d.Final, o.raw, o.status).Get("evidence_arguments")
		if !same(said, o.d.Final.Get("arguments")) {
			o.report.Evidence = said
		}
	}
	if o.a.Around != nil && !same(o.a.Around.Scope.Value, o.d.Scope) {
		o.report.Scope = o.a.Around.Scope.Value
	}
}

// Unobserve closes what a client left open.
func (r *Runner) Unobserve(ctx context.Context, heads []Head) error {
	var c Commit
	for _, h := range heads {
		c.Rows = append(c.Rows, AfterRow{Op: h.ID, Reason: "no after event was seen"})
	}
	if len(c.Rows) == 0 {
		return nil
	}
	if err := r.Journal.Commit(ctx, c); err != nil {
		return fmt.Errorf("%w: %w", ErrPersistence, err)
	}
	return nil
}
