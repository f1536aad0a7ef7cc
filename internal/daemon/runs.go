package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"agentd/hookpoints/payload"
	"agentd/internal/agent"
	"agentd/internal/api"
	"agentd/operation"
	"agentd/store"
)

// errClosing is the cause of a run's context when the daemon ends: the run can be resumed.
var errClosing = errors.New("the daemon stops")

// runs owns the goroutines of the runs that are going on, one a session, and puts their questions.
type runs struct {
	d      *Daemon
	ctx    context.Context
	end    context.CancelCauseFunc
	wg     sync.WaitGroup
	mu     sync.Mutex
	closed bool
	active map[string]*active // by run
	busy   map[string]string  // session -> run
}

// active is a run that is going on.
type active struct {
	cancel    context.CancelCauseFunc
	asks      bool // somebody reads the stream and answers
	yes       bool
	left      chan struct{} // closed when they are gone
	question  *operation.Question
	answers   chan operation.Answer
	leaveOnce sync.Once
}

func newRuns(d *Daemon) *runs {
	ctx, end := context.WithCancelCause(context.Background())
	return &runs{d: d, ctx: ctx, end: end, active: map[string]*active{}, busy: map[string]string{}}
}

// close interrupts what is going on and waits for it.
func (r *runs) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.end(errClosing)
	r.wg.Wait()
}

// start runs a task, or goes on with it, on a goroutine of its own.
func (r *runs) start(t agent.Task, resume, interactive, yes bool, before func(ctx context.Context, s *operation.Session) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return api.ErrClosing
	}
	if other := r.busy[t.SessionID]; other != "" {
		return fmt.Errorf("%w: the session %s is at its run %s", api.ErrBusy, t.SessionID, other)
	}
	ctx, cancel := context.WithCancelCause(r.ctx)
	a := &active{cancel: cancel, asks: interactive, yes: yes, left: make(chan struct{}), answers: make(chan operation.Answer)}
	r.active[t.RunID], r.busy[t.SessionID] = a, t.RunID
	r.wg.Go(func() {
		res := r.run(ctx, t, resume, before)
		cancel(nil)
		r.mu.Lock()
		delete(r.active, t.RunID)
		delete(r.busy, t.SessionID)
		r.mu.Unlock()
		r.d.tell("run."+res.Status, t.RunID, map[string]any{"run_id": t.RunID, "session_id": t.SessionID, "status": res.Status, "answer": res.Answer, "reason": res.Reason})
	})
	return nil
}

func (r *runs) run(ctx context.Context, t agent.Task, resume bool, before func(context.Context, *operation.Session) error) agent.Result {
	failed := func(err error) agent.Result { return agent.Result{Status: agent.Failed, Reason: err.Error()} }
	s, err := r.d.rt.Session(ctx, t.SessionID)
	if err != nil {
		return failed(err)
	}
	if resume {
		if err := s.Resume(ctx, t.RunID); err != nil {
			return failed(err)
		}
		r.d.tell("run.resumed", t.RunID, map[string]any{"run_id": t.RunID, "session_id": t.SessionID})
	}
	if before != nil {
		if err := before(ctx, s); err != nil {
			return failed(err)
		}
	}
	res, err := r.d.agent.Run(ctx, s, t)
	if err != nil {
		r.d.log.Error("a run can't go on", "run_id", t.RunID, "err", err)
		return failed(err)
	}
	return res
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
	a.question = &q
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		a.question = nil
		r.mu.Unlock()
	}()
	r.d.tell("question", q.RunID, map[string]any{"run_id": q.RunID, "question": q})
	select {
	case ans := <-a.answers:
		return ans, nil
	case <-a.left:
		return operation.Answer{}, operation.ErrWaiting
	case <-ctx.Done():
		return operation.Answer{}, ctx.Err()
	}
}

// StartRun implements api.Backend.
func (d *Daemon) StartRun(ctx context.Context, q api.StartRun) (api.Run, error) {
	if d.o.Places.Project == "" {
		return api.Run{}, fmt.Errorf("%w: a run needs a project; make one with agentd init", api.ErrInvalid)
	}
	if q.Task == "" {
		return api.Run{}, fmt.Errorf("%w: the task is empty", api.ErrInvalid)
	}
	g := d.rt.Serving()
	if _, err := g.Agent(q.Agent); err != nil {
		return api.Run{}, fmt.Errorf("%w: %w", api.ErrInvalid, err)
	}
	t := agent.Task{RunID: newID("run"), SessionID: q.Session, Agent: q.Agent, Text: q.Task, Revisions: g.Triple}
	if t.SessionID == "" {
		t.SessionID, t.Ends = newID("session"), true
	} else {
		var err error
		if t.Earlier, err = d.earlier(ctx, t.SessionID, t.RunID); err != nil {
			return api.Run{}, err
		}
	}
	if err := d.runs.start(t, false, q.Interactive, q.Yes, nil); err != nil {
		return api.Run{}, err
	}
	return api.Run{RunID: t.RunID, SessionID: t.SessionID, Agent: t.Agent, Task: t.Text, Status: "running", Revisions: t.Revisions, Began: d.rt.Now()}, nil
}

