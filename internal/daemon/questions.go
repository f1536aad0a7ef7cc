package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"agentd/hookpoints/payload"
	"agentd/internal/agent"
	"agentd/internal/api"
	"agentd/internal/config"
	"agentd/internal/tool"
	"agentd/operation"
	"agentd/store"
)

// asked is a question of a run that goes on, as somebody reads its events.
type asked struct {
	operation.Question
	answer chan operation.Answer // what was committed; there is room for it
}

// Ask implements operation.Gate. The question is announced; where somebody reads the run's events it
// stays for as long as they do. Elsewhere, and when they go away, the run is parked with its question.
func (r *runs) Ask(ctx context.Context, q operation.Question) (operation.Answer, error) {
	r.mu.Lock()
	a := r.active[q.RunID]
	if ans, ok := yes(q); ok && a != nil && a.yes {
		r.mu.Unlock()
		return ans, nil
	}
	open := &asked{q, make(chan operation.Answer, 1)}
	stays := a != nil && a.asks
	if stays {
		a.asked = open
		defer func() {
			r.mu.Lock()
			a.asked = nil
			r.mu.Unlock()
		}()
	}
	r.mu.Unlock()
	r.d.tell("question", q.RunID, map[string]any{"run_id": q.RunID, "session_id": q.SessionID, "question": q})
	if !stays {
		return operation.Answer{}, operation.ErrWaiting
	}
	select {
	case ans := <-open.answer:
		return ans, nil
	case <-a.left:
		return operation.Answer{}, operation.ErrWaiting
	case <-ctx.Done():
		return operation.Answer{}, ctx.Err()
	}
}

// LeaveRun implements api.Backend.
func (d *Daemon) LeaveRun(id string) {
	d.runs.mu.Lock()
	defer d.runs.mu.Unlock()
	if a := d.runs.active[id]; a != nil {
		a.leaveOnce.Do(func() { close(a.left) }) // its questions wait from now on
	}
}

// Questions implements api.Backend.
func (d *Daemon) Questions(ctx context.Context) ([]operation.Question, error) {
	return Questions(ctx, d.store.Reader)
}

