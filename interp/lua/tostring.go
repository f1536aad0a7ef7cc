package lua

import (
	"errors"

	lua "github.com/yuin/gopher-lua"
)

// text is what tostring says. It names no address: two tables read alike.
func (r *run) text(L *lua.LState, v lua.LValue) (string, error) {
	switch v := v.(type) {
	case lua.LString:
		return string(v), nil
	case lua.LNumber:
		return numberText(v), r.charge(numberFuel, numberBytes)
	case *lua.LNilType, lua.LBool:
		return v.String(), nil
	case *lua.LTable:
		if f, ok := metamethod(L, v, "__tostring").(*lua.LFunction); ok {
			return r.callText(L, f, v)
		}
	case *lua.LUserData:
		switch x := v.Value.(type) {
		case number:
			n := int64(x.v.TextLen())
			if err := r.charge(n/scanPerFuel, n); err != nil {
				return "", err
			}
			return x.v.Text(), nil
		case null:
			return "null", nil
		case *decision:
			return "decision", nil
		}
	}
	return typeName(v), nil
}

// numberFuel is for writing a number.
const numberFuel = 8

func (r *run) callText(L *lua.LState, f *lua.LFunction, v lua.LValue) (string, error) {
	if err := r.charge(callFuel, 0); err != nil {
		return "", err
	}
	L.Push(f)
	L.Push(v)
	L.Call(1, 1)
	out := L.Get(-1)
	L.Pop(1)
	if s, ok := out.(lua.LString); ok {
		return string(s), nil
	}
	return "", errors.New("'__tostring' must return a string")
}
