package starlark

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"agentd/builtins/meter"
	"agentd/interp"
)

// sortedList is sorted(iterable, key = None, reverse = False). It is stable.
func sortedList(r *run, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var items starlark.Value
	var key starlark.Callable
	var reverse bool
	if err := starlark.UnpackArgs("sorted", args, kwargs, "iterable", &items, "key?", &key, "reverse?", &reverse); err != nil {
		return nil, err
	}
	values, err := r.collect("sorted", items)
	if err != nil {
		return nil, err
	}
	var keys []starlark.Value
	if key != nil {
		if keys, err = r.keysOf(key, values); err != nil {
			return nil, err
		}
	}
	if err := r.sort(values, keys, reverse); err != nil {
		return nil, err
	}
	return starlark.NewList(values), nil
}

// payWalk pays for a list of what a native iterable yields, so many times.
func (r *run) payWalk(v starlark.Value, times int64) error {
	n := int64(bound(v))
	c := slots(times * n)
	if makesItems(v) {
		c = plus(c, meter.Cost{Fuel: meter.Mul(n, rowFuel), Bytes: meter.Mul(n, headerBytes)})
	}
	return r.meter.Charge(c)
}

// makesItems reports whether an iterable makes a text for each item that it yields.
func makesItems(v starlark.Value) bool {
	switch v := v.(type) {
	case *starlark.List, starlark.Tuple, *dict, *set:
		return false
	case bounded:
		return true
	default:
		return v.Type() == "string.elems"
	}
}

// collect pays for a list of what v yields and makes it.
func (r *run) collect(name string, v starlark.Value) ([]starlark.Value, error) {
	v, err := r.native(v)
	if err != nil {
		return nil, err
	}
	it, ok := v.(starlark.Iterable)
	if !ok {
		return nil, fmt.Errorf("%s: for parameter iterable: got %s, want iterable", name, v.Type())
	}
	n := bound(v)
	if err := r.payWalk(v, 1); err != nil {
		return nil, err
	}
	out := make([]starlark.Value, 0, n)
	walk := it.Iterate()
	defer walk.Done()
	var item starlark.Value
	for walk.Next(&item) {
		out = append(out, item)
	}
	return out, nil
}

func (r *run) keysOf(key starlark.Callable, values []starlark.Value) ([]starlark.Value, error) {
	if err := r.meter.Charge(slots(int64(len(values)))); err != nil {
		return nil, err
	}
	keys := make([]starlark.Value, len(values))
	for i, v := range values {
		k, err := r.callBack(key, v)
		if err != nil {
			return nil, err
		}
		keys[i] = k
	}
	return keys, nil
}

// callBack calls a function of the script, which has spent its own fuel when it returns.
func (r *run) callBack(fn starlark.Callable, args ...starlark.Value) (starlark.Value, error) {
	if err := r.charge(2, 2*slotBytes); err != nil {
		return nil, err
	}
	return starlark.Call(&r.thread, fn, args, nil)
}

// sort sorts values by keys, or by themselves.
func (r *run) sort(values, keys []starlark.Value, reverse bool) error {
	n := len(values)
	if n < 2 {
		return nil
	}
	if keys == nil {
		keys = values
	}
	if err := r.charge(int64(n), 8*int64(n)); err != nil {
		return err
	}
	order, spare := make([]int32, n), make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	op := syntax.LT
	if reverse {
		op = syntax.GT
	}
	order, err := interp.Sort(order, spare, func(a, b int32) (bool, error) {
		if err := r.charge(1, 0); err != nil {
			return false, err
		}
		return r.order(op, keys[a], keys[b], 0)
	})
	if err != nil {
		return err
	}
	sorted := make([]starlark.Value, n)
	for i, at := range order {
		sorted[i] = values[at]
	}
	copy(values, sorted)
	return nil
}

// extreme is max and min: the first of those that none is greater, or smaller, than.
func extreme(name string, most bool) work {
	op := syntax.LT
	if most {
		op = syntax.GT
	}
	return func(r *run, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if len(args) == 0 {
			return nil, fmt.Errorf("%s requires at least one positional argument", name)
		}
		var key starlark.Callable
		if err := starlark.UnpackArgs(name, nil, kwargs, "key?", &key); err != nil {
			return nil, err
		}
		var operand starlark.Value = args
		if len(args) == 1 {
			operand = args[0]
		}
		operand, err := r.native(operand)
		if err != nil {
			return nil, err
		}
		it, ok := operand.(starlark.Iterable)
		if !ok {
			return nil, fmt.Errorf("%s: %s value is not iterable", name, operand.Type())
		}
		walk := it.Iterate()
		defer walk.Done()
		var best, bestKey, v starlark.Value
		for walk.Next(&v) {
			if err := r.charge(1, 0); err != nil {
				return nil, err
			}
			k := v
			if key != nil {
				if k, err = r.callBack(key, v); err != nil {
					return nil, err
				}
			}
			if best != nil {
				better, err := r.order(op, k, bestKey, 0)
				if err != nil {
					return nil, r.under(name, err)
				}
				if !better {
					continue
				}
			}
			best, bestKey = v, k
		}
		if best == nil {
			return nil, fmt.Errorf("%s: argument is an empty sequence", name)
		}
		return best, nil
	}
}
