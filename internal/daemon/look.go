package daemon

import (
	"context"
	"errors"
	"slices"
	"time"

	"agentd"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/internal/agent"
	"agentd/internal/api"
	"agentd/operation"
	"agentd/revision"
	"agentd/store"
)

// Decide implements api.Backend.
func (d *Daemon) Decide(ctx context.Context, q agentd.DecideRequest) (agentd.DecideResult, error) {
	if err := d.serves(); err != nil {
		return agentd.DecideResult{}, err
	}
	res, err := d.rt.Decide(ctx, d.rt.Serving(), q)
	switch {
	case ctx.Err() != nil: // nobody waits for it, or the daemon ends
		err = api.Errorf(api.ErrClosing, "%w", ctx.Err())
	case err != nil: // what isn't the context's is about the request: a failed hook is a result
		err = api.Errorf(api.ErrInvalid, "%w", err)
	}
	return res, err
}

// Status implements api.Backend.
func (d *Daemon) Status(context.Context) (api.Status, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.rt.Serving()
	s := api.Status{Mode: "published", Generation: d.generation, Revisions: g.Triple, Hooks: len(g.Table.Bindings()), Errors: []revision.Fault{},
		Ignored: []string{}, Clients: installedFor(d.o.Places), Notes: d.notes, Daemon: true, Background: d.rt.Background()}
	if d.o.Dev {
		s.Mode, s.Notes = "dev", nil
	}
	for _, l := range g.Layers {
		s.Ignored = append(s.Ignored, l.Ignored...)
		if l.Terms.Untrusted && len(l.Bindings) > 0 {
			s.Notes = append(slices.Clip(s.Notes), onlyContext)
		}
	}
	s.Notes = append(slices.Clip(s.Notes), allLack(d.o.Places, g)...)
	if len(d.brought) > 0 {
		s.Notes = append(slices.Clip(s.Notes), broughtNote(len(d.brought)))
	}
	if d.o.Places.Foreign && !d.o.Dev && !d.o.Event {
		s.Notes = append(slices.Clip(s.Notes), changedSince)
	}
	if d.unserved != nil {
		s.Errors = append(s.Errors, unservedFault(d.unserved))
	}
	s.Errors = append(s.Errors, d.faults...)
	if d.unread != nil {
		s.Errors = append(s.Errors, revision.Fault{File: "hooks", Message: d.unread.Error(), Fix: "the last good files go on serving"})
	}
	d.runs.mu.Lock()
	s.Running = len(d.runs.active)
	d.runs.mu.Unlock()
	return s, nil
}

// onlyContext: a guard that is listed like any other may be one that blocks nothing.
const onlyContext = "the hooks of this project aren't trusted: they add context and stop nothing, guards too; look at them, and use agentd trust"

// changedSince: the project's live settings (listen, log, questions) don't count either.
const changedSince = "the project's files aren't trusted as they lie there: its listen, log and questions don't count; publish them, or use agentd trust"

// unservedFault is a head that can't be built, as status lists it.
func unservedFault(err error) revision.Fault {
	return revision.Fault{Message: err.Error(), Fix: unservedFix}
}

// What has to be done where nothing is decided at all.
const (
	unservedFix  = "publish the layer again; until then nothing is decided, and clients are told no"
	unsettledFix = "until then no daemon starts, and clients are told no"
)

// refusesAll reports whether a fault means that.
func refusesAll(f revision.Fault) bool { return f.Fix == unservedFix || f.Fix == unsettledFix }

// Hooks implements api.Backend.
func (d *Daemon) Hooks(context.Context) ([]api.HookRow, error) {
	return HookRows(d.o.Places, d.rt.Serving()), nil
}

// Plan implements api.Backend.
func (d *Daemon) Plan(_ context.Context, q agentd.PlanRequest) ([]agentd.PlanRow, error) {
	if err := d.serves(); err != nil {
		return nil, err
	}
	rows, err := d.rt.Plan(d.rt.Serving(), q)
	if err != nil {
		err = api.Errorf(api.ErrInvalid, "%w", err)
	}
	return rows, err
}

