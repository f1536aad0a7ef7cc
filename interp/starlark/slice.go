package starlark

import (
	"fmt"

	"go.starlark.net/starlark"

	"agentd/hookpoints/payload"
)

// slice is x[lo:hi:step].
func (r *run) slice(x, lo, hi, step starlark.Value) (starlark.Value, error) {
	switch x := x.(type) {
	case starlark.String:
		if step != starlark.None {
			if err := r.charge(int64(len(x))/readPerFuel, 2*int64(len(x))); err != nil {
				return nil, err
			}
		}
	case starlark.Bytes:
		if step != starlark.None {
			if err := r.charge(int64(len(x))/readPerFuel, 2*int64(len(x))); err != nil {
				return nil, err
			}
		}
	case *starlark.List, starlark.Tuple:
		from, to, by, err := sliceBounds(starlark.Len(x), lo, hi, step)
		if err != nil {
			return nil, err
		}
		n := countOf(from, to, by)
		if _, tuple := x.(starlark.Tuple); tuple && by == 1 {
			n = 0 // it shares
		} else if by != 1 {
			n *= 3 // it grows
		}
		if err := r.meter.Charge(slots(2 * n)); err != nil {
			return nil, err
		}
		return x.(starlark.Sliceable).Slice(from, to, by), nil
	case array:
		return r.sliceView(x, lo, hi, step)
	}
	s, ok := x.(starlark.Sliceable)
	if !ok {
		return nil, fmt.Errorf("invalid slice operand %s", x.Type())
	}
	from, to, by, err := sliceBounds(s.Len(), lo, hi, step)
	if err != nil {
		return nil, err
	}
	return s.Slice(from, to, by), nil
}

// sliceView is a view of some of the items, which stay as they came.
func (r *run) sliceView(x array, lo, hi, step starlark.Value) (starlark.Value, error) {
	from, to, by, err := sliceBounds(x.v.Len(), lo, hi, step)
	if err != nil {
		return nil, err
	}
	n := countOf(from, to, by)
	if err := r.charge(1+n/2, nodeBytes+8*n); err != nil {
		return nil, err
	}
	items := make([]payload.Value, 0, n)
	for i := from; i < to && by > 0 || i > to && by < 0; i += by {
		items = append(items, x.v.At(i))
	}
	return array{payload.NewArray(items)}, nil
}

func countOf(from, to, by int) int64 {
	switch {
	case by > 0 && to > from:
		return int64((to-from-1)/by + 1)
	case by < 0 && from > to:
		return int64((from-to-1)/-by + 1)
	}
	return 0
}

// sliceBounds turns operands, None if they weren't given, into bounds that a Sliceable takes.
func sliceBounds(n int, lo, hi, step starlark.Value) (from, to, by int, err error) {
	by = 1
	if step != starlark.None {
		if by, err = starlark.AsInt32(step); err != nil {
			return 0, 0, 0, fmt.Errorf("invalid slice step: %s", err)
		}
		if by == 0 {
			return 0, 0, 0, fmt.Errorf("zero is not a valid slice step")
		}
	}
	first, last := 0, n // the range that bounds are held to, and their defaults
	if by < 0 {
		first, last = -1, n-1
	}
	from, to = first, last
	if by < 0 {
		from, to = last, first
	}
	for _, b := range []struct {
		v    starlark.Value
		name string
		at   *int
	}{{lo, "start", &from}, {hi, "end", &to}} {
		if b.v == starlark.None {
			continue
		}
		i, err := starlark.AsInt32(b.v)
		if err != nil {
			return 0, 0, 0, fmt.Errorf("invalid %s index: %s", b.name, err)
		}
		if i < 0 {
			i += n
		}
		*b.at = min(max(i, first), last)
	}
	if by > 0 {
		return from, max(from, to), by, nil
	}
	return max(from, to), to, by, nil
}
