package worker

import (
	"context"

	"agentd/hookpoints"
)

// hook is one function of a script that runs in workers.
type hook struct {
	side   *side
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
	got := h.trip(ctx, decides, []*hookpoints.Call{c}, []*hook{h})[0]
	return got.decisions, got.usage, got.err
}

// FactKeys implements hookpoints.FactAsker.
func (a *asking) FactKeys(ctx context.Context, c *hookpoints.Call) ([]string, hookpoints.Usage, error) {
	got := a.trip(ctx, facts, []*hookpoints.Call{c}, []*hook{a.hook})[0]
	return got.keys, got.usage, got.err
}

// Company implements hookpoints.Companion: all hooks of one side travel together.
func (h *hook) Company() any { return h.side }

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
	got := h.trip(ctx, decides, calls, hooks)
	out := make([]hookpoints.Said, len(got))
	for i, r := range got {
		out[i] = hookpoints.Said{Decisions: r.decisions, Usage: r.usage, Err: r.err}
	}
	return out
}

// trip goes to a worker and back, and gives at least one result.
func (h *hook) trip(ctx context.Context, kind byte, calls []*hookpoints.Call, hooks []*hook) []result {
	var got []result
	err := h.side.use(ctx, func(p *process) (err error) {
		got, err = p.travel(ctx, kind, hooks, calls)
		return err
	})
	if err != nil {
		return []result{{err: err}}
	}
	show(got, calls)
	return got
}

// show tells authors what their hooks printed, and why they failed.
func show(got []result, calls []*hookpoints.Call) {
	for i, r := range got {
		for _, t := range r.traces {
			calls[i].Tracer.Trace(calls[i].Binding.BindingID, t.kind, t.text)
			if t.kind == "error" && r.err != nil {
				got[i].err = told{r.err}
			}
		}
	}
}
