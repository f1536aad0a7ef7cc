package operation

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// Do runs one action.
func (s *Session) Do(ctx context.Context, a Action) (Done, error) {
	done, err := s.Batch(ctx, []Action{a})
	if err != nil {
		return Done{}, err
	}
	return done[0], nil
}

// Batch runs the actions of one step. All before chains, questions and guards come first, in call
// order. Actions that overlap share an intent commit and each commits its outcome when it ends; the
// others run one by one, each intent together with the outcome before it. After chains come last,
// in call order. Every action has a Done, also those that a stop kept from running.
func (s *Session) Batch(ctx context.Context, actions []Action) ([]Done, error) {
	if s.replays {
		return s.recall(ctx, actions)
	}
	ops := make([]*open, len(actions))
	stopped := false
	for i, a := range actions {
		o := s.take(a)
		ops[i] = o
		if o.stage == unrecorded {
			return nil, fmt.Errorf("%w: operation %s", ErrUnknownModel, a.Head.ID)
		}
		if stopped && (o.stage == toDecide || o.stage == toAsk) {
			s.notExecuted(o)
			continue
		}
		if err := s.decide(ctx, o, ops[:i]); err != nil {
			return nil, err
		}
		stopped = stopped || o.state == Stopped
	}
	if stopped {
		s.keepFromRunning(ops)
	}
	if err := s.act(ctx, ops); err != nil {
		return nil, err
	}
	out := make([]Done, len(ops))
	for i, o := range ops {
		if err := s.finish(ctx, o); err != nil {
			return nil, err
		}
		out[i] = o.done()
	}
	return out, nil
}

// recall gives what is saved. The body of a composite action runs, as its parts are asked for.
func (s *Session) recall(ctx context.Context, actions []Action) ([]Done, error) {
	out := make([]Done, len(actions))
	for i, a := range actions {
		o := s.take(a)
		if o.d.Head.Composite && o.intent && (o.state == Running || o.state == Finished) {
			if _, _, err := a.Do(ctx, o.d.Final, o.d.Write); err != nil {
				return nil, err
			}
		} else if o.stage != closed {
			return nil, ErrNotSaved
		}
		out[i] = o.done()
	}
	return out, nil
}

// keepFromRunning closes the calls that were decided before another call of the batch stopped the run.
func (s *Session) keepFromRunning(ops []*open) {
	for _, o := range ops {
		if o.stage == toRun && !o.intent {
			s.notExecuted(o)
		}
	}
}

func (s *Session) notExecuted(o *open) {
	o.state, o.stage, o.d.Outcome, o.d.Reason = Stopped, closed, hookpoints.Stopped, "not executed"
	s.pending = append(s.pending, IntentRow{o.d, Stopped})
}

// decide takes an action to the point where it runs, or is closed.
func (s *Session) decide(ctx context.Context, o *open, earlier []*open) error {
	was := s.mark()
	var err error
	switch {
	case o.stage == toDecide:
		err = s.before(ctx, o, earlier)
	case o.stage == toAsk:
		if err = s.ask(ctx, o); err == nil && o.state == NotStarted {
			err = s.lastLook(ctx, o, true)
		}
	case o.stage == toRun && o.intent:
		o.state = Running
		return nil
	case o.stage == toRun: // ready, or answered
		err = s.lastLook(ctx, o, o.asked > 0)
	case o.intent: // nothing is left to decide
		return nil
	}
	var failed *failedChain
	if errors.As(err, &failed) {
		return s.failedBefore(ctx, o, was, failed)
	}
	if err != nil || o.stage == toRun {
		return err
	}
	if err := s.diagnose(ctx, o, "before", &o.d.Chained); err != nil {
		return err
	}
	s.pending = append(s.pending, IntentRow{o.d, o.state})
	return nil
}

// failedChain carries a failed chain up to where it is known what that means.
type failedChain struct {
	point string
	res   hookpoints.Result
}

func (f *failedChain) Error() string {
	return fmt.Sprintf("%s at %s: %s", f.res.By, f.point, f.res.Error)
}

// failedBefore: a failed chain rejects a tool call, and the model is told; elsewhere it stops the run
// and is computed again when that is resumed.
func (s *Session) failedBefore(ctx context.Context, o *open, was mark, f *failedChain) error {
	if o.a.Head.Kind != "tool" {
		s.back(was)
		return s.failed(ctx, o.a.Head.ID, f.point, &f.res, o.d.Chained)
	}
	o.closes(Rejected, &f.res)
	if err := s.diagnose(ctx, o, "before", &o.d.Chained); err != nil {
		return err
	}
	s.pending = append(s.pending, IntentRow{o.d, o.state})
	if f.res.TimedOut { // the clock may not decide differently next time
		return s.Flush(ctx)
	}
	return nil
}

// act runs what is to run.
func (s *Session) act(ctx context.Context, ops []*open) error {
	first := true
	for i := 0; i < len(ops); {
		if ops[i].stage != toRun {
			i++
			continue
		}
		group := []*open{ops[i]}
		for i++; i < len(ops) && group[0].a.Overlaps && ops[i].a.Overlaps && ops[i].stage == toRun; i++ {
			group = append(group, ops[i])
		}
		for _, o := range group {
			s.intend(o)
		}
		if first { // a crash now must not decide the rest again
			first = false
			for _, o := range ops[i:] {
				if o.stage == toRun && len(s.saved[o.d.Head.ID]) == 0 {
					s.pending = append(s.pending, ReadyRow{o.d})
				}
			}
		}
		if err := s.Flush(ctx); err != nil {
			return err
		}
		s.at("intent." + group[0].d.Head.Kind)
		if err := s.actTogether(ctx, group); err != nil {
			return err
		}
	}
	return s.Flush(ctx)
}

// intend queues the row that must be durable before the action starts. A composite one that was cut
// off needs none: it goes on through its parts.
func (s *Session) intend(o *open) {
	switch {
	case !o.intent:
		s.pending = append(s.pending, IntentRow{o.d, Running})
	case o.retry != "":
		s.pending = append(s.pending, RetryRow{o.d.Head.ID, o.n, o.retry})
		o.n++
	}
}

// actTogether runs actions that overlap, or a single one. Of several, each commits its own outcome;
// that of a single one rides with the next intent.
func (s *Session) actTogether(ctx context.Context, group []*open) error {
	if len(group) == 1 {
		o := group[0]
		if err := s.actOne(ctx, o); err != nil {
			return err
		}
		s.pending = append(s.pending, o.outcome())
		s.at("action." + o.d.Head.Kind)
		return nil
	}
	errs := make([]error, len(group))
	var wg sync.WaitGroup
	for i, o := range group {
		wg.Go(func() {
			if errs[i] = s.actOne(ctx, o); errs[i] != nil {
				return
			}
			if err := s.runner.Journal.Commit(context.WithoutCancel(ctx), Commit{Rows: []Row{o.outcome()}}); err != nil {
				errs[i] = fmt.Errorf("%w: %w", ErrPersistence, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (s *Session) actOne(ctx context.Context, o *open) (err error) {
	o.raw, o.status, err = o.a.Do(ctx, o.d.Final, o.d.Write)
	if err != nil {
		return err
	}
	if !o.raw.Exists() {
		o.raw = payload.NewNull()
	}
	o.state, o.stage = Finished, toFinish
	return nil
}

func (o *open) outcome() OutcomeRow { return OutcomeRow{o.d.Head.ID, o.n, o.raw, o.status} }
