package lua

import (
	"errors"

	lua "github.com/yuin/gopher-lua"
)

// outlived refuses to go on with an iterator that was made while the file loaded: it remembers how far
// it is, and no call may leave that behind.
func (r *run) outlived(loading bool) error {
	if loading && r.loading == nil {
		return errors.New("this iterator was made while the file was loaded, and can't be changed by a call")
	}
	return nil
}

var baseNext = newBuiltin("next", steps(nextFuel), nextEntry)

// nextEntry is next(table, key): the entry after a key, in the order in which they came, list items
// first.
func nextEntry(r *run, L *lua.LState) (int, error) {
	if u, ok := L.Get(1).(*lua.LUserData); ok {
		return r.nextMember(L, u)
	}
	t, err := tableOperand(L, 1, "next")
	if err != nil {
		return 0, err
	}
	k, v, err := r.next(t, L.Get(2))
	if err != nil {
		return 0, err
	}
	L.Push(k)
	if k == lua.LNil {
		return 1, nil
	}
	L.Push(v)
	return 2, nil
}

// nextMember is next of a view. It looks for the name that it was given: pairs doesn't.
func (r *run) nextMember(L *lua.LState, u *lua.LUserData) (int, error) {
	key, at := L.Get(2), 0
	switch v := u.Value.(type) {
	case array:
		if n, ok := key.(lua.LNumber); ok {
			at = clampInt(float64(n))
		}
		if at < 0 || at >= v.v.Len() {
			return pushNil(L), nil
		}
		item, err := r.show(v.v.At(at))
		if err != nil {
			return 0, err
		}
		L.Push(lua.LNumber(at + 1))
		L.Push(item)
		return 2, nil
	case object:
		if name, ok := key.(lua.LString); ok {
			for at < v.v.Len() && v.v.Key(at) != string(name) {
				if err := r.charge(1, 0); err != nil {
					return 0, err
				}
				at++
			}
			at++
		}
		if at >= v.v.Len() {
			return pushNil(L), nil
		}
		name, err := r.showKey(v.v, at)
		if err != nil {
			return 0, err
		}
		item, err := r.show(v.v.At(at))
		if err != nil {
			return 0, err
		}
		L.Push(name)
		L.Push(item)
		return 2, nil
	}
	return 0, wrongType(L, 1, "next", "table")
}

func basePairs(r *run, L *lua.LState) (int, error) {
	if u, ok := L.Get(1).(*lua.LUserData); ok {
		return r.viewPairs(L, u)
	}
	t, err := tableOperand(L, 1, "pairs")
	if err != nil {
		return 0, err
	}
	L.Push(baseNext.value)
	L.Push(t)
	L.Push(lua.LNil)
	return 3, nil
}

// ipairsNext is the function that ipairs gives to a loop.
var ipairsNext = newBuiltin("ipairs", steps(2), func(r *run, L *lua.LState) (int, error) {
	items, _, err := r.list(L, 1, "ipairs")
	if err != nil {
		return 0, err
	}
	i, err := intOperand(r, L, 2, "ipairs")
	if err != nil {
		return 0, err
	}
	v, err := items(i + 1)
	if err != nil {
		return 0, err
	}
	if v == lua.LNil {
		return pushNil(L), nil
	}
	L.Push(lua.LNumber(i + 1))
	L.Push(v)
	return 2, nil
})

func baseIpairs(_ *run, L *lua.LState) (int, error) {
	if u, ok := L.Get(1).(*lua.LUserData); !ok || viewLen(u) < 0 {
		if _, err := tableOperand(L, 1, "ipairs"); err != nil {
			return 0, err
		}
	}
	L.Push(ipairsNext.value)
	L.Push(L.Get(1))
	L.Push(lua.LNumber(0))
	return 3, nil
}
