package operation

import (
	"context"
	"errors"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// finish computes what everybody sees of a result. A failed after chain keeps the outcome, shows
// nobody the value and stops the run; it is computed again when the run is resumed.
func (s *Session) finish(ctx context.Context, o *open) error {
	if o.stage != toFinish && o.stage != toTell {
		return nil
	}
	was := *o
	return s.settle(ctx, func() { *o = was }, func() error { return s.finishOnce(ctx, o) })
}

func (s *Session) finishOnce(ctx context.Context, o *open) error {
	if o.status == Cancelled { // it has ended, and is looked at like any other
		ctx = context.WithoutCancel(ctx)
	}
	o.was = s.mark()
	after := AfterRow{Op: o.d.Head.ID, N: o.n}
	err := s.computeAfter(ctx, o, &after)
	var failed *failedChain
	switch {
	case errors.As(err, &failed):
		s.back(o.was)
		return s.failed(ctx, o.d.Head.ID, failed.point, &failed.res, after.Chained, payload.Value{})
	case err != nil:
		s.forget(o.was)
		return err
	}
	o.after, o.stage = after, closed
	s.pending = append(s.pending, after)
	s.request(o.askings()[1], false)
	s.tellEffect(o)
	if o.a.Note != nil {
		o.a.Note(o.reportedDone())
	}
	if s.late || after.Unknown { // what the clock decided, and what is told as unknown, stays so
		if err := s.Flush(ctx); err != nil {
			return err
		}
	}
	s.at("after." + o.d.Head.Kind)
	return nil
}

func (s *Session) computeAfter(ctx context.Context, o *open, after *AfterRow) error {
	if o.stage == toTell {
		o.raw, o.status, after.Effective, after.Unknown = o.a.UnknownText, UnknownStat, o.a.UnknownText, true
	}
	if o.state != Responded && o.status != Succeeded && o.status != Blocked {
		if err := s.diagnosePoint(ctx, o, "operation.error", "executing", &after.Chained); err != nil {
			return err
		}
	}
	if o.stage == toFinish || o.a.AfterUnknown {
		if err := s.chainAfter(ctx, o, after); err != nil {
			return err
		}
	}
	return s.diagnosePoint(ctx, o, "operation.finally", "completed", &after.Chained)
}

func (s *Session) chainAfter(ctx context.Context, o *open, after *AfterRow) error {
	if o.d.Write.Exists() && o.status == Succeeded && o.state == Finished {
		if err := s.wrote(ctx, o, &after.Chained); err != nil {
			return err
		}
	}
	in, point := o.raw, o.a.Points.After
	if o.a.After != nil {
		if in = o.a.After(o.d.Final, o.raw, o.status); !in.Exists() {
			in, point = o.raw, ""
		}
	}
	spent := int64(0)
	for _, part := range []hookpoints.Part{hookpoints.Ordinary, hookpoints.Guards} {
		res, err := s.run(ctx, o.d.Head, chainRun{point: point, part: part, in: in, around: o.a.Around, validate: o.a.ValidateAfter, attempt: o.n}, &after.Chained, &spent)
		if err != nil {
			return err
		}
		in = res.Payload
		switch res.Outcome {
		case hookpoints.Failed:
			return &failedChain{point, res}
		case hookpoints.Stopped:
			after.Stopped, after.By, after.Reason = true, res.By, res.Decision.Text
		case hookpoints.Proceeded:
			after.Proceed, after.By = res.Decision.Text, res.By
		}
		o.halted(after, &res)
	}
	after.Effective = in
	if o.a.Effective != nil && point != "" {
		after.Effective = o.a.Effective(in)
	}
	return nil
}

// wrote fires file.write.after.
func (s *Session) wrote(ctx context.Context, o *open, sum *Chained) error {
	kind := o.d.Write.Get("kind")
	in := payload.NewObject(
		payload.Field{Name: "path", Value: o.d.Write.Get("path")},
		payload.Field{Name: "kind", Value: kind},
		payload.Field{Name: "created", Value: payload.NewBool(kind.Text() == "create")})
	var spent int64
	for _, part := range []hookpoints.Part{hookpoints.Ordinary, hookpoints.Guards} {
		res, err := s.run(ctx, o.d.Head, chainRun{point: "file.write.after", part: part, in: in, around: o.a.Around, attempt: o.n}, sum, &spent)
		if err != nil {
			return err
		}
		if res.Outcome == hookpoints.Failed {
			return &failedChain{"file.write.after", res}
		}
	}
	return nil
}

// diagnose fires operation.error and operation.finally for an action that was closed before it began.
func (s *Session) diagnose(ctx context.Context, o *open) error {
	if o.state != Rejected && o.state != Stopped {
		return nil
	}
	if err := s.diagnosePoint(ctx, o, "operation.error", "before", &o.d.Chained); err != nil {
		return err
	}
	return s.diagnosePoint(ctx, o, "operation.finally", "before", &o.d.Chained)
}

// diagnosePoint fires one of the two; it can change nothing, and its failures are only recorded.
func (s *Session) diagnosePoint(ctx context.Context, o *open, point, stage string, sum *Chained) error {
	status := o.status
	if status == "" {
		status = NotRun
	}
	problem := payload.NewNull()
	if o.state == Rejected || o.state == Stopped || status != Succeeded && status != Blocked {
		kind, where := "operation_failed", stage
		if status == Cancelled {
			kind = "cancelled"
		}
		if stage == "completed" { // it failed before that
			where = "executing"
		}
		problem = payload.NewObject(payload.Field{Name: "type", Value: payload.NewString(kind)}, payload.Field{Name: "stage", Value: payload.NewString(where)})
	}
	after := int64(0)
	if sum != &o.d.Chained {
		after = completed(sum.Records, o.a.Points.After)
	}
	in := payload.NewObject(
		payload.Field{Name: "kind", Value: payload.NewString(o.d.Head.Kind)},
		payload.Field{Name: "stage", Value: payload.NewString(stage)},
		payload.Field{Name: "actual_status", Value: payload.NewString(status)},
		payload.Field{Name: "error", Value: problem},
		payload.Field{Name: "completed_before", Value: payload.NewInt(completed(o.d.Records, o.a.Points.Before))},
		payload.Field{Name: "completed_after", Value: payload.NewInt(after)})
	var spent int64
	_, err := s.run(ctx, o.d.Head, chainRun{point: point, part: hookpoints.Ordinary, in: in, around: o.a.Around, attempt: o.n}, sum, &spent)
	return err
}

// completed counts the bindings of a point that ran without a fault.
func completed(recs []hookpoints.Record, point string) (n int64) {
	for _, r := range recs {
		if r.Ran && r.Error == "" && r.Part == hookpoints.Ordinary && r.Point == point {
			n++
		}
	}
	return n
}
