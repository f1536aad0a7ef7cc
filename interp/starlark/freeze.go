package starlark

import (
	"errors"

	"go.starlark.net/starlark"
)

// freeze makes a value and all that it holds immutable. The interpreter's own freezing follows each
// path to a tuple or function, so this walks all paths first and pays for each; what a list, dict or
// set holds is frozen before it, so that freezing it is one look at each of its items.
func (w *freezer) freeze(v starlark.Value) error {
	if err := w.walk(v, 0); err != nil {
		return err
	}
	v.Freeze()
	return nil
}

// freezer knows what it has seen, so that values may share what they hold.
type freezer struct {
	r    *run
	done map[starlark.Value]bool // lists, dicts and sets; false while they are being walked
	busy map[*starlark.Function]bool
}

func newFreezer(r *run) *freezer {
	return &freezer{r, map[starlark.Value]bool{}, map[*starlark.Function]bool{}}
}

var errCycle = errors.New("a value that outlives loading contains itself")

func (w *freezer) walk(v starlark.Value, depth int) error {
	switch v := v.(type) {
	case nil, starlark.String, starlark.Int, starlark.Float, starlark.Bool, starlark.NoneType, starlark.Bytes, object, array, number, *decision, *module, *ctxValue:
		return nil
	case starlark.Tuple:
		return w.all(v, depth)
	case *starlark.Function:
		return w.function(v, depth)
	case *starlark.Builtin:
		return w.all(starlark.Tuple{v.Receiver()}, depth)
	case *starlark.List:
		return w.shared(v, v.Len(), func(i int) starlark.Value { return v.Index(i) }, depth)
	case *dict:
		return w.shared(v, len(v.cells), func(i int) starlark.Value { return v.cells[i] }, depth)
	case *set:
		return w.shared(v, len(v.cells), func(i int) starlark.Value { return v.cells[i] }, depth)
	}
	return nil // ranges and what iterates over text
}

func (w *freezer) all(items starlark.Tuple, depth int) error {
	if depth >= maxDepth {
		return errTooDeep
	}
	if err := w.r.charge(1+int64(len(items)), 0); err != nil {
		return err
	}
	for _, item := range items {
		if err := w.walk(item, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (w *freezer) function(fn *starlark.Function, depth int) error {
	if depth >= maxDepth {
		return errTooDeep
	}
	n := fn.NumParams() + fn.NumFreeVars()
	if err := w.r.charge(1+int64(n), 0); err != nil {
		return err
	}
	if w.busy[fn] {
		return errCycle
	}
	w.busy[fn] = true
	defer delete(w.busy, fn)
	for i := range fn.NumParams() {
		if err := w.walk(fn.ParamDefault(i), depth+1); err != nil {
			return err
		}
	}
	for i := range fn.NumFreeVars() {
		if _, v := fn.FreeVar(i); v != nil {
			if err := w.walk(v, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// shared walks a value that may be held in several places, once.
func (w *freezer) shared(v starlark.Value, n int, at func(int) starlark.Value, depth int) error {
	if done, seen := w.done[v]; seen {
		if !done {
			return errCycle
		}
		return w.r.charge(1, 0)
	}
	if depth >= maxDepth {
		return errTooDeep
	}
	if err := w.r.charge(1+int64(n), 48); err != nil {
		return err
	}
	w.done[v] = false
	for i := range n {
		if err := w.walk(at(i), depth+1); err != nil {
			return err
		}
	}
	w.done[v] = true
	v.Freeze()
	return nil
}
