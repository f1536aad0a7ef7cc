package starlark

import (
	"context"
	"errors"
	"fmt"

	"go.starlark.net/starlark"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/interp"
)

// hook is one function of a loaded file. What it can reach is frozen, so its calls share nothing and
// may run at once.
type hook struct {
	run    *starlark.Function
	limits meter.Limits
}

// asking is a hook whose facts depend on the payload.
type asking struct {
	*hook
	facts *starlark.Function
}

var (
	_ hookpoints.Hook      = (*hook)(nil)
	_ hookpoints.FactAsker = (*asking)(nil)
)

func newHook(l *loading, run, facts *starlark.Function) hookpoints.Hook {
	h := &hook{run, l.Limits}
	if facts == nil {
		return h
	}
	return &asking{h, facts}
}

func (h *hook) freeze(w *freezer) error { return w.freeze(h.run) }

func (a *asking) freeze(w *freezer) error { return errors.Join(w.freeze(a.run), w.freeze(a.facts)) }

// Decide implements hookpoints.Hook. An error is an *interp.Error.
func (h *hook) Decide(ctx context.Context, c *hookpoints.Call) ([]hookpoints.Decision, hookpoints.Usage, error) {
	r := newRun(ctx, meter.Limits{Fuel: h.limits.Fuel - c.Spent.Fuel, Bytes: h.limits.Bytes - c.Spent.Bytes})
	r.budget = h.limits
	out, err := r.decideOn(h.run, c)
	if err == nil {
		var list []hookpoints.Decision
		if list, err = r.decisions(out); err == nil {
			return list, r.usage(), nil
		}
		err = r.fault(fmt.Errorf("%s: %w", h.run.Name(), err), h.run.Position())
	}
	interp.Report(c, err)
	return nil, r.usage(), err
}

// FactKeys implements hookpoints.FactAsker.
func (a *asking) FactKeys(ctx context.Context, c *hookpoints.Call) ([]string, hookpoints.Usage, error) {
	r := newRun(ctx, a.limits)
	out, err := r.decideOn(a.facts, c)
	if err == nil {
		if out == starlark.None {
			return nil, r.usage(), nil
		}
		var keys []string
		if keys, err = r.strings(out, interp.MaxFacts); err == nil {
			return keys, r.usage(), nil
		}
		err = r.fault(fmt.Errorf("%s: the result: %w", a.facts.Name(), err), a.facts.Position())
	}
	interp.Report(c, err)
	return nil, r.usage(), err
}