// Questions lists what waits for a person in a database, the oldest question first. Those of runs that
// have ended aren't among them.
func Questions(ctx context.Context, r *store.Reader) ([]operation.Question, error) {
	ops, err := r.Operations(ctx, store.Filter{State: operation.Waiting})
	if err != nil {
		return nil, err
	}
	out := []operation.Question{}
	for _, o := range ops {
		if o.Head.RunID != "" {
			run, _, err := r.Operation(ctx, o.Head.RunID)
			if errors.Is(err, store.ErrNoOperation) || err == nil && run.Done() {
				continue
			} else if err != nil {
				return nil, err
			}
		}
		rows, err := r.Rows(ctx, o.Head.ID)
		if err != nil {
			return nil, err
		}
		for _, row := range slices.Backward(rows) {
			if w, ok := row.(operation.WaitingRow); ok {
				out = append(out, w.Question)
				break
			}
		}
	}
	slices.SortStableFunc(out, func(a, b operation.Question) int {
		return cmp.Or(a.AskedAt.Compare(b.AskedAt), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

// Answer implements api.Backend: it is durable when this returns, and then the run goes on.
func (d *Daemon) Answer(ctx context.Context, id string, said api.Answer) (api.Answered, error) {
	ans, err := answer(said)
	if err != nil {
		return api.Answered{}, err
	}
	kept, err := d.seal(ctx, id, &ans)
	if err != nil {
		return api.Answered{}, err
	}
	q, err := d.rt.Runner().Answer(ctx, id, ans)
	if err != nil {
		d.rt.Vault().Forget(kept...)
	}
	switch {
	case errors.Is(err, operation.ErrNoQuestion):
		return api.Answered{}, api.Errorf(api.ErrNotFound, "%w", err)
	case errors.Is(err, operation.ErrAnswered):
		return api.Answered{}, api.Errorf(api.ErrConflict, "%w", err)
	case errors.Is(err, operation.ErrAnswer):
		return api.Answered{}, api.Errorf(api.ErrInvalid, "%w", err)
	case err != nil:
		return api.Answered{}, fmt.Errorf("the answer to %s couldn't be saved, and the question stays open: %w", id, err)
	}
	return api.Answered{Question: q.ID, RunID: q.RunID, Resumed: d.answered(ctx, q, ans)}, nil
}

// answer takes what came over the wire.
func answer(said api.Answer) (operation.Answer, error) {
	ans := operation.Answer{Verb: said.Verb, Reason: said.Reason, Who: cmp.Or(said.Who, "a person"), For: said.For, Value: said.Value}
	if ans.Verb != operation.Allow && ans.Verb != operation.Deny && ans.Verb != operation.Respond {
		return ans, api.Errorf(api.ErrInvalid, "verb is %q, want allow, deny or respond", said.Verb)
	}
	if said.Edit.Exists() {
		if said.Edit.Kind() != payload.Object {
			return ans, api.Errorf(api.ErrInvalid, "edit is %s, want the arguments as an object", said.Edit.Kind())
		}
		ans.Edit = []payload.Field{{Name: "arguments", Value: said.Edit}}
	}
	if ans.For < operation.Always || ans.For != 0 && ans.Verb != operation.Allow {
		return ans, api.Errorf(api.ErrInvalid, "for is %d with %q: it takes allow and a number above 0, or -1 for all that come", said.For, said.Verb)
	}
	if ans.Edit != nil && ans.Verb != operation.Allow {
		return ans, api.Errorf(api.ErrInvalid, "an edit comes with %q: it takes allow", said.Verb)
	}
	return ans, nil
}

// checkAnswer holds an edit to the schema that the tool had when it was asked about, and a value to its
// question.
func (d *Daemon) checkAnswer(w operation.WaitingRow, a operation.Answer) error {
	if a.Verb == operation.Respond {
		return d.fits(w, a)
	}
	for _, f := range a.Edit {
		if f.Name != "arguments" {
			return fmt.Errorf("%s can't be edited", f.Name)
		}
		if schema := w.Final.Get("parameters"); schema.Exists() {
			s, err := tool.NewSchema(w.Final.Get("name").Text(), schema)
			if err == nil {
				err = s.Validate(f.Value)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// answered tells of a durable answer and lets its run go on: the one that asks, or the one that is
// parked. It reports whether the run goes on.
func (d *Daemon) answered(ctx context.Context, q operation.Question, ans operation.Answer) bool {
	d.tell("question.answered", q.RunID, map[string]any{"run_id": q.RunID, "session_id": q.SessionID, "question": q.ID, "verb": ans.Verb, "who": ans.Who, "reason": ans.Reason})
	d.runs.mu.Lock()
	a := d.runs.active[q.RunID]
	if a != nil && a.asked != nil && a.asked.ID == q.ID {
		a.asked.answer <- ans
	}
	d.runs.mu.Unlock()
	return a != nil || d.goOn(ctx, q.RunID) // one that is just being parked looks for itself, see parkedRun
}

// goOn resumes a parked run that isn't asked anything any more. A daemon that lives for a verb doesn't:
// it would interrupt what it began.
func (d *Daemon) goOn(ctx context.Context, run string) bool {
	if d.o.owner != "" || run == "" || d.serves() != nil {
		return false
	}
	open, err := d.store.Operations(context.WithoutCancel(ctx), store.Filter{Run: run, State: operation.Waiting, Limit: 1})
	if err != nil || len(open) > 0 {
		return false
	}
	_, t, err := d.parked(context.WithoutCancel(ctx), run)
	if err == nil {
		_, err = d.runs.start(begin{task: t, resume: true})
	}
	if errors.Is(err, api.ErrBusy) { // somebody took it up already
		return d.active(run)
	}
	if err != nil && !errors.Is(err, api.ErrClosing) {
		d.log.Error("a run whose question is answered can't go on", "run_id", run, "err", err)
	}
	return err == nil
}

// settle is what a daemon does with questions when it starts.
func (d *Daemon) settle(ctx context.Context) error {
	if err := d.expire(ctx); err != nil {
		return err
	}
	return d.takeUp(ctx)
}

// expire answers the questions whose time is over, like a person who says no.
func (d *Daemon) expire(ctx context.Context) error {
	questions, err := d.Questions(ctx)
	if err != nil {
		return err
	}
	for _, q := range questions {
		ans, late, err := d.rt.Runner().Expire(ctx, q.ID)
		switch {
		case errors.Is(err, operation.ErrAnswered), errors.Is(err, operation.ErrNoQuestion): // meanwhile
		case err != nil:
			return err
		case late:
			d.answered(ctx, q, ans)
		}
	}
	return nil
}

// takeUp resumes the runs whose questions were answered while nobody could resume them.
func (d *Daemon) takeUp(ctx context.Context) error {
	if d.o.owner != "" {
		return nil
	}
	ops, err := d.store.Operations(ctx, store.Filter{State: operation.NotStarted})
	if err != nil {
		return err
	}
	for _, o := range ops {
		rows, err := d.store.Rows(ctx, o.Head.ID)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			continue
		}
		last, ok := rows[len(rows)-1].(operation.AnswerRow)
		if !ok || last.Answer.Verb == operation.Retry || o.Head.Foreign {
			continue
		}
		run, err := d.Run(ctx, o.Head.RunID)
		if err == nil && run.Status == agent.Interrupted {
			d.goOn(ctx, run.RunID)
		}
	}
	return nil
}

// patience is how long a question that is asked now may wait. It is read live; a file that is broken
// meanwhile leaves it as it was.
func (d *Daemon) patience() time.Duration {
	if live, err := config.ReadLive(d.o.Places, d.o.Getenv); err == nil {
		return live.QuestionsTimeout
	}
	return d.live.QuestionsTimeout
}
