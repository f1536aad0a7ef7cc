package operation

import (
	"context"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// Point runs a chain that has no action, or recalls what it decided. The row rides along; it is
// committed at once if the chain ended something, asked for an effect or was late. n numbers the
// chains of the operation h.
func (s *Session) Point(ctx context.Context, h Head, n int, point string, around *hookpoints.Around, in payload.Value) (Done, error) {
	for _, r := range s.saved[h.ID] {
		if row, ok := r.(PointRow); ok && row.N == n && row.Point == point {
			return s.followed(ctx, asking{h, around, n, 0, row.Effects}, point, pointDone(row.Decided))
		}
	}
	if s.Replaying() {
		return Done{}, ErrNotSaved
	}
	var d Decided
	err := s.settle(ctx, nothing, func() (err error) {
		d, err = s.computePoint(ctx, Action{Head: h, Around: around, Input: in}, n, point)
		return err
	})
	if err != nil {
		return Done{}, err
	}
	a, done := asking{h, around, n, 0, d.Effects}, pointDone(d)
	if len(d.Effects) > 0 && len(s.asked(a)) == 0 { // all of it was refused
		return done, s.Flush(ctx)
	}
	return s.followed(ctx, a, point, done)
}

// computePoint computes a chain that has no action: of a, only what the chain is given counts.
func (s *Session) computePoint(ctx context.Context, a Action, n int, point string) (Decided, error) {
	h, around, in := a.Head, a.Around, a.Input
	d, was, spent := Decided{Head: h, Original: in, Final: in, Outcome: hookpoints.Continued, Scope: around.Scope.Value}, s.mark(), int64(0)
	for _, part := range []hookpoints.Part{hookpoints.Ordinary, hookpoints.Guards} {
		res, err := s.run(ctx, h, chainRun{point: point, part: part, in: d.Final, around: around, attempt: n, validate: a.Validate, answer: a.Answer}, &d.Chained, &spent)
		if err != nil {
			s.forget(was)
			return Decided{}, err
		}
		d.Final = res.Payload
		if res.Outcome == hookpoints.Failed {
			s.back(was)
			return Decided{}, s.failed(ctx, h.ID, point, &res, d.Chained, d.given())
		}
		if res.By != "" {
			d.decided(&res)
		}
		if part == hookpoints.Ordinary && (res.Outcome == hookpoints.Rejected || res.Outcome == hookpoints.Stopped) {
			if err := s.skip(ctx, h, chainRun{point: point, part: hookpoints.Guards, around: around}, res.By, &d.Chained); err != nil {
				s.forget(was)
				return Decided{}, err
			}
			break
		}
	}
	if a.Allowed != nil && d.Outcome == hookpoints.Allowed {
		point, guarded := a.Allowed(d.Final)
		res, err := s.run(ctx, h, chainRun{point: point, part: hookpoints.Guards, in: guarded, around: around, attempt: n}, &d.Chained, &spent)
		if err != nil {
			s.forget(was)
			return Decided{}, err
		}
		if res.Outcome == hookpoints.Failed {
			s.back(was)
			return Decided{}, s.failed(ctx, h.ID, point, &res, d.Chained, d.given())
		}
		if res.By != "" {
			d.decided(&res)
		}
	}
	s.pending = append(s.pending, PointRow{d, point, n})
	s.request(asking{h, around, n, 0, d.Effects}, false)
	if a.Note != nil {
		a.Note(pointDone(d))
	}
	if len(d.Effects) == 0 && d.By != "" || s.late { // what is asked for rides with the first that begins
		if err := s.Flush(ctx); err != nil {
			return Decided{}, err
		}
		s.at("point." + point)
	}
	return d, nil
}

func pointDone(d Decided) Done {
	done := Done{Head: d.Head, Outcome: d.Outcome, State: Finished, Status: Succeeded, Effective: d.Final, By: d.By, Reason: d.Reason, Code: d.Code, Texts: d.Texts, Clear: d.Clear}
	switch d.Outcome {
	case hookpoints.Rejected, hookpoints.Denied:
		done.State = Rejected
	case hookpoints.Responded:
		done.State, done.Effective = Responded, d.Response
	case hookpoints.Stopped:
		done.State, done.Stop = Stopped, true
	case hookpoints.Proceeded:
		done.Proceed = d.Reason
	}
	return done
}