// Subscribe implements api.Backend.
func (d *Daemon) Subscribe(after string) api.Subscription { return d.bus.subscribe(after) }

// Runs implements api.Backend.
func (d *Daemon) Runs(ctx context.Context) ([]api.Run, error) {
	return Runs(ctx, d.store.Reader, d.active)
}

// Run implements api.Backend.
func (d *Daemon) Run(ctx context.Context, id string) (api.Run, error) {
	return OneRun(ctx, d.store.Reader, id, d.active)
}

func (d *Daemon) active(run string) bool {
	d.runs.mu.Lock()
	defer d.runs.mu.Unlock()
	return d.runs.active[run] != nil
}

// Operations implements api.Backend.
func (d *Daemon) Operations(ctx context.Context, f api.OperationFilter) ([]api.Operation, error) {
	return Operations(ctx, d.store.Reader, f, d.rt.Now())
}

// Operation implements api.Backend.
func (d *Daemon) Operation(ctx context.Context, id string, raw bool) (api.Operation, error) {
	return OneOperation(ctx, d.store.Reader, id, raw)
}

// Revisions implements api.Backend.
func (d *Daemon) Revisions(ctx context.Context) ([]api.RevisionRow, error) {
	return Revisions(ctx, d.store.Reader)
}

// Revision implements api.Backend.
func (d *Daemon) Revision(ctx context.Context, id string) (*revision.Revision, error) {
	return d.store.Revision(ctx, id)
}

// Damaged is the status of a run whose rows can't be read.
const Damaged = "damaged"

// Runs lists the runs of a database, oldest first. active says which are going on; the others that
// have no outcome were interrupted.
func Runs(ctx context.Context, r *store.Reader, active func(run string) bool) ([]api.Run, error) {
	ops, err := r.Operations(ctx, store.Filter{Kind: "run"})
	if err != nil {
		return nil, err
	}
	out := []api.Run{}
	for _, o := range ops {
		run, err := OneRun(ctx, r, o.Head.ID, active)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil { // the others can still be seen
			h := o.Head
			run = api.Run{RunID: h.ID, SessionID: h.SessionID, Agent: h.Agent, Status: Damaged, Reason: err.Error(), Revisions: h.Revisions, Began: h.Began}
		}
		out = append(out, run)
	}
	return out, nil
}

// OneRun shows a run of a database.
func OneRun(ctx context.Context, r *store.Reader, id string, active func(string) bool) (api.Run, error) {
	sum, rows, err := r.Operation(ctx, id)
	if errors.Is(err, store.ErrNoOperation) || err == nil && sum.Head.Kind != "run" {
		return api.Run{}, api.Errorf(api.ErrNotFound, "there is no run %s; see agentd runs list", id)
	}
	if err != nil {
		return api.Run{}, err
	}
	run := api.Run{RunID: id, SessionID: sum.Head.SessionID, Agent: sum.Head.Agent, Task: sum.Original.Get("task").Text(), Revisions: sum.Head.Revisions, Began: sum.Head.Began, Engines: engines(rows)}
	switch {
	case active(id):
		run.Status = "running"
	case sum.State == operation.Rejected:
		run.Status, run.Reason = "rejected", sum.Reason
	case sum.State == operation.Finished && sum.Whole:
		run.Status, run.Answer, run.Reason = sum.Raw.Get("status").Text(), sum.Output.Text(), sum.Raw.Get("reason").Text()
	case sum.State == operation.Finished && failedAfter(rows):
		run.Status, run.Reason = "failed", "a hook at run.after failed; resume the run to try it again"
	default:
		run.Status = "interrupted"
		waiting, err := r.Operations(ctx, store.Filter{Run: id, State: operation.Waiting, Limit: 1})
		if err != nil {
			return run, err
		}
		if len(waiting) > 0 {
			run.Status = "waiting"
		}
	}
	return run, nil
}

// engines are those that a person let the run go on under.
func engines(rows []operation.Row) (out []api.Engine) {
	for _, r := range rows {
		if r, ok := r.(operation.EngineRow); ok {
			out = append(out, api.Engine{Who: r.Who, Differences: r.Differences})
		}
	}
	return out
}

