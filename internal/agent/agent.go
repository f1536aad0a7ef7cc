// Package agent is run, turn and step: it asks the runtime for operations and never calls a hook.
//
// The loop is a function of the journal. A run that is taken up again runs the same code over a
// session that knows what is saved: what has a row isn't done again, so the loop arrives where it
// was, with the same conversation. The history of a session is made the same way, by replaying its
// earlier runs.
package agent

import (
	"context"
	"errors"
	"fmt"

	"agentd"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/internal/model"
	"agentd/internal/tool"
	"agentd/operation"
	"agentd/revision"
)

// Options are what an agent works with.
type Options struct {
	Runtime   *agentd.Runtime
	Workspace string // the folder that tools are confined to
	// Provider makes a model of a configuration.
	Provider func(revision.Model) (model.Provider, error)
	// Tools makes the tools of an agent over the workspace.
	Tools func(names []string) (*tool.Set, error)
	// Emit takes events. It must not block.
	Emit func(Event)
}

// Agent runs tasks. It is safe for concurrent use; a session is one goroutine's.
type Agent struct{ o Options }

// New makes an agent.
func New(o Options) *Agent { return &Agent{o} }

// Task is what a run is given.
type Task struct {
	RunID     string
	SessionID string
	Agent     string
	Text      string
	Revisions operation.Triple
	Earlier   []Task // the session's runs before this one, oldest first
	Ends      bool   // the session ends with this run
}

// The statuses of a run.
const (
	Completed   = "completed"
	Failed      = "failed"
	Rejected    = "rejected"
	Stopped     = "stopped"
	Waiting     = "waiting"
	Interrupted = "interrupted"
	Cancelled   = "cancelled"
)

// Result is how a run came out, for now.
type Result struct {
	Status string
	Answer string
	Reason string
}

// ErrCancel is the cause of a context that a person ended; any other end is an interruption, after
// which the run can be resumed where it was.
var ErrCancel = errors.New("cancelled by a person")

// run is one run on its way.
type run struct {
	*Agent
	s        *operation.Session
	task     Task
	config   revision.Agent
	provider model.Provider
	tools    *tool.Set
	gen      *revision.Generation
	talk     conversation
}

// Run runs a task, or goes on with it: the session was opened with Session.Resume if anything of it
// is saved. The error is one that has no status: the journal failed.
func (a *Agent) Run(ctx context.Context, s *operation.Session, t Task) (Result, error) {
	r, err := a.open(ctx, s, t, a.o.Runtime.Generation)
	if err != nil {
		return Result{Status: Failed, Reason: err.Error()}, nil
	}
	defer r.tools.Close()
	for _, earlier := range t.Earlier {
		if err := a.recall(context.WithoutCancel(ctx), earlier, r); err != nil { // it only reads
			return Result{}, err
		}
	}
	done, err := s.Do(ctx, r.action())
	if err != nil {
		return r.ended(ctx, err)
	}
	if err := s.Flush(ctx); err != nil {
		return Result{}, err
	}
	if t.Ends {
		if err := r.end(ctx); err != nil {
			return Result{}, err
		}
		if v := a.o.Runtime.Vault(); v != nil {
			v.ForgetSession(t.SessionID)
		}
	}
	return result(done), nil
}

// end fires session.end. How the run came out is durable by then, so a hook that fails is recorded and
// changes nothing.
func (r *run) end(ctx context.Context) error {
	session := r.head("session", "session")
	_, err := r.s.Point(ctx, session, 1, "session.end", r.around(session, nil), object(field("reason", text("exit"))))
	if err != nil && !errors.Is(err, operation.ErrHook) && !errors.Is(err, operation.ErrRecovery) && ctx.Err() == nil {
		return err
	}
	return r.s.Flush(ctx)
}

// begin fires session.start and keeps what hooks had to say.
func (r *run) begin(ctx context.Context) (operation.Done, error) {
	source := "startup"
	if len(r.task.Earlier) > 0 {
		source = "resume"
	}
	head := r.head("session", "session")
	begun, err := r.s.Point(ctx, head, 0, "session.start", r.around(head, nil), object(field("source", text(source)), field("cwd", text(r.o.Workspace))))
	r.talk.add(contextMessage(begun.Texts)...)
	return begun, err
}

// open finds what the run is pinned to.
func (a *Agent) open(ctx context.Context, s *operation.Session, t Task, find func(context.Context, operation.Triple) (*revision.Generation, error)) (*run, error) {
	gen, err := find(ctx, t.Revisions)
	if err != nil {
		return nil, err
	}
	config, err := gen.Agent(t.Agent)
	if err != nil {
		return nil, err
	}
	provider, err := a.o.Provider(config.Model)
	if err != nil {
		return nil, err
	}
	tools, err := a.o.Tools(config.Tools)
	if err != nil {
		return nil, err
	}
	if v := a.o.Runtime.Vault(); v != nil {
		tools.Open(v.In(t.SessionID))
	}
	return &run{Agent: a, s: s, task: t, config: config, provider: provider, tools: tools, gen: gen}, nil
}

