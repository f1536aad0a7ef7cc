package daemon

import (
	"context"
	"errors"
	"os"
	"regexp"
	"sync"

	"agentd/hookpoints/payload"
	"agentd/internal/agent"
	"agentd/internal/api"
	"agentd/operation"
	"agentd/revision"
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
	active map[string]*active       // by run
	busy   map[string]string        // session -> run
	tended map[string]chan struct{} // by session, closed when that is over
	again  map[string]bool          // sessions that have more to tend
}

// active is a run that is going on.
type active struct {
	cancel    context.CancelCauseFunc
	asks      bool // somebody reads the stream and answers
	yes       bool
	left      chan struct{} // closed when they are gone
	leaveOnce sync.Once
	asked     *asked // the open question
	done      chan struct{}
	result    agent.Result // once done is closed
}

// begin is how a run starts.
type begin struct {
	task        agent.Task
	resume      bool
	interactive bool
	yes         bool
	cancelled   bool // it is taken up only to end
}

func newRuns(d *Daemon) *runs {
	ctx, end := context.WithCancelCause(context.Background())
	return &runs{d: d, ctx: ctx, end: end, active: map[string]*active{}, busy: map[string]string{}, tended: map[string]chan struct{}{}, again: map[string]bool{}}
}

// close interrupts what is going on and waits for it.
func (r *runs) close() {
	r.letTend()
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.end(errClosing)
	r.wg.Wait()
}

// start runs a task, or goes on with it, on a goroutine of its own.
func (r *runs) start(b begin) (*active, error) {
	t := b.task
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, api.Errorf(api.ErrClosing, "%w", errClosing)
	}
	if err := r.d.own(t.SessionID); err != nil {
		return nil, err
	}
	if other := r.busy[t.SessionID]; other != "" {
		return nil, api.Errorf(api.ErrBusy, "the session %s is at its run %s; wait for it, or cancel it", t.SessionID, other)
	}
	if !b.resume { // under the lock, as what goes on may be parked any moment
		if err := r.free(t.SessionID); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancelCause(r.ctx)
	if b.cancelled {
		cancel(agent.ErrCancel)
	}
	a := &active{cancel: cancel, asks: b.interactive, yes: b.yes, left: make(chan struct{}), done: make(chan struct{})}
	r.active[t.RunID], r.busy[t.SessionID] = a, t.RunID
	tended := r.tended[t.SessionID]
	r.wg.Go(func() {
		if tended != nil {
			<-tended
		}
		a.result = r.run(ctx, t, b.resume)
		cancel(nil)
		r.mu.Lock()
		delete(r.active, t.RunID)
		delete(r.busy, t.SessionID)
		r.mu.Unlock()
		close(a.done)
		res := a.result
		r.d.tell("run."+res.Status, t.RunID, map[string]any{"run_id": t.RunID, "session_id": t.SessionID, "status": res.Status, "answer": res.Answer, "reason": res.Reason})
		if leftOver(res.Status) && r.d.o.owner == "" {
			r.d.tendSession(t.SessionID)
		}
		if res.Status == agent.Waiting { // an answer may have come while it was being parked
			r.d.goOn(context.WithoutCancel(r.ctx), t.RunID)
		}
	})
	return a, nil
}

// free refuses a new run in a session that waits for a person: what they answer would change the
// history behind it.
func (r *runs) free(session string) error {
	ctx := context.WithoutCancel(r.ctx)
	open, err := r.d.store.Operations(ctx, store.Filter{Session: session, State: operation.Waiting})
	if err != nil {
		return err
	}
	for _, o := range open {
		run, err := OneRun(ctx, r.d.store.Reader, o.Head.RunID, func(id string) bool { return r.active[id] != nil })
		if err == nil && run.Status == agent.Waiting {
			return api.Errorf(api.ErrConflict, "the session %s waits for a person in its run %s; answer it (agentd answer), or end it with agentd runs cancel %s", session, run.RunID, run.RunID)
		}
	}
	return nil
}

func (r *runs) run(ctx context.Context, t agent.Task, resume bool) agent.Result {
	failed := func(err error) agent.Result { return agent.Result{Status: agent.Failed, Reason: err.Error()} }
	saved := context.WithoutCancel(ctx) // what is saved is read in any case
	s, err := r.d.rt.Session(saved, t.SessionID)
	if err != nil {
		return failed(err)
	}
	// Only now, as no other run of the session can end any more.
	if t.Earlier, err = r.d.earlier(saved, t.SessionID, t.RunID); err != nil {
		return failed(err)
	}
	t.Ends = len(t.Earlier) == 0 && ours.MatchString(t.SessionID)
	if resume {
		if err := s.Resume(saved, t.RunID); err != nil {
			return failed(err)
		}
		r.d.tell("run.resumed", t.RunID, map[string]any{"run_id": t.RunID, "session_id": t.SessionID})
	}
	res, err := r.d.agent.Run(ctx, s, t)
	if err != nil {
		r.d.log.Error("a run can't go on", "run_id", t.RunID, "err", err)
		return failed(err)
	}
	return res
}

// ours are the sessions that nobody named: they end with their only run.
var ours = regexp.MustCompile(`^session-\d{8}T\d{6}-[0-9a-f]{12}$`)

// takes reports whether this daemon starts runs of whoever asks.
func (d *Daemon) takes(ctx context.Context) error {
	if d.o.owner != "" && api.Bearer(ctx) != d.o.owner {
		return api.Errorf(api.ErrClosing, "process %d has the state in use for a command of its own and takes no runs of others; wait for it, or run agentd serve", os.Getpid())
	}
	return nil
}

