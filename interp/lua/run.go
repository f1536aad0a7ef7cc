package lua

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	lua "github.com/yuin/gopher-lua"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/interp"
)

// run is one execution: of a file that loads, or of a hook. It is owned by one goroutine. It is the
// context of its state, which the interpreter asks before each instruction whether it is done.
type run struct {
	fuel    uint64
	mark    uint64 // the fuel at which done looks closer
	meter   meter.Meter
	limits  meter.Limits // what is left of the budget when the run begins
	budget  meter.Limits
	ctx     context.Context
	state   *lua.LState
	late    bool  // the wall clock stopped it
	broken  error // the interpreter failed, which no script may catch
	frozen  frozen
	print   interp.Listener
	loading *loading        // nil in a call
	host    interp.TestHost // of a test
	seed    string          // of the operation
	random  *rand.PCG       // once a number was drawn
	holes   holes
	open    []*lua.Upvalue
	trace   []frame // where the error was raised that ended the run
	guarded int     // protected calls that are running
}

const polling = 4096 // fuel between looks at the clock

func newRun(ctx context.Context, limits meter.Limits) *run {
	r := &run{ctx: ctx, limits: limits, budget: limits}
	r.meter = *meter.New(&r.fuel, limits)
	r.mark = r.nextPoll()
	return r
}

// running is the run that a state belongs to.
func running(L *lua.LState) *run { return L.Context().(*run) }

func (r *run) nextPoll() uint64 { return min(r.fuel+polling, uint64(max(r.limits.Fuel, 1))) }

var stopped = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Done implements context.Context. The interpreter calls it before each instruction.
func (r *run) Done() <-chan struct{} {
	r.fuel += instructionFuel
	if r.fuel < r.mark {
		return nil
	}
	if r.Err() != nil {
		return stopped
	}
	r.mark = r.nextPoll()
	return nil
}

// Err implements context.Context: it looks at the clock and says why the run has to end, nil as long as
// it may go on.
func (r *run) Err() error {
	if r.ended() == nil && r.ctx.Err() != nil {
		r.late = true
	}
	return r.ended()
}

// ended says why the run has to end by what is known of it, without a look at the clock.
func (r *run) ended() error {
	switch {
	case r.broken != nil:
		return r.broken
	case r.meter.Spent():
		return meter.ErrSpent
	case r.late:
		return interp.ErrLate
	}
	return nil
}

// Deadline implements context.Context; there is none that the interpreter should know.
func (r *run) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value implements context.Context.
func (r *run) Value(any) any { return nil }

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

// over reports whether the run has to end, whatever a script does about it.
func (r *run) over() bool { return r.broken != nil || r.late || r.meter.Spent() }

// invoke calls a function of a script and returns its first result. Whatever goes wrong comes back as
// an *interp.Error: the cause is known from the run, never from the error's text. A state in which
// something went wrong is dropped.
func (r *run) invoke(states *pool, fn *lua.LFunction, args ...lua.LValue) (out lua.LValue, err error) {
	L := states.take()
	r.begin(L)
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, r.fault(raised(p), origin(fn))
			return
		}
		if err == nil {
			states.give(L)
		}
		r.state = nil
	}()
	L.Push(fn)
	for _, a := range args {
		L.Push(a)
	}
	L.Call(len(args), 1)
	out = L.Get(-1)
	L.Pop(1)
	if err := r.ended(); err != nil {
		return nil, r.fault(err, origin(fn))
	}
	return out, nil
}

// begin makes a state the run's own.
func (r *run) begin(L *lua.LState) {
	r.state = L
	L.SetContext(r)
	L.Panic = raise
}

// raised is the error in what a panic carried.
func raised(p any) error {
	if e, ok := p.(*lua.ApiError); ok {
		return e
	}
	return fmt.Errorf("the interpreter failed: %v", p)
}
