package starlark

import (
	"context"
	"fmt"

	"go.starlark.net/starlark"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/interp"
)

// run is one execution: of a file that loads, or of a hook. It is owned by one goroutine.
type run struct {
	thread  starlark.Thread
	meter   meter.Meter
	limits  meter.Limits // what is left of the budget when the run begins
	budget  meter.Limits
	ctx     context.Context
	late    bool // the wall clock stopped it
	print   interp.Listener
	first   ctxValue          // a hook's first argument
	args    [2]starlark.Value // and both of them
	loading *loading          // nil in a call
	host    interp.TestHost   // of a test
}

const (
	runKey  = "run"
	polling = 4096 // fuel between looks at the clock
)

func newRun(ctx context.Context, limits meter.Limits) *run {
	r := &run{ctx: ctx, limits: limits, budget: limits}
	r.meter = *meter.New(&r.thread.Steps, limits)
	r.thread.SetLocal(runKey, r)
	r.thread.OnMaxSteps = onMaxSteps
	r.thread.SetMaxExecutionSteps(r.nextPoll())
	return r
}

// running is the run that a thread belongs to.
func running(t *starlark.Thread) *run { return t.Local(runKey).(*run) }

func (r *run) nextPoll() uint64 { return min(r.thread.Steps+polling, uint64(max(r.limits.Fuel, 1))) }

// onMaxSteps is called by the interpreter before an instruction, once the counter has passed the mark.
func onMaxSteps(t *starlark.Thread) {
	r := running(t)
	switch {
	case r.meter.Spent():
		t.Cancel(meter.ErrSpent.Error())
	case r.ctx.Err() != nil:
		r.late = true
		t.Cancel(interp.ErrLate.Error())
	default:
		t.SetMaxExecutionSteps(r.nextPoll())
	}
}

// why is why the run ended.
func (r *run) why() interp.Ended {
	return interp.Ended{Late: r.late, Spent: r.meter.Spent(), Budget: r.budget}
}

func (r *run) usage() hookpoints.Usage {
	fuel, bytes := r.meter.Used()
	return hookpoints.Usage{Fuel: fuel, Bytes: bytes}
}

// charge pays for work that is about to be done.
func (r *run) charge(fuel, bytes int64) error {
	return r.meter.Charge(meter.Cost{Fuel: fuel, Bytes: bytes})
}

// decideOn calls a function of a hook with the context and the payload of a call.
func (r *run) decideOn(fn *starlark.Function, c *hookpoints.Call) (starlark.Value, error) {
	r.print = interp.Listener{Call: c, Left: interp.MaxPrinted}
	r.first = ctxValue{c}
	r.args = [2]starlark.Value{&r.first, view(c.Payload)}
	return r.invoke(fn, r.args[:])
}

// invoke calls a function of a script. Whatever goes wrong comes back as an *interp.Error: the cause
// is known from the run, never from the error's text.
func (r *run) invoke(fn *starlark.Function, args starlark.Tuple) (out starlark.Value, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, r.fault(fmt.Errorf("the interpreter failed: %v", p), fn.Position())
		}
	}()
	out, err = starlark.Call(&r.thread, fn, args, nil)
	if err == nil && r.meter.Spent() {
		err = meter.ErrSpent
	}
	if err != nil {
		return nil, r.fault(err, fn.Position())
	}
	return out, nil
}
