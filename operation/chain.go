package operation

import (
	"context"
	"fmt"
	"slices"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// chainRun is one run of one part of one chain, for an operation.
type chainRun struct {
	point    string
	part     hookpoints.Part
	in       payload.Value
	around   *hookpoints.Around
	validate func(context.Context, payload.Value) (payload.Value, error)
	answer   func(payload.Value) error
	attempt  int           // the chain of which outcome, or which of a part's chains
	original payload.Value // of a before chain: what the operation was given
}

// run runs a part of a chain and folds what it computed into the session and into sum.
func (s *Session) run(ctx context.Context, h Head, q chainRun, sum *Chained, spent *int64) (hookpoints.Result, error) {
	none := hookpoints.Result{Outcome: hookpoints.Continued, Payload: q.in}
	if q.point == "" {
		return none, nil
	}
	c, err := s.runner.Chains.Chain(ctx, h.Revisions, q.point, q.around.Scope)
	if err != nil {
		return none, err
	}
	if c == nil {
		return none, fmt.Errorf("there is no point %q", q.point)
	}
	if len(c.Bindings(q.part)) == 0 {
		return none, nil
	}
	if err := c.Point().Check(q.in); err != nil {
		return none, err
	}
	if err := s.readWide(ctx, c.Bindings(q.part)); err != nil {
		return none, err
	}
	round := rounds(sum.Records, c.Bindings(q.part)[0], q)
	req := hookpoints.Request{Payload: q.in, Around: q.around, States: states{s, h.Instance}, Writable: s.writable, Validate: q.validate, Answer: q.answer, Tracer: s.runner.Tracer, Spent: *spent,
		Progress: &progress{s, ctx, h, &q, sum.Records}, Defer: s.runner.Background != nil}
	if s.reread != nil {
		req.Facts = s.reread(q.point, q.part, round)
	} else if s.runner.Facts != nil {
		req.Facts = s.runner.Facts.Open(h, q.point, s.uncommitted)
	}
	res, err := c.Run(ctx, q.part, req)
	if err != nil {
		return res, err
	}
	*spent += res.Nanos
	s.late = s.late || res.TimedOut
	for i := range res.Facts {
		res.Facts[i].Point, res.Facts[i].Round = q.point, round
	}
	s.merge(h.Instance, res.State)
	sum.add(&res)
	s.tell(h, res.Records)
	for _, d := range res.Deferred {
		s.Leave(func() { s.runner.Background(h, d) })
	}
	return res, nil
}

// rounds counts how often this part of a chain ran for the operation already.
func rounds(recs []hookpoints.Record, first *hookpoints.Binding, q chainRun) (n int) {
	for _, r := range recs {
		if r.BindingID == first.BindingID && r.Point == q.point && r.Part == q.part {
			n++
		}
	}
	return n
}

// uncommitted are the operations that have rows which no journal has yet: what rides in the next commit,
// and the calls of this batch that are decided. It is an [Uncommitted].
func (s *Session) uncommitted(ctx context.Context) ([][]Row, error) {
	late := slices.Clone(s.pending)
	for _, o := range s.batch {
		if o.stage == toRun && !o.intent && !o.kept {
			late = append(late, ReadyRow{o.d})
		}
	}
	var out [][]Row
	place := map[string]int{}
	for _, r := range late {
		op := r.Key().Op
		i, known := place[op]
		if !known {
			i, place[op] = len(out), len(out)
			rows, err := s.runner.Journal.Rows(ctx, op)
			if err != nil {
				return nil, err
			}
			out = append(out, rows)
		}
		out[i] = append(out[i], r)
	}
	return out, nil
}

// skip records that the guards of a point don't run, because of what ended the action before.
func (s *Session) skip(ctx context.Context, h Head, q chainRun, by string, sum *Chained) error {
	if q.point == "" {
		return nil
	}
	c, err := s.runner.Chains.Chain(ctx, h.Revisions, q.point, q.around.Scope)
	if err != nil || c == nil {
		return err
	}
	recs := c.Skipped(q.part, by)
	sum.Records = append(sum.Records, recs...)
	s.tell(h, recs)
	return nil
}

func (s *Session) tell(h Head, recs []hookpoints.Record) {
	if s.runner.Decided == nil {
		return
	}
	for _, rec := range recs {
		s.Leave(func() { s.runner.Decided(h, rec) })
	}
}

func (d *Decided) decided(res *hookpoints.Result) {
	d.Outcome, d.By, d.Reason, d.Code = res.Outcome, res.By, res.Decision.Text, res.Decision.Name
	d.Response, d.Clear = res.Decision.Value, res.Decision.Verb == hookpoints.Stop && res.Decision.Flag
	if res.Error != "" {
		d.Code, d.Reason = res.Error, "the hook failed"
	}
}

// failed keeps the records of a chain that will be computed again, and says which hook it was.
func (s *Session) failed(ctx context.Context, op, point string, res *hookpoints.Result, sum Chained, given payload.Value) error {
	// Not from s.saved: no run owns an operation of which only failures are saved.
	rows, err := s.runner.Journal.Rows(context.WithoutCancel(ctx), op)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPersistence, err)
	}
	n := 0
	for _, r := range rows {
		if _, ok := r.(FailedRow); ok {
			n++
		}
	}
	row := FailedRow{Op: op, N: n, Point: point, By: res.By, Error: res.Error, Given: given, Chained: sum}
	row.State, row.Effects = nil, nil // computed again, so nothing was remembered or asked for
	s.pending = append(s.pending, row)
	if err := s.Flush(ctx); err != nil {
		return err
	}
	return row.failure()
}

func (r FailedRow) failure() error {
	return fmt.Errorf("%w: %s at %s: %s", ErrHook, r.By, r.Point, r.Error)
}
