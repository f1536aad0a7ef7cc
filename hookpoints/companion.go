package hookpoints

import (
	"cmp"
	"context"
	"slices"

	"agentd/hookpoints/payload"
)

// Companion is fulfilled by hooks that are asked somewhere else, where several can be asked in one trip.
type Companion interface {
	Hook
	// Company is equal for hooks that can travel together.
	Company() any
	// DecideTogether asks hooks of one company in order, all on the payload of the first call. It gives
	// the results of at least the first, and none after one that failed or changed what the next would see.
	DecideTogether(ctx context.Context, calls []*Call) []Said
}

// ask asks a hook, or has its answer from a trip that one before it made. Those behind it that can travel
// with it are taken along.
func (r *running) ask(net *net, b *Binding) Said {
	if len(r.ahead.said) > 0 && r.ahead.of[0].Binding == b {
		said := r.ahead.said[0]
		r.ahead.of, r.ahead.said = r.ahead.of[1:], r.ahead.said[1:]
		return said
	}
	r.ahead = ahead{} // one that wasn't asked is behind it
	calls := r.together(b)
	if len(calls) < 2 {
		return call(net, b.Hook, &r.call)
	}
	for _, c := range calls[1:] {
		net.until += int64(cmp.Or(c.Binding.Timeout, HookTimeout))
	}
	got := togetherCalled(net, b.Hook.(Companion), calls)
	r.ahead = ahead{calls[1:len(got)], got[1:]}
	return got[0]
}

// ahead is what a trip brought for bindings whose turn comes later.
type ahead struct {
	of   []*Call
	said []Said
}

// togetherCalled makes a trip. A panic, or no answer at all, is the first hook's failure.
func togetherCalled(ctx context.Context, lead Companion, calls []*Call) []Said {
	var got []Said
	var err error
	func() {
		defer failsByPanic(&err)
		got = lead.DecideTogether(ctx, calls)
	}()
	if err != nil || len(got) == 0 || len(got) > len(calls) {
		return []Said{{Err: cmp.Or(err, ErrHookFailed)}}
	}
	return got
}

// together is the longest run of bindings from b on that can travel with it: nothing else has to be known
// of them. One that has nobody to go with travels alone.
func (r *running) together(b *Binding) []*Call {
	lead, ok := b.Hook.(Companion)
	if !ok {
		return nil
	}
	list := r.chain.Bindings(r.part)
	list = list[slices.Index(list, b)+1:]
	n := 0
	for n < len(list) && travels(list[n], b, lead) {
		n++
	}
	if n == 0 {
		return nil
	}
	copies, calls := make([]Call, n), make([]*Call, 1, n+1)
	calls[0] = &r.call
	for i, next := range list[:n] {
		c := &copies[i]
		*c = r.call
		c.Binding, c.State, c.Spent = next, emptyObject, Usage{}
		if !next.Untrusted {
			c.State = r.state(next.StateCell)
		}
		c.Facts, c.Missing = payload.Value{}, payload.Value{}
		calls = append(calls, c)
	}
	return calls
}

// travels reports whether a binding can be asked on a trip that b makes.
func travels(next, b *Binding, lead Companion) bool {
	other, ok := next.Hook.(Companion)
	if !ok || other.Company() != lead.Company() || next.Background || len(next.FactKeys) > 0 || next.Untrusted != b.Untrusted {
		return false
	}
	_, asks := next.Hook.(FactAsker)
	return !asks
}
