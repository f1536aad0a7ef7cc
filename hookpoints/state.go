package hookpoints

import (
	"fmt"
	"slices"

	"agentd/hookpoints/payload"
)

var emptyObject = payload.NewObject()

// EmptyState is the state of a cell that nobody wrote.
func EmptyState() payload.Value { return emptyObject }

// Remembered is what a cell holds after a remember: the keys that it names are replaced, and those
// that it sets to null are gone, so that a cell can get smaller.
func Remembered(was payload.Value, set []payload.Field) payload.Value {
	next := was.With(set...)
	var gone []string
	for _, f := range set {
		if next.Get(f.Name).Kind() == payload.Null {
			gone = append(gone, f.Name)
		}
	}
	if gone == nil {
		return next
	}
	return next.Without(gone...)
}

// state is what a binding sees: what this run changed, over what was there.
func (r *running) state(cell string) payload.Value {
	if v, ok := r.cells[cell]; ok {
		return v
	}
	if r.q.States != nil {
		if v := r.q.States.State(cell); v.Exists() {
			return v
		}
	}
	return emptyObject
}

// remember changes a cell, or refuses what would make it too large: then all of it stays as it was.
func (r *running) remember(b *Binding, d Decision) error {
	if r.q.Writable != nil {
		if err := r.q.Writable(b.StateCell); err != nil {
			return fmt.Errorf("%w: %w", ErrHookFailed, err)
		}
	}
	was := r.state(b.StateCell)
	next := Remembered(was, d.Fields)
	if err := fits(next); err != nil {
		return fmt.Errorf("%w: the state %q would have %w", ErrHookFailed, b.StateCell, err)
	}
	cells := make(map[string]payload.Value, len(r.cells)+1)
	for k, v := range r.cells {
		cells[k] = v
	}
	cells[b.StateCell] = next
	r.cells = cells
	r.State = append(slices.Clip(r.State), Delta{b.StateCell, was.Digest(), d.Fields})
	return nil
}

func fits(cell payload.Value) error {
	if n := cell.Len(); n > MaxStateKeys {
		return fmt.Errorf("%d keys, at most %d are allowed; set those to null that aren't needed", n, MaxStateKeys)
	}
	if n := cell.Size(); n > MaxState {
		return fmt.Errorf("%d bytes, at most %d are allowed; keep less, or set keys to null that aren't needed", n, MaxState)
	}
	if cell.Depth(MaxResultDepth) > MaxResultDepth {
		return fmt.Errorf("more than %d levels", MaxResultDepth)
	}
	return nil
}