// earlier are the runs of a session before one of its runs, as tasks to replay.
func (d *Daemon) earlier(ctx context.Context, session, before string) ([]agent.Task, error) {
	ops, err := d.store.Operations(ctx, store.Filter{Kind: "run"})
	if err != nil {
		return nil, err
	}
	var out []agent.Task
	for _, o := range ops {
		if o.Head.ID == before {
			break
		}
		if o.Head.SessionID != session {
			continue
		}
		sum, _, err := d.store.Operation(ctx, o.Head.ID)
		if err != nil {
			return nil, err
		}
		out = append(out, task(sum))
	}
	return out, nil
}

func task(sum operation.Summary) agent.Task {
	return agent.Task{RunID: sum.Head.ID, SessionID: sum.Head.SessionID, Agent: sum.Head.Agent, Text: sum.Original.Get("task").Text(), Revisions: sum.Head.Revisions}
}

// ResumeRun implements api.Backend.
func (d *Daemon) ResumeRun(ctx context.Context, id string, q api.ResumeRun) (api.Run, error) {
	run, err := d.Run(ctx, id)
	if err != nil {
		return run, err
	}
	switch run.Status {
	case agent.Completed, agent.Rejected, agent.Stopped:
		return run, fmt.Errorf("%w: the run %s is %s; start a new one", api.ErrConflict, id, run.Status)
	case "running":
		return run, fmt.Errorf("%w: the run %s is going on", api.ErrBusy, id)
	}
	sum, _, err := d.store.Operation(ctx, id)
	if err != nil {
		return run, err
	}
	t := task(sum)
	if t.Earlier, err = d.earlier(ctx, t.SessionID, id); err != nil {
		return run, err
	}
	t.Ends = len(t.Earlier) == 0
	if q.RetryUnknownModels {
		if err := d.retryUnknown(ctx, id); err != nil {
			return run, err
		}
	}
	if err := d.runs.start(t, true, q.Interactive, q.Yes, nil); err != nil {
		return run, err
	}
	run.Status = "running"
	return run, nil
}

// retryUnknown lets the model calls of a run whose outcome is unknown be made again.
func (d *Daemon) retryUnknown(ctx context.Context, run string) error {
	ops, err := d.store.Operations(ctx, store.Filter{Run: run, Kind: "model.chat", State: operation.Unknown})
	if err != nil {
		return err
	}
	for _, o := range ops {
		if err := d.rt.Runner().AllowRetry(ctx, o.Head.ID, "a person said so"); err != nil {
			return err
		}
	}
	return nil
}

// CancelRun implements api.Backend.
func (d *Daemon) CancelRun(_ context.Context, id string) error {
	d.runs.mu.Lock()
	defer d.runs.mu.Unlock()
	a := d.runs.active[id]
	if a == nil {
		return fmt.Errorf("%w: no run %s is going on", api.ErrNotFound, id)
	}
	a.cancel(agent.ErrCancel)
	return nil
}

// LeaveRun implements api.Backend.
func (d *Daemon) LeaveRun(id string) {
	d.runs.mu.Lock()
	defer d.runs.mu.Unlock()
	if a := d.runs.active[id]; a != nil {
		a.leaveOnce.Do(func() { close(a.left) })
		a.asks = false
	}
}

// Questions implements api.Backend.
func (d *Daemon) Questions(context.Context) ([]operation.Question, error) {
	d.runs.mu.Lock()
	defer d.runs.mu.Unlock()
	var out []operation.Question
	for _, a := range d.runs.active {
		if a.question != nil {
			out = append(out, *a.question)
		}
	}
	return out, nil
}

// Answer implements api.Backend.
func (d *Daemon) Answer(ctx context.Context, id string, said api.Answer) error {
	if said.Verb != "allow" && said.Verb != "deny" {
		return fmt.Errorf("%w: verb is %q, want allow or deny", api.ErrInvalid, said.Verb)
	}
	ans := operation.Answer{Verb: said.Verb, Reason: said.Reason, Who: "a person"}
	if said.Edit.Exists() {
		if said.Edit.Kind() != payload.Object {
			return fmt.Errorf("%w: edit is %s, want the arguments as an object", api.ErrInvalid, said.Edit.Kind())
		}
		ans.Edit = []payload.Field{{Name: "arguments", Value: said.Edit}}
	}
	d.runs.mu.Lock()
	var to *active
	for _, a := range d.runs.active {
		if a.question != nil && a.question.OpID == id {
			to = a
		}
	}
	d.runs.mu.Unlock()
	if to == nil {
		return fmt.Errorf("%w: no question %s is open", api.ErrNotFound, id)
	}
	select {
	case to.answers <- ans:
		return nil
	case <-to.left:
		return fmt.Errorf("%w: the question %s isn't open any more", api.ErrNotFound, id)
	case <-ctx.Done():
		return ctx.Err()
	}
}
