package hookpoints

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"agentd/builtins/meter"
	"agentd/hookpoints/payload"
)

// Chain is the plan of one call: the bindings that match it, in order. It is immutable.
type Chain struct {
	point            *Point
	ordinary, guards []*Binding
	clock            Clock
}

// NewChain orders bindings: trusted before untrusted, then priority, layer, file, line; those of
// agentd.yaml come last within their layer, in its order. The clock is for records and for the net.
func NewChain(p *Point, clock Clock, bindings []*Binding) *Chain {
	c := &Chain{point: p, clock: clock}
	for _, b := range bindings {
		if b.Guard {
			c.guards = append(c.guards, b)
		} else {
			c.ordinary = append(c.ordinary, b)
		}
	}
	slices.SortStableFunc(c.ordinary, inOrder)
	slices.SortStableFunc(c.guards, inOrder)
	return c
}

func inOrder(a, b *Binding) int {
	by := cmp.Or(falseFirst(a.Untrusted, b.Untrusted), cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Layer, b.Layer),
		cmp.Compare(a.ConfigOrder, b.ConfigOrder))
	if by != 0 || a.ConfigOrder > 0 {
		return by
	}
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
}

func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// Point is where the chain runs.
func (c *Chain) Point() *Point { return c.point }

// Bindings returns a part of the chain in the order in which it runs; the caller must not change it.
func (c *Chain) Bindings(part Part) []*Binding {
	if part == Guards {
		return c.guards
	}
	return c.ordinary
}

// Skipped is the records of a part that doesn't run, because of what a binding decided before.
func (c *Chain) Skipped(part Part, by string) []Record {
	var out []Record
	for _, b := range c.Bindings(part) {
		rec := c.record(b, part)
		rec.Why = "ended by " + by
		out = append(out, rec)
	}
	return out
}

func (c *Chain) record(b *Binding, part Part) Record {
	return Record{BindingID: b.BindingID, HookID: b.HookID, Version: b.Version, Point: c.point.Name, Part: part, Schedule: meter.Schedule}
}

// Request is one run of one part of a chain. Around, Facts, States and Tracer may be nil or empty.
type Request struct {
	Payload payload.Value // fulfils the point's contract
	Around  *Around
	Facts   FactSource
	States  States
	Tracer  Tracer
	// Validate is the host's check after each patch; it may return a normalised payload, which the
	// next hook sees. An error is the hook's failure, as it proposed the patch.
	Validate func(ctx context.Context, patched payload.Value) (payload.Value, error)
	// Answer checks the value of a respond against what the action would have returned.
	Answer func(value payload.Value) error
	// Writable says why a cell of state can't be written now, which fails the hook that remembers
	// something in it. May be nil: all can.
	Writable func(cell string) error
	// Progress keeps what hooks decided that aren't replay-safe. Nil: they are called each time.
	Progress Progress
	// Spent is the hook time of the parts that ran before.
	Spent int64
	// Defer hands the calls of background hooks back in the result instead of making them.
	Defer bool
}

// Run runs one part. The error is the context's or that of Progress: what was computed until then
// doesn't count. A failed hook is a Result.
func (c *Chain) Run(ctx context.Context, part Part, q Request) (Result, error) {
	list := c.Bindings(part)
	if len(list) == 0 {
		return Result{Outcome: Continued, Payload: q.Payload}, nil
	}
	r := running{chain: c, q: q, part: part}
	r.Outcome, r.Payload = Continued, q.Payload
	r.Records = make([]Record, 0, len(list))
	r.call = Call{Point: c.point, Around: q.Around, Tracer: q.Tracer}
	if r.call.Around == nil {
		r.call.Around = &nowhere
	}
	if r.call.Tracer == nil {
		r.call.Tracer = noTrace{}
	}
	for _, b := range list {
		if err := ctx.Err(); err != nil {
			return r.Result, err
		}
		if r.step(ctx, b); r.host != nil {
			return r.Result, r.host
		}
	}
	return r.Result, ctx.Err() // a hook that the host cut off didn't fail
}

var nowhere = Around{Scope: Scope{Value: payload.NewObject(), Key: Key{Purpose: "action", Instance: Main}}}

type noTrace struct{}

func (noTrace) Trace(string, string, string) {}

// running is a part of a chain while it runs.
type running struct {
	Result
	chain *Chain
	q     Request
	part  Part
	call  Call
	wrote map[string]string        // field -> binding that patched it last
	cells map[string]payload.Value // state changed by this run
	ended string                   // the binding that ended the ordinary ones
	ahead ahead                    // what a trip brought for the bindings that follow
	apart int64                    // hook time of untrusted bindings, which have a net of their own
	host  error                    // what the host couldn't do, which is no hook's failure
}

// step runs one binding, or records why it doesn't.
func (r *running) step(ctx context.Context, b *Binding) {
	rec := r.chain.record(b, r.part)
	if r.ended != "" {
		rec.Why = "ended by " + r.ended
		r.Records = append(r.Records, rec)
		return
	}
	rec.Ran = true
	decisions, err := r.decide(ctx, b, &rec)
	if r.host != nil {
		return
	}
	if err == nil {
		decisions, err = r.permitted(b, decisions)
		if err == nil || b.Untrusted { // of an untrusted hook what is permitted stays
			err = cmp.Or(err, r.apply(ctx, b, decisions, &rec))
		}
	}
	if err != nil {
		r.fail(b, err, &rec)
	}
	r.Records = append(r.Records, rec)
}

