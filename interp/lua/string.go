package lua

import (
	"errors"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"agentd/builtins/meter"
)

// stringLibrary is all of Lua 5.1 but dump, which would hand out code. Texts are bytes: what is a
// letter is said by ASCII.
func stringLibrary() []*builtin {
	return []*builtin{
		newBuiltin("string.byte", steps(1), stringByte),
		newBuiltin("string.char", charPrice, stringChar),
		newBuiltin("string.find", steps(2), stringFind),
		newBuiltin("string.format", steps(2), stringFormat),
		newBuiltin("string.gmatch", steps(2), stringGmatch),
		newBuiltin("string.gsub", steps(2), stringGsub),
		newBuiltin("string.len", steps(0), stringLen),
		newBuiltin("string.lower", copyPrice, mapped("lower", lowerByte)),
		newBuiltin("string.match", steps(2), stringMatch),
		newBuiltin("string.rep", repPrice, stringRep),
		newBuiltin("string.reverse", copyPrice, stringReverse),
		newBuiltin("string.sub", steps(1), stringSub),
		newBuiltin("string.upper", copyPrice, mapped("upper", upperByte)),
	}
}

// copyPrice is that of walking a text byte by byte and making one of the same length.
func copyPrice(L *lua.LState) meter.Cost {
	n := textLen(L, 1)
	return meter.Cost{Fuel: 1 + n/bytesPerFuel, Bytes: headerBytes + n}
}

// bytesPerFuel is how many bytes of text are worked on one by one for one unit of fuel.
const bytesPerFuel = 12

// positions turns i and j of sub and byte into a part of n bytes, as slices have it.
func positions(i, j, n int) (from, to int) {
	if i < 0 {
		i = max(n+i+1, 1)
	}
	if j < 0 {
		j = n + j + 1
	}
	from, to = max(i, 1)-1, min(j, n)
	if from >= to {
		return 0, 0
	}
	return from, to
}

func stringLen(_ *run, L *lua.LState) (int, error) {
	s, err := textOperand(L, 1, "len")
	if err != nil {
		return 0, err
	}
	L.Push(lua.LNumber(len(s)))
	return 1, nil
}

func stringSub(r *run, L *lua.LState) (int, error) {
	s, err := textOperand(L, 1, "sub")
	if err != nil {
		return 0, err
	}
	i, err := intOperand(r, L, 2, "sub")
	if err != nil {
		return 0, err
	}
	j, err := optInt(r, L, 3, "sub", -1)
	if err != nil {
		return 0, err
	}
	from, to := positions(i, j, len(s))
	return r.pushText(L, s[from:to])
}

// pushText returns a text that is there already.
func (r *run) pushText(L *lua.LState, s string) (int, error) {
	if err := r.charge(0, headerBytes); err != nil {
		return 0, err
	}
	L.Push(lua.LString(s))
	return 1, nil
}

func stringByte(r *run, L *lua.LState) (int, error) {
	s, err := textOperand(L, 1, "byte")
	if err != nil {
		return 0, err
	}
	i, err := optInt(r, L, 2, "byte", 1)
	if err != nil {
		return 0, err
	}
	j, err := optInt(r, L, 3, "byte", i)
	if err != nil {
		return 0, err
	}
	from, to := positions(i, j, len(s))
	n := to - from
	if n > maxValues {
		return 0, errors.New("string slice too long")
	}
	if err := r.charge(int64(n)/copyPerFuel, int64(n)*slotBytes); err != nil {
		return 0, err
	}
	for _, c := range []byte(s[from:to]) {
		L.Push(lua.LNumber(c))
	}
	return n, nil
}

func charPrice(L *lua.LState) meter.Cost {
	n := int64(L.GetTop())
	return meter.Cost{Fuel: 1 + n, Bytes: headerBytes + 2*n}
}

func stringChar(r *run, L *lua.LState) (int, error) {
	b := make([]byte, L.GetTop())
	for i := range b {
		n, err := numberOperand(r, L, i+1, "char")
		if err != nil {
			return 0, err
		}
		c := clampInt(n)
		if c < 0 || c > 255 || n != n {
			return 0, badArgument(i+1, "char", "invalid value")
		}
		b[i] = byte(c)
	}
	L.Push(lua.LString(b))
	return 1, nil
}

func repPrice(L *lua.LState) meter.Cost {
	n, _ := L.Get(2).(lua.LNumber)
	made := meter.Mul(textLen(L, 1), int64(clampInt(float64(n))))
	return meter.Cost{Fuel: 2 + made/scanPerFuel, Bytes: headerBytes + made}
}

func stringRep(r *run, L *lua.LState) (int, error) {
	s, err := textOperand(L, 1, "rep")
	if err != nil {
		return 0, err
	}
	n, err := intOperand(r, L, 2, "rep")
	if err != nil {
		return 0, err
	}
	if _, text := L.Get(1).(lua.LString); !text || L.Get(2).Type() != lua.LTNumber { // not seen by the price
		made := meter.Mul(int64(len(s)), int64(n))
		if err := r.charge(made/scanPerFuel, made); err != nil {
			return 0, err
		}
	}
	if s == "" {
		n = 0
	}
	L.Push(lua.LString(strings.Repeat(s, max(n, 0))))
	return 1, nil
}

func stringReverse(_ *run, L *lua.LState) (int, error) {
	s, err := textOperand(L, 1, "reverse")
	if err != nil {
		return 0, err
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := len(s) - 1; i >= 0; i-- {
		b.WriteByte(s[i])
	}
	L.Push(lua.LString(b.String()))
	return 1, nil
}

// mapped makes a function that replaces each byte of a text.
func mapped(name string, replace func(byte) byte) work {
	var table [256]byte
	for c := range table {
		table[c] = replace(byte(c))
	}
	return func(_ *run, L *lua.LState) (int, error) {
		s, err := textOperand(L, 1, name)
		if err != nil {
			return 0, err
		}
		var b strings.Builder
		b.Grow(len(s))
		var piece [256]byte
		for s != "" {
			n := min(len(s), len(piece))
			for i, c := range []byte(s[:n]) {
				piece[i] = table[c]
			}
			b.Write(piece[:n])
			s = s[n:]
		}
		L.Push(lua.LString(b.String()))
		return 1, nil
	}
}

func lowerByte(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}

func upperByte(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - ('a' - 'A')
	}
	return c
}
