package starlark

import (
	"errors"
	"fmt"

	"go.starlark.net/starlark"
)

func listExtend(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var items starlark.Value
	if err := starlark.UnpackPositionalArgs("extend", args, kwargs, 1, &items); err != nil {
		return nil, err
	}
	ok, err := r.extend(recv.(*starlark.List), items, "extend")
	if err == nil && !ok {
		return nil, fmt.Errorf("extend: for parameter 1: got %s, want iterable", items.Type())
	}
	if err != nil && !r.meter.Spent() {
		err = fmt.Errorf("extend: %w", err)
	}
	return starlark.None, err
}

func listIndex(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var value starlark.Value
	var lo, hi starlark.Value = starlark.None, starlark.None
	if err := starlark.UnpackPositionalArgs("index", args, kwargs, 1, &value, &lo, &hi); err != nil {
		return nil, err
	}
	list := recv.(*starlark.List)
	from, to, _, err := sliceBounds(list.Len(), lo, hi, starlark.None)
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	i, err := r.find(list, value, from, to)
	if err != nil {
		return nil, err
	}
	if i < 0 {
		return nil, errors.New("index: value not in list")
	}
	return starlark.MakeInt(i), nil
}

// find returns the place of the first item from lo to hi that equals v, -1 if there is none.
func (r *run) find(l *starlark.List, v starlark.Value, lo, hi int) (int, error) {
	for i := lo; i < hi && i < l.Len(); i++ {
		if err := r.charge(1, 0); err != nil {
			return 0, err
		}
		if eq, err := r.equal(l.Index(i), v, 0); eq || err != nil {
			return i, err
		}
	}
	return -1, nil
}

func listRemove(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var value starlark.Value
	if err := starlark.UnpackPositionalArgs("remove", args, kwargs, 1, &value); err != nil {
		return nil, err
	}
	list := recv.(*starlark.List)
	if err := mutableList(list, "remove from"); err != nil {
		return nil, fmt.Errorf("remove: %w", err)
	}
	i, err := r.find(list, value, 0, list.Len())
	if err != nil {
		return nil, err
	}
	if i < 0 {
		return nil, errors.New("remove: element not found")
	}
	if _, err := listPop.call(r, recv, starlark.Tuple{starlark.MakeInt(i)}, nil); err != nil {
		return nil, err
	}
	return starlark.None, nil
}