// fail records a failure by one of four words and ends the chain, where the policy says so.
func (r *running) fail(b *Binding, err error, rec *Record) {
	rec.Error = Word(err)
	var told Told
	if !errors.As(err, &told) {
		r.call.Tracer.Trace(b.BindingID, "error", err.Error())
	}
	r.TimedOut = r.TimedOut || errors.Is(err, ErrHostTimeout)
	if r.chain.point.Ignores(b) {
		return
	}
	r.Outcome, r.Error = Failed, rec.Error
	if r.chain.point.Phase == Confirm {
		r.Outcome = Denied
	}
	r.By, r.Decision, r.ended = b.BindingID, Decision{}, b.BindingID
}

// decide resolves the hook's facts on the payload that it will see, then calls it. Time spent on
// facts isn't hook time.
func (r *running) decide(ctx context.Context, b *Binding, rec *Record) (ds []Decision, err error) {
	clock := r.chain.clock
	spent := r.q.Spent + r.Nanos
	switch {
	case b.Untrusted:
		spent = r.apart
	case b.Background:
		spent = 0
	}
	limit := min(int64(cmp.Or(b.Timeout, HookTimeout)), int64(ChainTimeout)-spent)
	if limit <= 0 {
		return nil, ErrHostTimeout
	}
	start := clock.Nanos()
	used := int64(0)
	defer func() {
		used += clock.Nanos() - start
		rec.Micros = used / int64(time.Microsecond)
		switch {
		case b.Untrusted:
			r.apart += used
		case !b.Background:
			r.Nanos += used
		}
	}()
	r.call.Binding, r.call.Payload, r.call.State = b, r.Payload, emptyObject
	if !b.Untrusted {
		r.call.State = r.state(b.StateCell)
		if r.call.State.Len() > 0 {
			rec.StateRead = r.call.State.Digest()
		}
	}
	r.call.Facts, r.call.Missing, r.call.Spent = payload.Value{}, payload.Value{}, Usage{}
	net := &net{Context: ctx, clock: clock, until: start + limit}
	keys := b.FactKeys
	if asker, ok := b.Hook.(FactAsker); ok {
		asked, use, err := askFacts(net, asker, &r.call)
		rec.Fuel, rec.Bytes, r.call.Spent = use.Fuel, use.Bytes, use
		if err != nil {
			return nil, err
		}
		keys = append(slices.Clip(keys), asked...)
	}
	if len(keys) > 0 {
		used += clock.Nanos() - start
		r.readFacts(ctx, b, keys)
		start = clock.Nanos()
		net.until = start + limit - used
	}
	if b.Background && r.q.Defer {
		rec.Ran, rec.Why = false, InBackground
		r.Deferred = append(slices.Clip(r.Deferred), Deferred{chain: r.chain, call: r.call})
		return nil, nil
	}
	if r.q.Progress == nil || b.ReplaySafe {
		said := r.ask(net, b)
		rec.add(said.Usage)
		return said.Decisions, said.Err
	}
	used += clock.Nanos() - start
	had, err := r.q.Progress.Begin(&r.call, r.part)
	start = clock.Nanos()
	net.until = start + limit - used
	if err != nil {
		r.host = err
		return nil, err
	}
	if had == nil {
		said := call(net, b.Hook, &r.call)
		if ctx.Err() != nil && said.Err != nil { // the host cut it off: nobody knows what it did
			return nil, ctx.Err()
		}
		used += clock.Nanos() - start
		r.host = r.q.Progress.End(&r.call, r.part, said)
		start = clock.Nanos()
		had = &said
	}
	rec.add(had.Usage)
	return had.Decisions, had.Err
}

func (r *Record) add(u Usage) { r.Fuel, r.Bytes = r.Fuel+u.Fuel, r.Bytes+u.Bytes }

// call calls a hook. A panic in it is its failure.
func call(ctx context.Context, h Hook, c *Call) (said Said) {
	defer failsByPanic(&said.Err)
	said.Decisions, said.Usage, said.Err = h.Decide(ctx, c)
	return said
}

// askFacts asks a hook for its facts, as call does.
func askFacts(ctx context.Context, h FactAsker, c *Call) (keys []string, use Usage, err error) {
	defer failsByPanic(&err)
	return h.FactKeys(ctx, c)
}

func failsByPanic(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: panic: %v\n%s", ErrHookFailed, p, debug.Stack())
	}
}

func (r *running) readFacts(ctx context.Context, b *Binding, keys []string) {
	var found, missing []payload.Field
	for _, key := range keys {
		if slices.ContainsFunc(found, func(f payload.Field) bool { return f.Name == key }) {
			continue
		}
		f := Fact{Key: key, Absent: "untrusted hooks get no facts"}
		switch {
		case b.Untrusted:
		case r.q.Facts == nil:
			f.Absent = "there is nothing to read facts from"
		default:
			f = r.q.Facts.Fact(ctx, key)
		}
		f.Pass = string(r.part)
		if !slices.ContainsFunc(r.Facts, func(had Fact) bool { return had.Key == key }) {
			r.Facts = append(r.Facts, f)
		}
		if f.Absent != "" {
			f.Value = payload.NewNull()
			missing = append(missing, payload.Field{Name: key, Value: payload.NewString(f.Absent)})
		}
		found = append(found, payload.Field{Name: key, Value: f.Value})
	}
	r.call.Facts, r.call.Missing = payload.NewObject(found...), payload.NewObject(missing...)
}

// net is the wall clock as a context: it ends when the injected clock passes until. There are no
// timers, so a hook that doesn't look isn't stopped, and none that looks in time is.
type net struct {
	context.Context
	clock Clock
	until int64
}

func (n *net) Err() error {
	if err := n.Context.Err(); err != nil {
		return err
	}
	if n.clock.Nanos() > n.until {
		return context.DeadlineExceeded
	}
	return nil
}
