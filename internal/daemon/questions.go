package daemon

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"agentd/hookpoints/payload"
	"agentd/internal/api"
	"agentd/operation"
)

// asked is a question that waits for its answer.
type asked struct {
	operation.Question
	answers chan operation.Answer
	gone    chan struct{}   // closed when it isn't open any more
	saved   chan struct{}   // closed when its answer is durable
	over    <-chan struct{} // closed when the run is, for now
}

// answerTold is a journal that tells when an answer has become durable: only then is it acknowledged.
type answerTold struct {
	operation.Journal
	runs *runs
}

// Commit implements operation.Journal.
func (j answerTold) Commit(ctx context.Context, c operation.Commit) error {
	if err := j.Journal.Commit(ctx, c); err != nil {
		return err
	}
	for _, row := range c.Rows {
		if row, ok := row.(operation.AnswerRow); ok {
			j.runs.saved(row.Op)
		}
	}
	return nil
}

// saved acknowledges the answer to a question about an operation.
func (r *runs) saved(op string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q := r.answered[op]; q != nil {
		delete(r.answered, op)
		close(q.saved)
	}
}

// CanAsk implements operation.Gate.
func (r *runs) CanAsk(run string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.active[run]
	return a != nil && (a.asks || a.yes)
}

// Ask implements operation.Gate: it puts the question into the run's events and waits for whoever
// reads them. When they go away the run is parked with its question.
func (r *runs) Ask(ctx context.Context, q operation.Question) (operation.Answer, error) {
	r.mu.Lock()
	a := r.active[q.RunID]
	if a != nil && a.yes {
		r.mu.Unlock()
		return operation.Answer{Verb: "allow", Who: "--yes"}, nil
	}
	if a == nil || !a.asks {
		r.mu.Unlock()
		return operation.Answer{}, operation.ErrWaiting
	}
	open := &asked{q, make(chan operation.Answer), make(chan struct{}), make(chan struct{}), a.done}
	a.asked = open
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		a.asked = nil
		r.mu.Unlock()
		close(open.gone)
	}()
	select {
	case <-a.left:
		return operation.Answer{}, operation.ErrWaiting
	default:
	}
	r.d.tell("question", q.RunID, map[string]any{"run_id": q.RunID, "question": q})
	select {
	case ans := <-open.answers:
		r.mu.Lock()
		r.answered[q.OpID] = open
		r.mu.Unlock()
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
func (d *Daemon) Questions(context.Context) ([]operation.Question, error) {
	d.runs.mu.Lock()
	defer d.runs.mu.Unlock()
	var out []operation.Question
	for _, a := range d.runs.active {
		if a.asked != nil {
			out = append(out, a.asked.Question)
		}
	}
	slices.SortFunc(out, func(a, b operation.Question) int { return cmp.Compare(a.OpID, b.OpID) })
	return out, nil
}

// Answer implements api.Backend.
func (d *Daemon) Answer(ctx context.Context, id string, said api.Answer) error {
	if said.Verb != "allow" && said.Verb != "deny" {
		return api.Errorf(api.ErrInvalid, "verb is %q, want allow or deny", said.Verb)
	}
	ans := operation.Answer{Verb: said.Verb, Reason: said.Reason, Who: "a person"}
	if said.Edit.Exists() {
		if said.Edit.Kind() != payload.Object {
			return api.Errorf(api.ErrInvalid, "edit is %s, want the arguments as an object", said.Edit.Kind())
		}
		ans.Edit = []payload.Field{{Name: "arguments", Value: said.Edit}}
	}
	to := d.runs.question(id)
	if to == nil {
		return api.Errorf(api.ErrNotFound, "no question %s is open", id)
	}
	select {
	case to.answers <- ans:
		return to.acknowledged(ctx)
	case <-to.gone:
		return api.Errorf(api.ErrNotFound, "the question %s isn't open any more", id)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *runs) question(op string) *asked {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.active {
		if a.asked != nil && a.asked.OpID == op {
			return a.asked
		}
	}
	return nil
}

// acknowledged waits until the answer is durable.
func (q *asked) acknowledged(ctx context.Context) error {
	select {
	case <-q.saved:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-q.over:
	}
	select {
	case <-q.saved: // both at once
		return nil
	default:
		return fmt.Errorf("the answer to %s couldn't be saved; resume the run to be asked again", q.OpID)
	}
}