// failedAfter tells whether an after chain failed since the outcome; else it never came to an end.
func failedAfter(rows []operation.Row) bool {
	for _, r := range slices.Backward(rows) {
		switch r.(type) {
		case operation.EngineRow:
			continue
		case operation.FailedRow:
			return true
		}
		return false
	}
	return false
}

// Operations lists the operations of a database, oldest first, without their values.
func Operations(ctx context.Context, r *store.Reader, f api.OperationFilter, now time.Time) ([]api.Operation, error) {
	sf := store.Filter{Run: f.Run, State: operation.State(f.State), Kind: f.Kind, Client: f.Client, Limit: f.Limit}
	if f.Since > 0 {
		sf.Since = now.Add(-f.Since)
	}
	ops, err := r.Operations(ctx, sf)
	if err != nil {
		return nil, err
	}
	out := []api.Operation{}
	for _, o := range ops {
		out = append(out, listed(o))
	}
	return out, nil
}

// listed is an operation without its values.
func listed(o store.OperationRow) api.Operation {
	return api.Operation{ID: o.Head.ID, Parent: o.Head.Parent, Kind: o.Head.Kind, Tool: o.Head.Tool, RunID: o.Head.RunID, SessionID: o.Head.SessionID,
		Client: o.Head.Client, State: o.State, ActualStatus: o.Status, Revisions: o.Head.Revisions, Records: []hookpoints.Record{}, Attempts: o.Attempts, Began: o.Head.Began}
}

// OneOperation shows an operation of a database, with its records. The real result of an operation
// whose after chain replaced it is there only if raw asks for it.
func OneOperation(ctx context.Context, r *store.Reader, id string, raw bool) (api.Operation, error) {
	sum, rows, err := r.Operation(ctx, id)
	if errors.Is(err, store.ErrNoOperation) {
		return api.Operation{}, api.Errorf(api.ErrNotFound, "there is no operation %s; see agentd ops list", id)
	}
	if err != nil {
		return api.Operation{}, err
	}
	op := shown(id, sum, rows)
	if half := operation.HalfDone(rows); half != "" {
		op.Reason = half
	}
	if raw {
		op.Raw, op.OriginalInput, op.FinalInput = sum.Raw, sum.Original, sum.Final
	}
	return op, nil
}

// shown is an operation as everybody sees it.
func shown(id string, sum operation.Summary, rows []operation.Row) api.Operation {
	h := sum.Head
	if h.Kind == agent.Live { // the after chain may have replaced what its hooks saw
		sum.Original, sum.Final = payload.Value{}, payload.Value{}
	}
	return api.Operation{ID: id, Parent: h.Parent, Kind: h.Kind, Tool: h.Tool, RunID: h.RunID, SessionID: h.SessionID, Client: h.Client, State: sum.State,
		ActualStatus: sum.Status, Revisions: h.Revisions, OriginalInput: sum.Original, FinalInput: sum.Final, Output: sum.Output, By: sum.By, Reason: sum.Reason,
		Records: append([]hookpoints.Record{}, operation.Records(rows)...), Attempts: sum.Attempts, Began: h.Began, Engines: engines(rows)}
}

// signer is the key that a revision was signed with, "" if it isn't, or not rightly.
func signer(rev *revision.Revision) string {
	key, err := revision.Signer(rev.Manifest, rev.Signature)
	if err != nil {
		return ""
	}
	return key
}

// Revisions lists the listed revisions of a database, newest first within their layer.
func Revisions(ctx context.Context, r *store.Reader) ([]api.RevisionRow, error) {
	out := []api.RevisionRow{}
	for _, which := range hookpoints.Layers() {
		head, err := r.Head(ctx, which)
		if err != nil {
			return nil, err
		}
		list, err := r.Listed(ctx, which)
		if err != nil {
			return nil, err
		}
		for _, rev := range list {
			out = append(out, api.RevisionRow{Revision: rev.ID, Parent: rev.Parent, Layer: which.String(), Note: rev.Note, Created: rev.Created, Head: rev.ID == head, SignedBy: signer(rev)})
		}
	}
	return out, nil
}
