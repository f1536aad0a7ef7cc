package operation

import (
	"context"
	"fmt"

	"agentd/hookpoints/payload"
)

// first are the effects that have to come before the action.
func (o *open) first() asking {
	a := o.askings()[0]
	a.requests = nil
	for _, r := range o.d.Effects {
		if r.Before {
			a.requests = append(a.requests, r)
		}
	}
	return a
}

// preceded reports whether all that had to come before an action is over. If it isn't, the action wasn't
// started, as its intent is durable before that.
func (s *Session) preceded(o *open) bool {
	for _, row := range s.asked(o.first()) {
		if s.take(s.effect(row)).stage != closed {
			return false
		}
	}
	return true
}

// precede does what has to come before actions whose intents are durable, in call order. One that didn't
// succeed blocks its action and what was to come after it, and so does a hook that ends the run.
func (s *Session) precede(ctx context.Context, group []*open) error {
	for _, o := range group {
		rows := s.asked(o.first())
		if len(rows) == 0 || o.retry != "" || o.n > 0 { // what is retried came this far
			continue
		}
		o.came = []Done{}
		for i, row := range rows {
			done, err := s.Do(ctx, s.effect(row))
			if err != nil {
				return err
			}
			o.came = append(o.came, done)
			if done.Status == Succeeded && !done.Stop {
				continue
			}
			for _, rest := range rows[i+1:] {
				s.refuse(rest.Decided, Stopped, "not_executed", "the action that it was to come before was blocked by "+done.Head.ID)
			}
			o.block(done)
			break
		}
		// Only when this is durable may the action start: it is how a resume knows that it did.
		if err := s.Flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// haltRest closes what is left of a batch when a hook ended the run after what came before an action.
func (s *Session) haltRest(ctx context.Context, group, rest []*open) error {
	for _, o := range group {
		if len(o.came) == 0 || !o.came[len(o.came)-1].Stop {
			continue
		}
		last := o.came[len(o.came)-1]
		stop := &open{d: Decided{By: last.By, Reason: last.Reason}}
		for _, r := range rest {
			if r.stage == toRun && !r.intent {
				if err := s.notExecuted(ctx, r, stop); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return nil
}

// block gives an action the result that it has because of an effect before it.
func (o *open) block(e Done) {
	why := fmt.Sprintf("%s: %s", e.Status, e.Effective.Get("error").Text())
	switch {
	case e.State == Stopped || e.State == Rejected:
		why = "wasn't done: " + e.Reason
	case e.Status == Succeeded:
		why = e.Reason
	case e.Status == UnknownStat:
		why = "may or may not have been done, nobody knows: " + e.Effective.Get("error").Text()
	}
	o.raw = payload.NewObject(str("error", "not executed: the effect "+e.Head.Tool+", which was to come before it, "+why), str("code", "effect_"+effectCode(e)))
	o.status, o.state, o.stage = Failed, Finished, toFinish
	o.blocked = true
}

func effectCode(e Done) string {
	if e.Status == Succeeded {
		return "halted"
	}
	return e.Status
}

// foreignPrecede is precede for a client's action, which is told no if it is blocked: it has an outcome
// then, and the hooks after it look at that.
func (s *Session) foreignPrecede(ctx context.Context, o *open, done *Done) error {
	if o.state != Running {
		return nil
	}
	if err := s.precede(ctx, []*open{o}); err != nil {
		return err
	}
	for _, e := range o.came {
		done.came(e, o.a.Points.Before)
	}
	if !o.blocked {
		return nil
	}
	done.State, done.Reason, done.Code = Rejected, o.raw.Get("error").Text(), o.raw.Get("code").Text()
	s.pending = append(s.pending, o.outcome())
	if err := s.finish(ctx, o); err != nil {
		return err
	}
	return s.Flush(ctx)
}

// later reports whether a client's action has effects that aren't done in its presence.
func (o *open) later() bool {
	return len(o.d.Effects) > len(o.first().requests) || len(o.after.Effects) > 0
}
