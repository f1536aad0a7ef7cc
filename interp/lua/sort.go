package lua

import (
	lua "github.com/yuin/gopher-lua"

	"agentd/interp"
)

// tableSort is table.sort(list, before). It is stable, and ends whatever before says: a function that
// contradicts itself gives an order that is the same each time. While it sorts, the list is as it was.
func tableSort(r *run, L *lua.LState) (int, error) {
	t, err := tableOperand(L, 1, "sort")
	if err != nil {
		return 0, err
	}
	var before *lua.LFunction
	if L.Get(2) != lua.LNil {
		if before, err = functionOperand(L, 2, "sort"); err != nil {
			return 0, err
		}
	}
	if err := r.writable(t); err != nil {
		return 0, err
	}
	n := r.length(t)
	if n < 2 {
		return 0, nil
	}
	if err := r.charge(int64(n)*sortFuel, 2*slotBytes*int64(n)); err != nil {
		return 0, err
	}
	items, spare := make([]lua.LValue, n), make([]lua.LValue, n)
	for i := range items {
		items[i] = item(t, i+1)
	}
	items, err = interp.Sort(items, spare, func(a, b lua.LValue) (bool, error) {
		if err := r.charge(mergeFuel, 0); err != nil {
			return false, err
		}
		return r.less(L, before, a, b)
	})
	if err != nil {
		return 0, err
	}
	for i, v := range items {
		if err := r.put(t, lua.LNumber(i+1), v); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

const (
	sortFuel  = 6 // reading an item, and writing it back
	mergeFuel = 1 // choosing between two
)

// less asks the function, or compares as < does.
func (r *run) less(L *lua.LState, before *lua.LFunction, a, b lua.LValue) (bool, error) {
	if before != nil {
		if err := r.charge(callFuel, 0); err != nil {
			return false, err
		}
		return lua.LVAsBool(call2(L, before, a, b)), nil
	}
	switch x := a.(type) {
	case lua.LNumber:
		if y, ok := b.(lua.LNumber); ok {
			return x < y, nil
		}
	case lua.LString:
		if y, ok := b.(lua.LString); ok {
			if err := r.charge(int64(min(len(x), len(y)))/blockPerFuel, 0); err != nil {
				return false, err
			}
			return x < y, nil
		}
	case *lua.LTable:
		if y, ok := b.(*lua.LTable); ok {
			if f, ok := binaryMeta(L, x, y, "__lt"); ok {
				return lua.LVAsBool(call2(L, f, a, b)), nil
			}
		}
	}
	return false, cannotCompare(a, b)
}
