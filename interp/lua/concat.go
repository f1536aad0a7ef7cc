package lua

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// concat is a .. b .. c.
func concat(r *run, L *lua.LState) (int, error) {
	n := L.GetTop()
	size := 0
	for i := 1; i <= n; i++ {
		switch v := L.Get(i).(type) {
		case lua.LString:
			size += len(v)
		case lua.LNumber:
			size += 24
		case *lua.LUserData:
			x, ok := v.Value.(number)
			if !ok {
				return r.concatMeta(L, n)
			}
			size += x.v.TextLen()
		default:
			return r.concatMeta(L, n)
		}
	}
	if err := r.charge(int64(size)/scanPerFuel, headerBytes+int64(size)); err != nil {
		return 0, err
	}
	var b strings.Builder
	b.Grow(size)
	for i := 1; i <= n; i++ {
		switch v := L.Get(i).(type) {
		case lua.LString:
			b.WriteString(string(v))
		case lua.LNumber:
			b.WriteString(numberText(v))
		case *lua.LUserData:
			b.WriteString(v.Value.(number).v.Text())
		}
	}
	L.Push(lua.LString(b.String()))
	return 1, nil
}

// concatMeta joins from the right, as the language says, where an operand may have a metamethod.
func (r *run) concatMeta(L *lua.LState, n int) (int, error) {
	right := L.Get(n)
	for i := n - 1; i >= 1; i-- {
		left := L.Get(i)
		l, lok := plainText(left)
		s, rok := plainText(right)
		if lok && rok {
			size := int64(len(l) + len(s))
			if err := r.charge(1+size/scanPerFuel, headerBytes+size); err != nil {
				return 0, err
			}
			right = lua.LString(l + s)
			continue
		}
		f, ok := binaryMeta(L, left, right, "__concat")
		if !ok {
			if lok {
				left = right
			}
			return 0, cannot("concatenate", left)
		}
		right = call2(L, f, left, right)
	}
	L.Push(right)
	return 1, nil
}

func plainText(v lua.LValue) (string, bool) {
	switch v := v.(type) {
	case lua.LString:
		return string(v), true
	case lua.LNumber:
		return numberText(v), true
	case *lua.LUserData:
		if x, ok := v.Value.(number); ok {
			return x.v.Text(), true
		}
	}
	return "", false
}
