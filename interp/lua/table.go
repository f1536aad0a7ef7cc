package lua

import (
	"errors"
	"fmt"
	"math"

	lua "github.com/yuin/gopher-lua"
)

// Tables are the interpreter's own, and scripts read them with its own instructions. Whatever makes
// them larger, and whatever looks at more than one of their entries, goes through here.
//
// A table's list part and its list of keys keep the places of what was deleted, and the interpreter
// walks over them. The run counts these places, so that such walks are paid for.

// holes counts deleted places, by table; most tables have none.
type holes map[*lua.LTable]int64

func (r *run) addHoles(t *lua.LTable, n int64) {
	if r.holes == nil {
		r.holes = holes{}
	}
	r.holes[t] += n
}

// length is the number of items of a list: n such that t[n] is there and t[n+1] isn't.
func (r *run) length(t *lua.LTable) int {
	if r.holes[t] == 0 {
		if n := t.Len(); n < maxArrayIndex-1 {
			return n
		}
	}
	low, high := 0, 1
	for item(t, high) != lua.LNil {
		low, high = high, 2*high
	}
	for high-low > 1 {
		mid := low + (high-low)/2
		if item(t, mid) != lua.LNil {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// item is t[i] without metamethods.
func item(t *lua.LTable, i int) lua.LValue {
	if i < maxArrayIndex {
		return t.RawGetInt(i)
	}
	return t.RawGet(lua.LNumber(i))
}

// next is the entry after key, nil at the end. The key must be one of the table's, or nil.
func (r *run) next(t *lua.LTable, key lua.LValue) (k, v lua.LValue, err error) {
	if err := r.payKey(key); err != nil {
		return nil, nil, err
	}
	if n := r.holes[t]; n > 0 {
		if err := r.charge(n/8, 0); err != nil {
			return nil, nil, err
		}
	}
	k, v = t.Next(key)
	return k, v, nil
}

// payKey pays for hashing a key. A number that Lua can't hold is none: each time it is read it would
// be another key, and what was put in would never be found.
func (r *run) payKey(k lua.LValue) error {
	switch k := k.(type) {
	case lua.LString:
		if len(k) > cheapText {
			return r.charge(int64(len(k))/blockPerFuel, 0)
		}
	case *lua.LUserData:
		if n, ok := opaque(k); ok {
			return fmt.Errorf("the number %s, which Lua can't hold exactly, can't be a key; tostring gives one", n)
		}
	}
	return nil
}

// get is t[k] without metamethods.
func (r *run) get(t *lua.LTable, k lua.LValue) (lua.LValue, error) {
	if err := r.payKey(k); err != nil {
		return nil, err
	}
	return t.RawGet(k), nil
}

// put is t[k] = v without metamethods.
func (r *run) put(t *lua.LTable, k, v lua.LValue) error {
	if err := r.writable(t); err != nil {
		return err
	}
	old, err := r.get(t, k)
	if err != nil {
		return err
	}
	return r.replace(t, k, old, v)
}

var (
	errNilKey = errors.New("table index is nil")
	errNaNKey = errors.New("table index is NaN")
)

// replace is put, of a table that may be written and whose entry is known.
func (r *run) replace(t *lua.LTable, k, old, v lua.LValue) error {
	switch {
	case old != lua.LNil && v == lua.LNil:
		r.addHoles(t, 1)
	case old != lua.LNil:
	case v == lua.LNil:
		return nil
	default:
		if err := r.payEntry(t, k); err != nil {
			return err
		}
	}
	t.RawSet(k, v)
	return nil
}

// payEntry pays for a new entry.
func (r *run) payEntry(t *lua.LTable, k lua.LValue) error {
	switch k := k.(type) {
	case *lua.LNilType:
		return errNilKey
	case lua.LNumber:
		f := float64(k)
		if f != f {
			return errNaNKey
		}
		if f >= 1 && f < maxArrayIndex && f == math.Trunc(f) {
			i := int(f)
			if i == 1 || t.RawGetInt(i-1) != lua.LNil {
				return r.charge(1, 2*slotBytes)
			}
			// The list is filled up to it.
			r.addHoles(t, int64(i))
			return r.charge(int64(i)/fillPerFuel, 2*slotBytes*int64(i))
		}
	}
	return r.charge(12, entryBytes)
}

// pop takes the last of n items off a list.
func (r *run) pop(t *lua.LTable, n int) (lua.LValue, error) {
	if err := r.writable(t); err != nil {
		return nil, err
	}
	v := item(t, n)
	if r.holes[t] == 0 && n < maxArrayIndex-1 && v != lua.LNil {
		return t.Remove(n), nil
	}
	return v, r.replace(t, lua.LNumber(n), v, lua.LNil)
}

// newList makes a list of values, none of them nil.
func (r *run) newList(items []lua.LValue) (*lua.LTable, error) {
	n := int64(len(items))
	over := max(n-maxArrayIndex, 0)
	if err := r.charge(2+n/copyPerFuel, tableBytes+2*slotBytes*n+entryBytes*over); err != nil {
		return nil, err
	}
	t := r.state.CreateTable(len(items), 1)
	for i, v := range items {
		t.RawSetInt(i+1, v)
	}
	return t, nil
}

// compact makes a table again without the places of what was deleted.
func (r *run) compact(t *lua.LTable) error {
	if r.holes[t] == 0 {
		return nil
	}
	if err := r.charge(r.holes[t], 0); err != nil {
		return err
	}
	fresh := r.state.CreateTable(0, 1)
	fresh.Metatable = t.Metatable
	for k, v := t.Next(lua.LNil); k != lua.LNil; k, v = t.Next(k) {
		if err := r.charge(4, entryBytes); err != nil {
			return err
		}
		fresh.RawSet(k, v)
	}
	*t = *fresh
	delete(r.holes, t)
	return nil
}

// metamethod is the value of an event in a value's metatable, nil if there is none.
func metamethod(L *lua.LState, v lua.LValue, event string) lua.LValue {
	var mt lua.LValue = lua.LNil
	switch v := v.(type) {
	case *lua.LTable:
		mt = v.Metatable
	case *lua.LUserData:
		mt = v.Metatable
	case lua.LString:
		mt = L.GetMetatable(v)
	}
	if t, ok := mt.(*lua.LTable); ok {
		return t.RawGetString(event)
	}
	return lua.LNil
}

func cannot(verb string, v lua.LValue) error {
	return fmt.Errorf("attempt to %s a %s value", verb, kindName(v))
}
