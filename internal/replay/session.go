package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/operation"
)

// session is one session in a replay: its state as the replayed hooks leave it.
type session struct {
	*operation.Rehearsal
	p     *player
	cause *op // the first operation of it that changed
}

// row replays what a row of an operation carries.
func (s *session) row(ctx context.Context, o *op, k operation.Key) error {
	switch k.Stage {
	case operation.StPoint, operation.StReady, operation.StWaiting, operation.StIntent, operation.StAfter, operation.StFailed:
	default:
		return nil
	}
	if decides(k.Stage) && o.began {
		return nil
	}
	rows, err := s.p.o.Journal.Rows(ctx, o.id)
	if err != nil {
		return fmt.Errorf("operation %s: %w", o.id, err)
	}
	for i, r := range rows {
		if r.Key() != k {
			continue
		}
		switch r := r.(type) {
		case operation.PointRow:
			if r.Point == "" { // no chain: a person cleared it
				s.enter()
				s.Remember(o.head.Instance, r.State)
				s.leave()
				return nil
			}
			return s.point(ctx, o, r, r, r.Chained)
		case operation.AfterRow:
			return s.after(ctx, o, rows[:i], r, r.N, r.Chained)
		case operation.FailedRow:
			return s.failed(ctx, o, rows, i, r)
		}
		o.began = true
		return s.decide(ctx, o, rows)
	}
	return nil
}

// given is what a chain was given that left this row.
func given(c operation.Chained, said []operation.Answer, alone bool) (*readings, operation.Given) {
	r := &readings{facts: c.Facts}
	return r, operation.Given{Facts: r.source, Answers: said, Alone: alone}
}

// attempt computes a chain again and compares what comes out. Where that can't be done, or doesn't
// matter any more, what the recorded hooks remembered holds.
func (s *session) attempt(o *op, was operation.Row, c operation.Chained, facts *readings, compute func() (operation.Row, error)) error {
	s.follows(o)
	switch {
	case !o.chosen || o.follow || o.change != nil:
		s.Remember(o.head.Instance, c.State)
		s.leave()
		return nil
	case o.reason == "":
		o.reason = impossible(c)
	}
	before := s.enter()
	now, err := operation.Row(nil), error(nil)
	if o.reason == "" {
		s.p.chains.unsafe = ""
		now, err = compute()
	}
	switch {
	case err != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)):
		return err
	case o.reason != "":
	case err != nil:
		o.reason = err.Error()
	case facts.missing != "":
		o.reason = facts.missing
	}
	if o.reason != "" {
		s.reset(before)
		s.Remember(o.head.Instance, c.State)
	} else if o.change = s.p.compare(o, was, now); o.change != nil && s.cause == nil {
		s.cause = o
	}
	s.leave()
	return nil
}

// impossible says why a chain can't be computed again, whatever its hooks are.
func impossible(c operation.Chained) string {
	for _, r := range c.Records {
		if r.Error == hookpoints.ErrHostTimeout.Error() {
			return fmt.Sprintf("the wall clock ended the hook %s at %s", r.BindingID, r.Point)
		}
	}
	return ""
}

// follows notes that an operation comes after one that changed.
func (s *session) follows(o *op) {
	if s.cause == nil || s.cause == o {
		return
	}
	// The calls of one reply have their inputs from that reply, whatever becomes of each other.
	if o.head.Kind == "tool" && o.head.Parent != "" && o.head.Parent == s.cause.head.Parent {
		return
	}
	o.follow = true
}

// enter gives the session the project's state as it is now, and keeps what there is.
func (s *session) enter() map[string]payload.Value {
	cells := s.Cells()
	maps.DeleteFunc(cells, func(name string, _ payload.Value) bool { return strings.HasPrefix(name, operation.ProjectCell) })
	maps.Copy(cells, s.p.project)
	return maps.Clone(cells)
}

func (s *session) reset(to map[string]payload.Value) {
	clear(s.Cells())
	maps.Copy(s.Cells(), to)
}

// leave gives the project's state to the other sessions.
func (s *session) leave() {
	for name, v := range s.Cells() {
		if strings.HasPrefix(name, operation.ProjectCell) {
			s.p.project[name] = v
		}
	}
}

func around(d operation.Decided, scope payload.Value) (*hookpoints.Around, error) {
	if !scope.Exists() {
		return nil, errors.New("it was recorded by an agentd that didn't keep its scope")
	}
	sc, err := hookpoints.NewScope(scope)
	return &hookpoints.Around{Scope: sc, Now: d.Head.Began, Seed: d.Head.ID}, err
}

// point replays a chain without an action. was is its row, or that of an earlier try that failed.
func (s *session) point(ctx context.Context, o *op, r operation.PointRow, was operation.Row, c operation.Chained) error {
	o.fires = o.fires || s.p.o.Point == "" || s.p.o.Point == r.Point
	facts, g := given(c, nil, false)
	return s.attempt(o, was, c, facts, func() (operation.Row, error) {
		a := operation.Action{}
		var err error
		if r.Head.Foreign { // what hooks may say there is checked
			if a, err = s.p.o.Shape(r.Decided); err != nil {
				return nil, err
			}
		}
		if a.Around, err = around(r.Decided, r.Scope); err != nil {
			return nil, err
		}
		return s.Point(ctx, r, a, g)
	})
}

