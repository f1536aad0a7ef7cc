package lua

import (
	"errors"
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"agentd/builtins/meter"
)

// tableLibrary is what Lua 5.1 has for lists, less what it calls outdated. It works without
// metamethods, as there.
func tableLibrary() []*builtin {
	return []*builtin{
		newBuiltin("table.concat", steps(2), tableConcat),
		newBuiltin("table.insert", steps(2), tableInsert),
		newBuiltin("table.maxn", steps(2), tableMaxn),
		newBuiltin("table.remove", steps(2), tableRemove),
		newBuiltin("table.sort", steps(4), tableSort),
	}
}

const (
	itemFuel  = 1 // reading an item of a list
	shiftFuel = 2 // moving it to the next place
)

// tableConcat joins the items of a list, which may be a view.
func tableConcat(r *run, L *lua.LState) (int, error) {
	items, n, err := r.list(L, 1, "concat")
	if err != nil {
		return 0, err
	}
	sep := ""
	if L.Get(2) != lua.LNil {
		if sep, err = textOperand(L, 2, "concat"); err != nil {
			return 0, err
		}
	}
	i, err := optInt(r, L, 3, "concat", 1)
	if err != nil {
		return 0, err
	}
	j, err := optInt(r, L, 4, "concat", n)
	if err != nil {
		return 0, err
	}
	size := int64(0)
	for k := i; k <= j; k++ {
		if err := r.charge(2*itemFuel, 0); err != nil {
			return 0, err
		}
		v, err := items(k)
		if err != nil {
			return 0, err
		}
		switch v := v.(type) {
		case lua.LString:
			size += int64(len(v) + len(sep))
		case lua.LNumber:
			size += int64(numberBytes + len(sep))
		case *lua.LUserData:
			x, ok := v.Value.(number)
			if !ok {
				return 0, notJoined(v, k)
			}
			size += int64(x.v.TextLen() + len(sep))
		default:
			return 0, notJoined(v, k)
		}
	}
	if err := r.charge(size/scanPerFuel, headerBytes+size); err != nil {
		return 0, err
	}
	var b strings.Builder
	b.Grow(int(size))
	for k := i; k <= j; k++ {
		v, err := items(k)
		if err != nil {
			return 0, err
		}
		switch v := v.(type) {
		case lua.LString:
			b.WriteString(string(v))
		case lua.LNumber:
			b.WriteString(numberText(v))
		case *lua.LUserData:
			b.WriteString(v.Value.(number).v.Text())
		}
		if k < j {
			b.WriteString(sep)
		}
	}
	L.Push(lua.LString(b.String()))
	return 1, nil
}

func notJoined(v lua.LValue, k int) error {
	return fmt.Errorf("invalid value (%s) at index %d in table for 'concat'", kindName(v), k)
}

// numberBytes is the longest text of a number.
const numberBytes = 24

// tableInsert puts a value at the end of a list, or before an item.
func tableInsert(r *run, L *lua.LState) (int, error) {
	t, err := tableOperand(L, 1, "insert")
	if err != nil {
		return 0, err
	}
	end := r.length(t) + 1
	at, v := end, L.Get(2)
	switch L.GetTop() {
	case 2:
	case 3:
		if at, err = intOperand(r, L, 2, "insert"); err != nil {
			return 0, err
		}
		v = L.Get(3)
	default:
		return 0, errors.New("wrong number of arguments to 'insert'")
	}
	if err := r.charge(meter.Mul(int64(end)-int64(at), shiftFuel), 0); err != nil {
		return 0, err
	}
	for i := end; i > at; i-- {
		if err := r.shift(t, i, item(t, i-1)); err != nil {
			return 0, err
		}
	}
	return 0, r.put(t, lua.LNumber(at), v)
}

// shift puts an item into another place, which mostly holds one already.
func (r *run) shift(t *lua.LTable, i int, v lua.LValue) error {
	if i > 0 && i < maxArrayIndex && v != lua.LNil && item(t, i) != lua.LNil {
		if err := r.writable(t); err != nil {
			return err
		}
		t.RawSetInt(i, v)
		return nil
	}
	return r.put(t, lua.LNumber(i), v)
}

// tableRemove takes an item out of a list, the last one if none is named.
func tableRemove(r *run, L *lua.LState) (int, error) {
	t, err := tableOperand(L, 1, "remove")
	if err != nil {
		return 0, err
	}
	n := r.length(t)
	at, err := optInt(r, L, 2, "remove", n)
	if err != nil || at < 1 || at > n {
		return 0, err
	}
	if err := r.charge(int64(n-at)*shiftFuel, 0); err != nil {
		return 0, err
	}
	v := item(t, at)
	for i := at; i < n; i++ {
		if err := r.shift(t, i, item(t, i+1)); err != nil {
			return 0, err
		}
	}
	if _, err := r.pop(t, n); err != nil {
		return 0, err
	}
	L.Push(v)
	return 1, nil
}

// tableMaxn is the largest number among a table's keys, 0 if none is positive.
func tableMaxn(r *run, L *lua.LState) (int, error) {
	t, err := tableOperand(L, 1, "maxn")
	if err != nil {
		return 0, err
	}
	largest := lua.LNumber(0)
	k, _, err := r.next(t, lua.LNil)
	for ; err == nil && k != lua.LNil; k, _, err = r.next(t, k) {
		if n, ok := k.(lua.LNumber); ok && n > largest {
			largest = n
		}
		if err := r.charge(nextFuel, 0); err != nil {
			return 0, err
		}
	}
	L.Push(largest)
	return 1, err
}

// nextFuel is for going to the next entry of a table.
const nextFuel = 4

// list reads an operand that is a list, of the script or a view: its items by their place, without
// metamethods, and how many there are.
func (r *run) list(L *lua.LState, n int, fn string) (items func(i int) (lua.LValue, error), length int, err error) {
	switch v := L.Get(n).(type) {
	case *lua.LTable:
		return func(i int) (lua.LValue, error) { return item(v, i), nil }, r.length(v), nil
	case *lua.LUserData:
		switch x := v.Value.(type) {
		case array:
			return func(i int) (lua.LValue, error) { return r.member(v, lua.LNumber(i)) }, x.v.Len(), nil
		case object: // it has names only
			return func(int) (lua.LValue, error) { return lua.LNil, nil }, 0, nil
		}
	}
	return nil, 0, wrongType(L, n, fn, "table")
}
