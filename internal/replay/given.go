package replay

import (
	"context"
	"errors"
	"fmt"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/operation"
)

// watched finds chains, and remembers whether one has a hook that must not be called again.
type watched struct {
	operation.Chains
	unsafe string
}

// Chain implements operation.Chains.
func (w *watched) Chain(ctx context.Context, rev operation.Triple, point string, s hookpoints.Scope) (*hookpoints.Chain, error) {
	c, err := w.Chains.Chain(ctx, rev, point, s)
	if c == nil || err != nil {
		return c, err
	}
	for _, part := range []hookpoints.Part{hookpoints.Ordinary, hookpoints.Guards} {
		for _, b := range c.Bindings(part) {
			if !b.ReplaySafe {
				w.unsafe = b.BindingID
				return nil, fmt.Errorf("the hook %s at %s isn't declared replay-safe", b.BindingID, point)
			}
		}
	}
	return c, nil
}

// readings are the facts of one row, as a source for the chains that are computed again.
type readings struct {
	facts   []hookpoints.Fact
	missing string // what was asked for and isn't recorded, with where
}

func (r *readings) source(point string, part hookpoints.Part, round int) hookpoints.FactSource {
	return &reading{r, point, part, round}
}

type reading struct {
	of    *readings
	point string
	part  hookpoints.Part
	round int
}

// Fact implements hookpoints.FactSource: the value that this very part of the chain read, else what
// another part of it did.
func (r *reading) Fact(_ context.Context, key string) hookpoints.Fact {
	var found *hookpoints.Fact
	for i := range r.of.facts {
		f := &r.of.facts[i]
		if f.Key != key || f.Point != r.point {
			continue
		}
		if f.Pass == string(r.part) && f.Round == r.round {
			found = f
			break
		}
		found = f
	}
	if found == nil {
		if r.of.missing == "" {
			r.of.missing = fmt.Sprintf("the fact %s wasn't read at %s, so %s", key, r.point, errUnrecorded)
		}
		return hookpoints.Fact{Key: key, Absent: errUnrecorded.Error()}
	}
	return hookpoints.Fact{Key: key, Value: found.Value, Absent: found.Absent}
}

// answers are what persons said to the questions that came before a row was written.
func answers(rows []operation.Row, d operation.Row) (out []operation.Answer) {
	limit := -1
	if w, ok := d.(operation.WaitingRow); ok {
		limit = w.N
	}
	for _, r := range rows {
		if a, ok := r.(operation.AnswerRow); ok && a.Answer.Verb != operation.Retry && (limit < 0 || a.N < limit) {
			out = append(out, a.Answer)
		}
	}
	return out
}

// preparing gives what a tool prepared, each time that it does.
func preparing(d operation.Decided) func(context.Context, payload.Value) (payload.Value, error) {
	kind := d.Scope.Get("kind").Text()
	failed := d.Outcome == hookpoints.Rejected && d.By == "" && d.Code == "invalid" && (kind == "write" || kind == "edit")
	if !failed && !d.Write.Exists() {
		return nil
	}
	writes := d.Prepared
	if len(writes) == 0 && d.Write.Exists() {
		writes = []payload.Value{d.Write}
	}
	n := 0
	return func(context.Context, payload.Value) (payload.Value, error) {
		n++
		switch {
		case n <= len(writes):
			return writes[n-1], nil
		case failed:
			return payload.Value{}, errors.New(d.Reason)
		}
		return writes[len(writes)-1], nil
	}
}

// lastDecided is the row that says what was decided before an action, nil if there is none.
func lastDecided(rows []operation.Row) (last operation.Row) {
	for _, r := range rows {
		if _, ok := operation.DecidedIn(r); ok {
			last = r
		}
	}
	return last
}

// decidedOf is what the last row with a head says, or what its failed chains were given if there is none.
func decidedOf(rows []operation.Row) (d operation.Decided, ok bool) {
	for _, r := range rows {
		switch r := r.(type) {
		case operation.FailedRow:
			if !ok {
				d, ok = r.Decided()
			}
		case operation.PointRow:
			d, ok = r.Decided, true
		default:
			if last, decided := operation.DecidedIn(r); decided {
				d, ok = last, true
			}
		}
	}
	return d, ok
}