// begin takes up an action as it was asked for.
func (s *session) begin(d operation.Decided) (*operation.Rehearsed, operation.Points, error) {
	a, err := s.p.o.Shape(d)
	if err != nil {
		return nil, a.Points, err
	}
	if a.Around, err = around(d, d.Scope); err != nil {
		return nil, a.Points, err
	}
	a.Prepare = preparing(d)
	return s.Begin(a), a.Points, nil
}

// decide replays what came before an action.
func (s *session) decide(ctx context.Context, o *op, rows []operation.Row) error {
	was := lastDecided(rows)
	d, _ := decidedOf(rows)
	s.fires(o, d)
	intent, started := was.(operation.IntentRow)
	if started && (d.Code == operation.NotExecuted || d.Reason == operation.NoBefore || d.Code == operation.SameAction || d.Head.Kind == operation.KindEffect) {
		// Another call of its reply stopped it, its client told of it only afterwards or for the second time, or a chain of
		// another operation asked for it: there is no chain to compare.
		s.follows(o)
		if s.cause != nil && d.Code == operation.NotExecuted {
			o.follow = true
		}
		o.live = o.begin(s, d, intent.State)
		s.enter()
		s.Remember(o.head.Instance, d.State)
		s.leave()
		return nil
	}
	facts, g := given(d.Chained, answers(rows, was), d.Alone)
	err := s.attempt(o, was, d.Chained, facts, func() (operation.Row, error) {
		var err error
		if o.action, o.points, err = s.begin(d); err != nil {
			return nil, err
		}
		return o.action.Decide(ctx, g)
	})
	o.live = err == nil && o.action != nil && o.change == nil && o.reason == ""
	return err
}

// begin takes an action as decided. It reports whether its after chain can be replayed.
func (o *op) begin(s *session, d operation.Decided, state operation.State) bool {
	var err error
	if o.action, o.points, err = s.begin(d); err != nil {
		o.reason = err.Error()
		return false
	}
	o.action.Started(d, state)
	return true
}

// fires notes whether an operation has a chain at the point that was asked for.
func (s *session) fires(o *op, d operation.Decided) {
	want := s.p.o.Point
	if want == "" {
		o.fires = true
		return
	}
	a, err := s.p.o.Shape(d)
	write := d.Write.Exists() && strings.HasPrefix(want, "file.write.")
	if err == nil && (a.Points.Before == want || a.Points.Confirm == want || a.Points.After == want || write || strings.HasPrefix(want, "operation.")) {
		o.fires = true
	}
}

// after replays what came after an action. earlier are its rows until then; was says how it came out.
func (s *session) after(ctx context.Context, o *op, earlier []operation.Row, was operation.Row, n int, c operation.Chained) error {
	var out *operation.OutcomeRow
	var told payload.Value
	state := operation.State("")
	var d operation.Decided
	for _, r := range earlier {
		switch r := r.(type) {
		case operation.OutcomeRow:
			out = &r
		case operation.IntentRow:
			d, state = r.Decided, r.State
		}
	}
	if a, ok := was.(operation.AfterRow); ok && a.Unknown {
		out, told = nil, a.Effective
	}
	if out == nil && !told.Exists() && state != operation.Responded {
		return nil // nobody saw how it ended
	}
	if !o.live && o.change == nil && o.reason == "" && !o.follow {
		o.live = o.begin(s, d, state)
	}
	facts, g := given(c, nil, false)
	return s.attempt(o, was, c, facts, func() (operation.Row, error) {
		if out != nil && (out.Scope.Exists() || out.Evidence.Exists()) {
			a, err := around(d, cmp.Or(out.Scope, d.Scope))
			if err != nil {
				return nil, err
			}
			o.action.Reported(a, out.Evidence)
		}
		return o.action.Finish(ctx, out, told, g)
	})
}

// failed replays a chain that failed and was, or will be, computed again.
func (s *session) failed(ctx context.Context, o *op, rows []operation.Row, i int, r operation.FailedRow) error {
	for _, later := range rows[i:] { // the same chain, when it went well
		if p, ok := later.(operation.PointRow); ok && p.Point == r.Point {
			return s.point(ctx, o, p, r, r.Chained)
		}
	}
	for _, earlier := range rows[:i] {
		switch earlier := earlier.(type) {
		case operation.OutcomeRow:
			return s.after(ctx, o, rows[:i], r, earlier.N, r.Chained)
		case operation.IntentRow:
			if earlier.State == operation.Responded {
				return s.after(ctx, o, rows[:i], r, 0, r.Chained)
			}
		}
	}
	d, ok := r.Decided()
	if !ok {
		if d, ok = decidedOf(rows); !ok || lastDecided(rows) == nil {
			o.reason = cmp.Or(o.reason, "a hook of it failed at "+r.Point+", and what that was given isn't recorded")
			return nil
		}
	}
	facts, g := given(r.Chained, nil, d.Alone)
	a, err := s.p.o.Shape(d)
	own := strings.HasPrefix(r.Point, "file.") && d.Head.Kind != r.Point                 // of the action's files, and no client's event about one
	if err != nil || a.Points.Before != r.Point && r.Point != a.Points.Confirm && !own { // it has no action
		return s.point(ctx, o, operation.PointRow{Decided: d, Point: r.Point}, r, r.Chained)
	}
	s.fires(o, d)
	return s.attempt(o, r, r.Chained, facts, func() (operation.Row, error) {
		x, points, err := s.begin(d)
		if err != nil {
			return nil, err
		}
		o.points = points
		return x.Decide(ctx, g)
	})
}