// recall replays an earlier run of the session into the conversation.
func (a *Agent) recall(ctx context.Context, t Task, into *run) error {
	s, err := a.o.Runtime.Session(ctx, t.SessionID)
	if err != nil {
		return err
	}
	if err := s.Replay(ctx, t.RunID); err != nil {
		return err
	}
	past, err := a.open(ctx, s, t, a.o.Runtime.Recorded) // nothing of it runs
	if err != nil {
		return fmt.Errorf("run %s of this session: %w", t.RunID, err)
	}
	defer past.tools.Close()
	_, err = s.Do(ctx, past.action())
	if err != nil && !errors.Is(err, operation.ErrNotSaved) && !errors.Is(err, errSteps) && !errors.Is(err, errRejected) {
		return fmt.Errorf("run %s of this session: %w", t.RunID, err)
	}
	if past.talk.cleared {
		into.talk.clear()
	}
	into.talk.add(past.talk.messages...)
	return nil
}

// action is the run as an operation: its body is the turn.
func (r *run) action() operation.Action {
	head := r.head("", "run")
	head.ID, head.Parent, head.Composite, head.Tool = r.task.RunID, "", true, "run"
	a := runShape()
	a.Head, a.Around, a.Again = head, r.around(head, []payload.Field{field("target", text("run"))}), true
	a.Input = object(field("task", text(r.task.Text)))
	a.Do = func(ctx context.Context, in, _ payload.Value) (payload.Value, string, error) {
		r.emit("run.started", field("task", in.Get("task")), field("agent", text(r.task.Agent)))
		var res Result
		begun, err := r.begin(ctx)
		switch {
		case err != nil:
		case begun.Stop: // a hook halted after an effect
			res = Result{Status: Stopped, Reason: begun.Reason}
		default:
			res, err = r.turn(ctx, in.Get("task").Text())
		}
		if err != nil {
			if res, err = r.failed(ctx, err); err != nil {
				return payload.Value{}, "", err
			}
		}
		return object(field("status", text(res.Status)), field("answer", text(res.Answer)), field("reason", text(res.Reason))), actual(res.Status), nil
	}
	return a
}

// actual is a run's status in the words of the contract.
func actual(status string) string {
	switch status {
	case Completed:
		return operation.Succeeded
	case Stopped, Rejected:
		return operation.Blocked
	case Cancelled:
		return operation.Cancelled
	}
	return operation.Failed
}

// failed tells errors that end a run, and can be resumed, from those that leave no outcome.
func (r *run) failed(ctx context.Context, err error) (Result, error) {
	switch {
	case r.s.Replaying(), errors.Is(err, operation.ErrPersistence):
		return Result{}, err
	case errors.Is(context.Cause(ctx), ErrCancel): // whatever it waited for
		return Result{Status: Cancelled, Reason: ErrCancel.Error()}, nil
	case errors.Is(err, operation.ErrWaiting), errors.Is(err, operation.ErrUnknownModel), ctx.Err() != nil:
		return Result{}, err
	case errors.Is(err, errRejected):
		return Result{Status: Rejected, Reason: err.Error()}, nil
	}
	return Result{Status: Failed, Reason: err.Error()}, nil
}

// ended is failed for what ends outside of the run's operation.
func (r *run) ended(ctx context.Context, err error) (Result, error) {
	switch {
	case errors.Is(err, operation.ErrPersistence):
		return Result{}, err
	case errors.Is(context.Cause(ctx), ErrCancel):
		return Result{Status: Cancelled, Reason: ErrCancel.Error()}, nil
	case errors.Is(err, operation.ErrWaiting):
		return Result{Status: Waiting, Reason: err.Error()}, nil
	case errors.Is(err, operation.ErrUnknownModel):
		return Result{Status: Interrupted, Reason: err.Error() + "; resume with --retry-unknown-models to ask it again"}, nil
	case ctx.Err() != nil:
		return Result{Status: Interrupted, Reason: "the daemon stopped; resume the run to go on"}, nil
	}
	return Result{Status: Failed, Reason: err.Error()}, nil
}

// result is the outcome of the run's operation as people see it.
func result(d operation.Done) Result {
	if d.State == operation.Rejected {
		return Result{Status: Rejected, Reason: d.Reason}
	}
	raw := d.Raw
	return Result{Status: raw.Get("status").Text(), Answer: d.Effective.Text(), Reason: raw.Get("reason").Text()}
}

// head is that of a part of the run.
func (r *run) head(id, kind string) operation.Head {
	return operation.Head{ID: r.task.RunID + "/" + id, Parent: r.task.RunID, Kind: kind, RunID: r.task.RunID, SessionID: r.task.SessionID,
		Agent: r.task.Agent, Revisions: r.task.Revisions, Began: r.o.Runtime.Now()}
}

// around is what every hook of an operation sees.
func (r *run) around(h operation.Head, more []payload.Field) *hookpoints.Around {
	scope, err := hookpoints.NewScope(h.Scope(more...))
	if err != nil { // ids and names are ours and short
		panic("agent: " + err.Error())
	}
	return &hookpoints.Around{Scope: scope, Now: h.Began, Seed: h.ID}
}

func object(fields ...payload.Field) payload.Value { return payload.NewObject(fields...) }
func text(s string) payload.Value                  { return payload.NewString(s) }
func field(name string, v payload.Value) payload.Field {
	return payload.Field{Name: name, Value: v}
}
