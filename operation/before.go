package operation

import (
	"bytes"
	"context"
	"slices"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// before: before chain -> prepare -> guards -> confirm -> guards again on what was answered -> validate.
func (s *Session) before(ctx context.Context, o *open, earlier []*open) error {
	a := &o.a
	res, err := s.run(ctx, o.d.Head, chainRun{point: a.Points.Before, part: hookpoints.Ordinary, in: o.d.Final, around: a.Around, validate: a.Validate, answer: a.Answer, original: o.d.Original}, &o.d.Chained, &o.before)
	if err != nil {
		return err
	}
	o.d.Final = res.Payload
	if over, err := s.ended(ctx, o, &res, a.Points.Before, a.Points.Before); over || err != nil {
		return err
	}
	responded := res.Outcome == hookpoints.Responded
	if responded {
		o.d.decided(&res)
	} else if over, err := s.prepare(ctx, o); over || err != nil {
		return err
	}
	if over, err := s.guards(ctx, o); over || err != nil {
		return err
	}
	if responded {
		o.state, o.stage, o.raw, o.status = Responded, toFinish, o.d.Response, Succeeded
		return nil
	}
	if a.Elicits != "" {
		return s.elicit(ctx, o, earlier)
	}
	if a.Insert != nil && len(o.d.Texts) > 0 {
		o.d.Final = a.Insert(o.d.Final, o.d.Texts)
	}
	again := false
	if a.Points.Confirm != "" {
		if again, err = s.confirm(ctx, o, earlier); err != nil || o.state != NotStarted {
			return err
		}
	}
	return s.lastLook(ctx, o, earlier, again)
}

// ended applies what closes an action before it began; a failed chain is an error of its own. The
// guards of the points in unrun get a record that says why they don't run.
func (s *Session) ended(ctx context.Context, o *open, res *hookpoints.Result, point string, unrun ...string) (over bool, err error) {
	switch res.Outcome {
	case hookpoints.Rejected:
		o.closes(Rejected, res)
	case hookpoints.Stopped:
		o.closes(Stopped, res)
	case hookpoints.Failed:
	default:
		return o.state != NotStarted, nil
	}
	for _, p := range unrun {
		if err := s.skip(ctx, o.d.Head, chainRun{point: p, part: hookpoints.Guards, around: o.a.Around}, res.By, &o.d.Chained); err != nil {
			return true, err
		}
	}
	if res.Outcome == hookpoints.Failed {
		return true, &failedChain{point, *res}
	}
	return true, nil
}

// prepare computes what a tool will write and lets file.write.before look at it.
func (s *Session) prepare(ctx context.Context, o *open) (over bool, err error) {
	if o.a.Prepare == nil {
		return false, nil
	}
	write, err := o.a.Prepare(ctx, o.d.Final)
	if err != nil {
		res := hookpoints.Result{Outcome: hookpoints.Rejected, Decision: hookpoints.Decision{Text: err.Error(), Name: "invalid"}}
		o.closes(Rejected, &res)
		return true, nil
	}
	if !write.Exists() {
		o.d.Write = write
		return false, nil
	}
	all := o.d.prepared(write)
	o.d.Write, o.d.Prepared = write, all
	var spent int64
	told := len(o.d.Texts)
	res, err := s.run(ctx, o.d.Head, chainRun{point: "file.write.before", part: hookpoints.Ordinary, in: write, around: o.a.Around}, &o.d.Chained, &spent)
	if err != nil {
		return false, err
	}
	o.d.Texts = once(o.d.Texts, told)
	o.d.Write = res.Payload
	if !slices.ContainsFunc(all, func(p payload.Value) bool { return !same(p, o.d.Write) }) {
		o.d.Prepared = nil
	}
	return s.ended(ctx, o, &res, "file.write.before", o.a.Points.Before, "file.write.before")
}

// prepared lists what was prepared so far, and now.
func (d *Decided) prepared(now payload.Value) []payload.Value {
	if len(d.Prepared) == 0 && d.Write.Exists() { // it says it all
		return []payload.Value{d.Write, now}
	}
	return append(slices.Clip(d.Prepared), now)
}

func same(a, b payload.Value) bool { return a == b || bytes.Equal(a.JSON(), b.JSON()) }

// once drops texts behind the first n that are there already: a write that is prepared again is told
// about once.
func once(texts []hookpoints.Text, n int) []hookpoints.Text {
	out := texts[:n:n]
	for _, t := range texts[n:] {
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// guards runs the guards of the before point, and those of file.write.before, on the final input.
func (s *Session) guards(ctx context.Context, o *open) (over bool, err error) {
	res, err := s.run(ctx, o.d.Head, chainRun{point: o.a.Points.Before, part: hookpoints.Guards, in: o.d.Final, around: o.a.Around}, &o.d.Chained, &o.before)
	if err != nil {
		return false, err
	}
	var unrun []string
	if o.d.Write.Exists() {
		unrun = []string{"file.write.before"}
	}
	if over, err := s.ended(ctx, o, &res, o.a.Points.Before, unrun...); over || err != nil || unrun == nil {
		return over, err
	}
	var spent int64
	res, err = s.run(ctx, o.d.Head, chainRun{point: "file.write.before", part: hookpoints.Guards, in: o.d.Write, around: o.a.Around}, &o.d.Chained, &spent)
	if err != nil {
		return false, err
	}
	return s.ended(ctx, o, &res, "file.write.before")
}

// confirmed runs the confirm point, whose guards answer first.
func (s *Session) confirmed(ctx context.Context, o *open) (hookpoints.Result, error) {
	res, err := s.confirmGuards(ctx, o)
	if err != nil {
		return res, err
	}
	q := chainRun{point: o.a.Points.Confirm, part: hookpoints.Ordinary, in: res.Payload, around: o.a.Around, validate: o.validateEdit}
	if res.Outcome != hookpoints.Continued {
		return res, s.skip(ctx, o.d.Head, q, res.By, &o.d.Chained)
	}
	return s.run(ctx, o.d.Head, q, &o.d.Chained, &o.confirm)
}

func (s *Session) confirmGuards(ctx context.Context, o *open) (hookpoints.Result, error) {
	in := o.a.Confirm(o.d.Final, o.d.Write)
	return s.run(ctx, o.d.Head, chainRun{point: o.a.Points.Confirm, part: hookpoints.Guards, in: in, around: o.a.Around}, &o.d.Chained, &o.confirm)
}

// lookAgain prepares and lets all guards look, after an edit or a person's time. What a guard of the
// confirm point asks is in the result; what it denies closes the action.
func (s *Session) lookAgain(ctx context.Context, o *open) (res hookpoints.Result, over bool, err error) {
	if over, err := s.prepare(ctx, o); over || err != nil {
		return res, over, err
	}
	if over, err := s.guards(ctx, o); over || err != nil {
		return res, over, err
	}
	if o.a.Points.Confirm == "" {
		return res, false, nil
	}
	if res, err = s.confirmGuards(ctx, o); err == nil && res.Outcome == hookpoints.Denied {
		o.denied(&res)
	}
	return res, o.state != NotStarted, err
}

// denied closes an action that may not run.
func (o *open) denied(res *hookpoints.Result) {
	switch {
	case res.By == "" && o.a.Policy == "deny":
		res.Decision.Text = "it isn't allowed: confirm is deny"
	case res.By == "":
		res.Decision.Text = "it isn't allowed: confirm is " + o.a.Policy + ", and nobody can be asked"
	case res.Outcome == hookpoints.Asked:
		res.Decision.Text = NobodyAsked + res.Decision.Text
	}
	res.Outcome = hookpoints.Denied
	o.closes(Rejected, res)
	if o.d.Code == "" {
		o.d.Code = "denied"
	}
}

// confirm answers "may this run?". It reports whether all has to be looked at again, as it has after
// a person's time.
func (s *Session) confirm(ctx context.Context, o *open, earlier []*open) (again bool, err error) {
	res, err := s.confirmed(ctx, o)
	if err != nil {
		return false, err
	}
	verdict := o.verdict(res.Outcome, s.runner.Gate != nil)
	if verdict == hookpoints.Allowed && res.Decision.Verb == hookpoints.Edit {
		o.d.Final = o.d.Final.With(payload.Field{Name: "arguments", Value: res.Payload.Get("arguments")})
		var over bool
		if res, over, err = s.lookAgain(ctx, o); over || err != nil || res.Outcome != hookpoints.Asked {
			return false, err
		}
		verdict = o.verdict(res.Outcome, s.runner.Gate != nil)
	}
	switch verdict {
	case hookpoints.Allowed:
		return false, nil
	case hookpoints.Denied:
		o.denied(&res)
		return false, nil
	}
	err = s.question(ctx, o, earlier, &res)
	return o.allowance == "", err
}

func (o *open) verdict(out hookpoints.Outcome, canAsk bool) hookpoints.Outcome {
	o.d.Alone = !canAsk
	switch {
	case out == hookpoints.Continued && o.a.Policy == "allow":
		return hookpoints.Allowed
	case out == hookpoints.Continued && (o.a.Policy == "deny" || !canAsk):
		return hookpoints.Denied
	case out == hookpoints.Continued:
		return hookpoints.Asked
	case out == hookpoints.Asked && !canAsk:
		return hookpoints.Denied
	}
	return out
}

// validateEdit holds an edited input to what the tool takes.
func (o *open) validateEdit(ctx context.Context, confirm payload.Value) (payload.Value, error) {
	if o.a.Validate == nil {
		return confirm, nil
	}
	_, err := o.a.Validate(ctx, o.d.Final.With(payload.Field{Name: "arguments", Value: confirm.Get("arguments")}))
	return confirm, err
}