// StartRun implements api.Backend.
func (d *Daemon) StartRun(ctx context.Context, q api.StartRun) (api.Run, error) {
	if d.o.Places.Project == "" {
		return api.Run{}, api.Errorf(api.ErrInvalid, "a run needs a project; make one with agentd init")
	}
	if q.Task == "" {
		return api.Run{}, api.Errorf(api.ErrInvalid, "the task is empty; say what is to be done")
	}
	if err := d.takes(ctx); err != nil {
		return api.Run{}, err
	}
	if err := d.serves(); err != nil {
		return api.Run{}, err
	}
	g := d.rt.Serving()
	if _, err := g.Agent(q.Agent); err != nil {
		return api.Run{}, api.Errorf(api.ErrInvalid, "%w", err)
	}
	t := agent.Task{RunID: newID("run"), SessionID: q.Session, Agent: q.Agent, Text: q.Task, Revisions: g.Triple}
	if t.SessionID == "" {
		t.SessionID = newID("session")
	}
	if _, err := d.runs.start(begin{task: t, interactive: q.Interactive, yes: q.Yes}); err != nil {
		return api.Run{}, err
	}
	return api.Run{RunID: t.RunID, SessionID: t.SessionID, Agent: t.Agent, Task: t.Text, Status: "running", Revisions: t.Revisions, Began: d.rt.Now()}, nil
}

// earlier are the runs of a session before one of its runs, as tasks to replay.
func (d *Daemon) earlier(ctx context.Context, session, before string) ([]agent.Task, error) {
	ops, err := d.store.Operations(ctx, store.Filter{Kind: "run", Session: session})
	if err != nil {
		return nil, err
	}
	var out []agent.Task
	for _, o := range ops {
		if o.Head.ID == before {
			break
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

// ResumeRun implements api.Backend. It needs nothing that serves, as a run goes on under its own revisions.
func (d *Daemon) ResumeRun(ctx context.Context, id string, q api.ResumeRun) (api.Run, error) {
	if err := d.takes(ctx); err != nil {
		return api.Run{}, err
	}
	run, t, err := d.parked(ctx, id)
	if err != nil {
		return run, err
	}
	who := ""
	if q.AcceptEngine {
		who = "a person"
	}
	if err := d.underEngine(ctx, t, who); err != nil {
		return run, err
	}
	if q.RetryUnknownModels {
		if err := d.retryUnknown(ctx, id); err != nil {
			return run, err
		}
	}
	if _, err := d.runs.start(begin{task: t, resume: true, interactive: q.Interactive, yes: q.Yes}); err != nil {
		return run, err
	}
	run.Status = "running"
	return run, nil
}

// parked finds a run that can be taken up again.
func (d *Daemon) parked(ctx context.Context, id string) (api.Run, agent.Task, error) {
	run, err := d.Run(ctx, id)
	if err != nil {
		return run, agent.Task{}, err
	}
	switch run.Status {
	case agent.Completed, agent.Rejected, agent.Stopped:
		return run, agent.Task{}, api.Errorf(api.ErrConflict, "the run %s is %s already; start a new one", id, run.Status)
	case "running":
		return run, agent.Task{}, api.Errorf(api.ErrBusy, "the run %s is going on", id)
	}
	sum, _, err := d.store.Operation(ctx, id)
	if err != nil {
		return run, agent.Task{}, err
	}
	t := task(sum)
	return run, t, nil
}

// underEngine makes sure that the hooks of a run, which may be those that would say no, can be loaded, and
// that who takes it up knows if another agentd made them. who accepts that; "" is nobody.
func (d *Daemon) underEngine(ctx context.Context, t agent.Task, who string) error {
	differs, err := d.rt.Planner().Differences(ctx, t.Revisions)
	if err != nil {
		return api.Errorf(api.ErrConflict, "the run %s is pinned to hooks that can't be loaded any more: %v; start a new run, or resume it with the agentd that began it", t.RunID, err)
	}
	if len(differs) == 0 {
		return nil
	}
	list, err := payload.From(differs)
	if err != nil {
		return err
	}
	_, rows, err := d.store.Operation(ctx, t.RunID)
	if err != nil {
		return err
	}
	last, accepted := operation.AcceptedEngine(rows)
	if accepted = accepted && last.Differences.String() == list.String(); !accepted && who == "" {
		return api.Errorf(api.ErrConflict, "the run %s began under another agentd: %s; look at what differs, and resume it with --accept-engine to go on under this one", t.RunID, revision.Words(differs))
	}
	if !accepted {
		if err := d.rt.Runner().AcceptEngine(ctx, t.RunID, who, list); err != nil {
			return err
		}
		d.tell("run.engine", t.RunID, map[string]any{"run_id": t.RunID, "session_id": t.SessionID, "who": who, "differences": differs})
	}
	return d.rt.Planner().AcceptEngine(ctx, t.Revisions)
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

// CancelRun implements api.Backend: one that is going on is interrupted for good, and one that is
// parked gets its end.
func (d *Daemon) CancelRun(ctx context.Context, id string) error {
	d.runs.mu.Lock()
	a := d.runs.active[id]
	d.runs.mu.Unlock()
	if a == nil {
		run, t, err := d.parked(ctx, id)
		if err != nil {
			return err
		}
		if run.Status != agent.Interrupted && run.Status != agent.Waiting {
			return api.Errorf(api.ErrConflict, "the run %s is %s already", id, run.Status)
		}
		if err := d.underEngine(ctx, t, "a person, to cancel it"); err != nil {
			return err
		}
		if a, err = d.runs.start(begin{task: t, resume: true, cancelled: true}); err != nil {
			return err
		}
	}
	a.cancel(agent.ErrCancel)
	select {
	case <-a.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if a.result.Status != agent.Cancelled {
		return api.Errorf(api.ErrConflict, "the run %s is %s: %s", id, a.result.Status, a.result.Reason)
	}
	return nil
}
