package hookpoints

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// InBackground is why a record says that a background hook didn't run: not on the path. What becomes of
// it there is in no record, as it isn't the same each time.
const InBackground = "in the background"

// Deferred is the call of a background hook, ready to be made off the path: with the payload that the
// hook would have seen in its place, and with its facts and state as they were. It never changes.
type Deferred struct {
	chain *Chain
	call  Call
}

// BindingID is whose call it is.
func (d *Deferred) BindingID() string { return d.call.Binding.BindingID }

// Size is about what the call keeps in memory, in bytes.
func (d *Deferred) Size() int {
	return d.call.Payload.Size() + d.call.Facts.Size() + d.call.State.Size()
}

// Skipped is the record of a call that isn't made.
func (d *Deferred) Skipped(why string) Record {
	rec := d.chain.record(d.call.Binding, Ordinary)
	rec.Why = why
	return rec
}

// Run makes the call and says how it went. What the hook returns changes nothing, and must be None. Its
// clock is the hook's own; ctx ends it earlier, and then it didn't run.
func (d *Deferred) Run(ctx context.Context) Record {
	b, clock := d.call.Binding, d.chain.clock
	rec := d.chain.record(b, Ordinary)
	rec.Ran = true
	start := clock.Nanos()
	net := &net{Context: ctx, clock: clock, until: start + int64(cmp.Or(b.Timeout, HookTimeout))}
	err := d.decide(net, &rec)
	if err != nil && ctx.Err() != nil { // that isn't the hook's failure
		return d.Skipped("cut off")
	}
	if err != nil {
		rec.Error = Word(err)
		var told Told
		if !errors.As(err, &told) {
			d.call.Tracer.Trace(b.BindingID, "error", err.Error())
		}
	}
	rec.Micros = (clock.Nanos() - start) / int64(time.Microsecond)
	return rec
}

func (d *Deferred) decide(ctx context.Context, rec *Record) error {
	again := d.call // a hook may run twice, and is handed its own each time
	said := call(ctx, again.Binding.Hook, &again)
	rec.add(said.Usage)
	if said.Err != nil {
		return said.Err
	}
	r := running{chain: d.chain}
	_, err := r.permitted(again.Binding, said.Decisions)
	return err
}
