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
	switch {
	case s.replays:
		return s.recall(ctx, actions)
	case s.settles && len(actions) > 0 && actions[0].Head.Kind != KindEffect:
		return s.tidy(ctx, actions)
	}
	ops := make([]*open, len(actions))
	for i, a := range actions {
		ops[i] = s.take(a)
	}
	s.batch = ops
	err := s.decideAll(ctx, ops)
	s.batch = nil
	if err != nil {
		return nil, err
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
	return out, s.follow(ctx, ops, out)
}

// recall gives what is saved. The body of a composite action runs, as its parts are asked for. Beside
// ErrNotSaved comes how far each action got, for those who show a history: of a result that the after
// chain never saw, only that it is there.
func (s *Session) recall(ctx context.Context, actions []Action) ([]Done, error) {
	out, ops := make([]Done, len(actions)), make([]*open, len(actions))
	var cut error
	for i, a := range actions {
		o := s.take(a)
		ops[i] = o
		if o.d.Head.Composite && o.intent && (o.state == Running || o.state == Finished) {
			if _, _, err := a.Do(ctx, o.d.Final, o.d.Write); errors.Is(err, ErrNotSaved) && a.Head.Parent != "" {
				cut = err
			} else if err != nil {
				return nil, err
			}
		} else if o.stage != closed {
			cut = ErrNotSaved
		}
		out[i] = o.done()
		switch {
		case o.state == Running && a.Head.Parent != "" && o.d.Head.Composite: // cut off in its parts
			out[i].State = NotStarted
		case o.retry == hadNotBegun:
			out[i].State, out[i].Status = NotStarted, NotRun
		case o.stage == toTell || o.stage == toRun && o.intent && !o.d.Head.Composite:
			out[i].State, out[i].Status, out[i].Effective = Unknown, UnknownStat, o.a.UnknownText
		}
	}
	if err := s.follow(ctx, ops, out); err != nil {
		return out, err
	}
	return out, cut
}

