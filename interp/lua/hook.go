package lua

import (
	"context"
	"errors"
	"fmt"

	lua "github.com/yuin/gopher-lua"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/interp"
)

// hook is one function of a loaded file. What it can reach is frozen, so its calls share nothing and
// may run at once, each in a state of its own.
type hook struct {
	run    *lua.LFunction
	name   string
	limits meter.Limits
	states *pool
	frozen frozen
}

// asking is a hook whose facts depend on the payload.
type asking struct {
	*hook
	facts *lua.LFunction
}

var (
	_ hookpoints.Hook      = (*hook)(nil)
	_ hookpoints.FactAsker = (*asking)(nil)
)

func newHook(l *loading, id string, run, facts *lua.LFunction) hookpoints.Hook {
	h := &hook{run: run, name: id, limits: l.Limits, states: l.engine.states}
	if facts == nil {
		return h
	}
	return &asking{h, facts}
}

func (h *hook) freeze(w *freezer) error {
	h.frozen = w.r.frozen
	return w.freeze(h.run)
}

func (a *asking) freeze(w *freezer) error { return errors.Join(a.hook.freeze(w), w.freeze(a.facts)) }

// Decide implements hookpoints.Hook. An error is an *interp.Error.
func (h *hook) Decide(ctx context.Context, c *hookpoints.Call) ([]hookpoints.Decision, hookpoints.Usage, error) {
	r := newRun(ctx, meter.Limits{Fuel: h.limits.Fuel - c.Spent.Fuel, Bytes: h.limits.Bytes - c.Spent.Bytes})
	r.budget = h.limits
	out, err := r.decideOn(h, h.run, c)
	if err == nil {
		var list []hookpoints.Decision
		if list, err = r.decisions(out); err == nil {
			return list, r.usage(), nil
		}
		err = r.fault(fmt.Errorf("%s: %w", h.name, err), origin(h.run))
	}
	interp.Report(c, err)
	return nil, r.usage(), err
}

// decideOn calls a function of a hook with the context and the payload of a call.
func (r *run) decideOn(h *hook, fn *lua.LFunction, c *hookpoints.Call) (lua.LValue, error) {
	r.print = interp.Listener{Call: c, Left: interp.MaxPrinted}
	r.frozen = h.frozen
	if c.Around != nil {
		r.seed = c.Seed
	}
	return r.invoke(h.states, fn, handle(ctxValue{c}, ctxMeta), view(c.Payload))
}

// FactKeys implements hookpoints.FactAsker.
func (a *asking) FactKeys(ctx context.Context, c *hookpoints.Call) ([]string, hookpoints.Usage, error) {
	r := newRun(ctx, a.limits)
	out, err := r.decideOn(a.hook, a.facts, c)
	if err == nil {
		if out == lua.LNil {
			return nil, r.usage(), nil
		}
		var keys []string
		if keys, err = r.factKeys(out); err == nil {
			return keys, r.usage(), nil
		}
		err = r.fault(fmt.Errorf("%s: the result of facts: %w", a.name, err), origin(a.facts))
	}
	interp.Report(c, err)
	return nil, r.usage(), err
}

func (r *run) factKeys(v lua.LValue) ([]string, error) {
	tree, err := r.tree(v, 2)
	if err != nil {
		return nil, err
	}
	return interp.Texts(tree, interp.MaxFacts)
}
