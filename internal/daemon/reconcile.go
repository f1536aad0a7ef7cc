package daemon

import (
	"context"
	"errors"

	"agentd/internal/api"
	"agentd/operation"
	"agentd/store"
)

// Reconcile implements api.Backend. What a run that is going on needs is up to that run.
func (d *Daemon) Reconcile(ctx context.Context, id string, q api.Reconcile) (api.Operation, error) {
	sum, _, err := d.store.Operation(ctx, id)
	if errors.Is(err, store.ErrNoOperation) {
		return api.Operation{}, api.Errorf(api.ErrNotFound, "there is no operation %s; see agentd ops list", id)
	}
	if err != nil {
		return api.Operation{}, err
	}
	h := sum.Head
	d.runs.mu.Lock()
	going := d.runs.active[h.RunID] != nil
	d.runs.mu.Unlock()
	if going {
		return api.Operation{}, api.Errorf(api.ErrBusy, "the run %s is going on", h.RunID)
	}
	if of, _, err := d.store.Operation(ctx, h.RunID); err == nil && q.Verb == operation.Retry && sum.State == operation.Unknown && of.Done() {
		return api.Operation{}, api.Errorf(api.ErrConflict, "the run %s is over, so nothing of it runs again; say how the operation came out, or start a new run", h.RunID)
	}
	if err := d.usable(sum, q); err != nil {
		return api.Operation{}, err
	}
	s := operation.Settlement{Verb: q.Verb, Value: q.Value, Reason: q.Reason, Who: "a person"}
	if err := d.rt.Runner().Reconcile(ctx, id, s); err != nil {
		if errors.Is(err, operation.ErrPersistence) {
			return api.Operation{}, err
		}
		return api.Operation{}, api.Errorf(api.ErrConflict, "%v", err)
	}
	if h.Kind == operation.KindEffect { // it may be done again, or hooks look at what a person said
		d.tendSession(h.SessionID)
	}
	return d.Operation(ctx, id, false)
}

// usable refuses a result that no after chain could take: the run would stop there for good.
func (d *Daemon) usable(sum operation.Summary, q api.Reconcile) error {
	if q.Verb != operation.SettleSucceeded || sum.State != operation.Unknown || sum.Head.Kind != "model.chat" {
		return nil
	}
	if err := d.rt.Points().Point("model.chat.after").Check(q.Value); err != nil {
		return api.Errorf(api.ErrInvalid, "that is no reply of a model: %v", err)
	}
	return nil
}
