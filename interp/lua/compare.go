package lua

import (
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// equalOp is a == b.
func equalOp(r *run, L *lua.LState) (int, error) {
	eq, err := r.equal(L, L.Get(1), L.Get(2))
	L.Push(lua.LBool(eq))
	return 1, err
}

func (r *run) equal(L *lua.LState, a, b lua.LValue) (bool, error) {
	switch a := a.(type) {
	case lua.LString:
		b, ok := b.(lua.LString)
		if !ok || len(a) != len(b) {
			return false, nil
		}
		return a == b, r.charge(int64(len(a))/blockPerFuel, 0)
	case *lua.LUserData:
		if b, ok := b.(*lua.LUserData); ok {
			return r.sameHandle(a, b)
		}
		return false, nil
	case *lua.LTable:
		return L.Equal(a, b), nil
	}
	return L.RawEqual(a, b), nil
}

// compareOp is one of the four comparisons by order. Swapped ones look for the metamethod of the
// mirrored comparison.
func compareOp(holds func(int) bool, swapped bool, event string) work {
	return func(r *run, L *lua.LState) (int, error) {
		a, b := L.Get(1), L.Get(2)
		switch x := a.(type) {
		case lua.LNumber:
			if y, ok := b.(lua.LNumber); ok {
				L.Push(lua.LBool(numbersHold(holds, float64(x), float64(y))))
				return 1, nil
			}
		case lua.LString:
			if y, ok := b.(lua.LString); ok {
				if err := r.charge(int64(min(len(x), len(y)))/blockPerFuel, 0); err != nil {
					return 0, err
				}
				L.Push(lua.LBool(holds(strings.Compare(string(x), string(y)))))
				return 1, nil
			}
		case *lua.LTable:
			if y, ok := b.(*lua.LTable); ok {
				return compareTables(L, x, y, swapped, event)
			}
		}
		return 0, cannotCompare(a, b)
	}
}

// numbersHold compares numbers; nothing holds of NaN.
func numbersHold(holds func(int) bool, x, y float64) bool {
	switch {
	case x < y:
		return holds(-1)
	case x > y:
		return holds(1)
	case x == y:
		return holds(0)
	}
	return false
}

func compareTables(L *lua.LState, a, b *lua.LTable, swapped bool, event string) (int, error) {
	if swapped {
		a, b = b, a
	}
	if f, ok := binaryMeta(L, a, b, event); ok {
		L.Push(lua.LBool(lua.LVAsBool(call2(L, f, a, b))))
		return 1, nil
	}
	if event == "__le" {
		if f, ok := binaryMeta(L, b, a, "__lt"); ok {
			L.Push(lua.LBool(!lua.LVAsBool(call2(L, f, b, a))))
			return 1, nil
		}
	}
	return 0, cannotCompare(a, b)
}

func cannotCompare(a, b lua.LValue) error {
	x, y := kindName(a), kindName(b)
	if n, ok := opaque(a, b); ok {
		return fmt.Errorf("attempt to compare the number %s, which Lua can't hold exactly", n)
	}
	if x == y {
		return fmt.Errorf("attempt to compare two %s values", x)
	}
	return fmt.Errorf("attempt to compare %s with %s", x, y)
}