// decideAll takes all actions to the point where they run, or are closed. What was decided stays
// decided, also if a later one can't be.
func (s *Session) decideAll(ctx context.Context, ops []*open) error {
	var stop *open
	for i, o := range ops {
		err := s.settle(ctx, func() { *o = *s.take(o.a) }, func() (err error) {
			switch {
			case o.stage == unrecorded:
				err = fmt.Errorf("%w: operation %s", ErrUnknownModel, o.d.Head.ID)
			case stop != nil && (o.stage == toDecide || o.stage == toAsk):
				err = s.notExecuted(ctx, o, stop)
			case !o.intent:
				err = s.decide(ctx, o, ops[:i])
			case o.stage == toRun && !o.d.Head.Composite:
				err = o.mayRunAgain(ctx)
			}
			if err == nil && (s.late || s.sawWide()) { // the clock may not decide differently next time
				s.keep(ops[:i+1])
				err = s.Flush(ctx)
			}
			return err
		})
		if err != nil {
			s.keep(ops[:i])
			return err
		}
		if stop == nil && o.state == Stopped {
			stop = o
		}
	}
	if stop == nil {
		return nil
	}
	for _, o := range ops { // those that were decided before
		if o.stage == toRun && !o.intent {
			was := *o
			if err := s.settle(ctx, func() { *o = was }, func() error { return s.notExecuted(ctx, o, stop) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep queues a row for each action that is decided and whose turn hasn't come, so that nothing of it
// is decided again, and so that the cells of a commit are never ahead of its rows.
func (s *Session) keep(ops []*open) {
	for _, o := range ops {
		if o.stage == toRun && !o.intent && !o.kept {
			o.kept = true
			s.pending = append(s.pending, ReadyRow{o.d})
		}
	}
}

// notExecuted closes an action because another one of its batch stopped the run.
func (s *Session) notExecuted(ctx context.Context, o, stop *open) error {
	o.state, o.stage = Stopped, closed
	o.d.Outcome, o.d.By, o.d.Reason, o.d.Code = hookpoints.Stopped, stop.d.By, stop.d.Reason, NotExecuted
	o.was = s.mark()
	return s.close(ctx, o)
}

// close queues the row of an action that won't run, or whose result a hook gave.
func (s *Session) close(ctx context.Context, o *open) error {
	if err := s.diagnose(ctx, o); err != nil {
		s.forget(o.was)
		return err
	}
	o.intent = true
	s.pending = append(s.pending, IntentRow{o.d, o.state})
	s.request(o.askings()[0], o.state == Running)
	return nil
}

// decide takes an action to the point where it runs, or is closed.
func (s *Session) decide(ctx context.Context, o *open, earlier []*open) error {
	o.was = s.mark()
	var err error
	switch o.stage {
	case toDecide:
		err = s.before(ctx, o, earlier)
	case toAsk:
		if err = s.ask(ctx, o, earlier); err == nil && o.state == NotStarted {
			err = s.lastLook(ctx, o, earlier, true)
		}
	case toRun: // ready, or answered
		if o.again {
			s.allow(o)
		}
		err = s.lastLook(ctx, o, earlier, o.again)
	}
	var failed *failedChain
	switch {
	case errors.As(err, &failed) && o.a.Head.Kind != "tool":
		// It stops the run, and is computed again when that is resumed.
		s.back(o.was)
		s.keep(earlier)
		return s.failed(ctx, o.a.Head.ID, failed.point, &failed.res, o.d.Chained, o.d.given())
	case failed != nil: // the model is told
		o.closes(Rejected, &failed.res)
	case err != nil:
		s.forget(o.was)
		return err
	case o.stage == toRun:
		return nil
	}
	return s.close(ctx, o)
}

// failedChain carries a failed chain up to where it is known what that means.
type failedChain struct {
	point string
	res   hookpoints.Result
}

func (f *failedChain) Error() string {
	return fmt.Sprintf("%s at %s: %s", f.res.By, f.point, f.res.Error)
}

// act runs what is to run.
func (s *Session) act(ctx context.Context, ops []*open) error {
	first := true
	for i := 0; i < len(ops); {
		if ops[i].stage != toRun {
			i++
			continue
		}
		if err := ctx.Err(); err != nil && (!ops[i].d.Head.Composite || ops[i].d.Head.Parent != "") {
			return s.notBegun(ctx, ops[i:], err)
		}
		group := []*open{ops[i]}
		for i++; i < len(ops) && (group[0].a.Overlaps || group[0].a.Shares); i++ {
			if ops[i].stage != toRun {
				continue
			}
			if ops[i].a.Overlaps != group[0].a.Overlaps || ops[i].a.Shares != group[0].a.Shares {
				break
			}
			group = append(group, ops[i])
		}
		for _, o := range group {
			s.intend(o)
		}
		if first { // a crash now must not decide the rest again
			first = false
			s.keep(ops[i:])
		}
		if err := s.Flush(ctx); err != nil {
			return err
		}
		s.at("intent." + group[0].d.Head.Kind)
		if err := s.precede(ctx, group); err != nil {
			return err
		}
		if err := s.haltRest(ctx, group, ops[i:]); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil && !group[0].d.Head.Composite && group[0].d.Head.Kind != KindEffect { // an effect has a result of its own
			return s.spare(ctx, group, err)
		}
		if err := s.actTogether(ctx, group); err != nil {
			return err
		}
	}
	if err := s.Flush(ctx); err != nil {
		return err
	}
	if !first {
		s.at("outcome." + ops[0].d.Head.Kind)
	}
	return nil
}

// notBegun ends a batch whose context ended: what hasn't begun doesn't begin, so it is never unknown, and
// a resume goes on there. A run begins all the same, as its end is a result of its own.
func (s *Session) notBegun(ctx context.Context, rest []*open, cause error) error {
	s.keep(rest)
	if err := s.Flush(ctx); err != nil {
		return err
	}
	return cause
}

// hadNotBegun is why an action runs again whose context ended between its intent and its beginning.
const hadNotBegun = "it hadn't begun"

// spare says of actions whose intent is durable that they haven't begun: they aren't unknown, and a
// resume runs them.
func (s *Session) spare(ctx context.Context, group []*open, cause error) error {
	for _, o := range group {
		if o.stage == toRun {
			if err := s.runner.AllowRetry(context.WithoutCancel(ctx), o.d.Head.ID, hadNotBegun); err != nil {
				return err
			}
		}
	}
	return cause
}

// intend queues the row that must be durable before the action starts. A composite one that was cut
// off needs none: it goes on through its parts.
func (s *Session) intend(o *open) {
	switch {
	case !o.intent:
		o.intent = true
		s.pending = append(s.pending, IntentRow{o.d, Running})
		s.request(o.askings()[0], true)
	case o.retry != "":
		s.pending = append(s.pending, RetryRow{o.d.Head.ID, o.n, o.retry})
		o.n++
	}
}

// actTogether runs actions that overlap, or one after the other. Of those that overlap, each commits its
// own outcome; that of others rides with the next intent.
func (s *Session) actTogether(ctx context.Context, group []*open) error {
	if len(group) == 1 || group[0].a.Shares {
		for _, o := range group {
			if err := s.actOne(ctx, o); err != nil {
				return err
			}
			s.pending = append(s.pending, o.outcome())
			s.at("action." + o.d.Head.Kind)
		}
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
	if err := errors.Join(errs...); err != nil {
		return err
	}
	s.at("action." + group[0].d.Head.Kind)
	return nil
}

func (s *Session) actOne(ctx context.Context, o *open) (err error) {
	if o.blocked {
		return nil
	}
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

func (o *open) outcome() OutcomeRow {
	return OutcomeRow{Op: o.d.Head.ID, N: o.n, Value: o.raw, Status: o.status, Evidence: o.report.Evidence, Scope: o.report.Scope, Event: o.report.Event}
}
