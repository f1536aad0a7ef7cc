package worker

import (
	"context"
	"errors"
	"fmt"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
)

func asError(err error, into **interp.Error) bool { return errors.As(err, into) }

// hook is one function of a script that runs in workers.
type hook struct {
	pool   *Pool
	script *script
	index  int
}

// asking is a hook whose facts depend on the payload.
type asking struct{ *hook }

var (
	_ hookpoints.Companion = (*hook)(nil)
	_ hookpoints.FactAsker = (*asking)(nil)
)

// told is an error that the hook's author has seen already.
type told struct{ error }

// Trace implements hookpoints.Told.
func (t told) Trace() string { return t.Error() }
func (t told) Unwrap() error { return t.error }

// Decide implements hookpoints.Hook.
func (h *hook) Decide(ctx context.Context, c *hookpoints.Call) ([]hookpoints.Decision, hookpoints.Usage, error) {
	got := h.trip(ctx, "decide", []*hookpoints.Call{c}, []*hook{h})[0]
	return got.decisions, got.usage, got.err
}

// FactKeys implements hookpoints.FactAsker.
func (a *asking) FactKeys(ctx context.Context, c *hookpoints.Call) ([]string, hookpoints.Usage, error) {
	got := a.trip(ctx, "facts", []*hookpoints.Call{c}, []*hook{a.hook})[0]
	return got.keys, got.usage, got.err
}

// Company implements hookpoints.Companion: all hooks of a pool travel together.
func (h *hook) Company() any { return h.pool }

// DecideTogether implements hookpoints.Companion.
func (h *hook) DecideTogether(ctx context.Context, calls []*hookpoints.Call) []hookpoints.Said {
	hooks := make([]*hook, len(calls))
	for i, c := range calls {
		switch other := c.Binding.Hook.(type) {
		case *hook:
			hooks[i] = other
		case *asking:
			hooks[i] = other.hook
		}
	}
	got := h.trip(ctx, "decide", calls, hooks)
	out := make([]hookpoints.Said, len(got))
	for i, r := range got {
		out[i] = hookpoints.Said{Decisions: r.decisions, Usage: r.usage, Err: r.err}
	}
	return out
}

// trip goes to a worker and back, and gives at least one result. A worker that failed is never used again.
func (h *hook) trip(ctx context.Context, do string, calls []*hookpoints.Call, hooks []*hook) []result {
	w, err := h.pool.take(ctx)
	if err != nil {
		return []result{{err: fmt.Errorf("%w: %w", hookpoints.ErrHookFailed, err)}}
	}
	got, err := h.travel(ctx, w, do, calls, hooks)
	if err != nil {
		h.pool.drop(w)
		return []result{{err: err}}
	}
	h.pool.give(w)
	for i, r := range got {
		for _, t := range r.traces {
			calls[i].Tracer.Trace(calls[i].Binding.BindingID, t.kind, t.text)
			if t.kind == "error" && r.err != nil {
				got[i].err = told{r.err}
			}
		}
	}
	return got
}

func (h *hook) travel(ctx context.Context, w *process, do string, calls []*hookpoints.Call, hooks []*hook) ([]result, error) {
	packed := make([]payload.Value, len(calls))
	for i, c := range calls {
		if err := hooks[i].script.know(ctx, w); err != nil {
			return nil, err
		}
		packed[i] = packCall(hooks[i], c)
	}
	h.pool.trips.Add(1)
	a, err := w.ask(ctx, packTrip(do, packed, calls[0]))
	if err != nil {
		return nil, err
	}
	list := a.Get("results")
	if list.Kind() != payload.Array || list.Len() == 0 || list.Len() > len(calls) {
		return nil, errLies
	}
	var out []result
	for i := range list.Len() {
		limits := hooks[i].script.limits
		r := unpackResult(list.At(i), meter.Limits{Fuel: limits.Fuel, Bytes: limits.Bytes})
		if errors.Is(r.err, errLies) {
			return nil, r.err
		}
		out = append(out, r)
		if r.err != nil || changes(r.decisions) { // whatever else it says
			break
		}
	}
	return out, nil
}
