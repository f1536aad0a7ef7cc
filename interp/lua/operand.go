package lua

import (
	"math"
	"strconv"

	lua "github.com/yuin/gopher-lua"
)

// Readers of operands. They return Lua's own words as errors. n counts from 1, and fn is the function's
// name without its module.

// textOperand reads text; a number counts as its text.
func textOperand(L *lua.LState, n int, fn string) (string, error) {
	switch v := L.Get(n).(type) {
	case lua.LString:
		return string(v), nil
	case lua.LNumber:
		return numberText(v), nil
	}
	return "", wrongType(L, n, fn, "string")
}

// numberOperand reads a number; text counts as the number that it spells.
func numberOperand(r *run, L *lua.LState, n int, fn string) (float64, error) {
	switch v := L.Get(n).(type) {
	case lua.LNumber:
		return float64(v), nil
	case lua.LString:
		f, ok, err := r.spelled(string(v))
		if err != nil {
			return 0, err
		}
		if ok {
			return f, nil
		}
	}
	return 0, wrongType(L, n, fn, "number")
}

// intOperand reads a number and cuts it to an integer; what is out of range is at the end of it.
func intOperand(r *run, L *lua.LState, n int, fn string) (int, error) {
	f, err := numberOperand(r, L, n, fn)
	return clampInt(f), err
}

// optInt is intOperand of an operand that may be nil or missing.
func optInt(r *run, L *lua.LState, n int, fn string, otherwise int) (int, error) {
	if L.Get(n) == lua.LNil {
		return otherwise, nil
	}
	return intOperand(r, L, n, fn)
}

// clampInt cuts a float to 30 bits, so that the sum and the difference of two fit an int of any machine.
func clampInt(f float64) int {
	const most = 1<<30 - 1
	switch {
	case f != f:
		return 0
	case f > most:
		return most
	case f < -most:
		return -most
	}
	return int(f)
}

// tableOperand reads a table that the script made; views are none.
func tableOperand(L *lua.LState, n int, fn string) (*lua.LTable, error) {
	if t, ok := L.Get(n).(*lua.LTable); ok {
		return t, nil
	}
	return nil, wrongType(L, n, fn, "table")
}

// functionOperand reads a function.
func functionOperand(L *lua.LState, n int, fn string) (*lua.LFunction, error) {
	if f, ok := L.Get(n).(*lua.LFunction); ok {
		return f, nil
	}
	return nil, wrongType(L, n, fn, "function")
}

func wrongType(L *lua.LState, n int, fn, want string) error {
	got := "no value"
	if n <= L.GetTop() {
		got = kindName(L.Get(n))
	}
	if text, ok := opaque(L.Get(n)); ok && want == "number" {
		got = text + ", which Lua can't hold exactly"
	}
	return badArgument(n, fn, want+" expected, got "+got)
}

// textLen is the length of an operand's text, for prices: 0 for what is no text.
func textLen(L *lua.LState, n int) int64 {
	if s, ok := L.Get(n).(lua.LString); ok {
		return int64(len(s))
	}
	return 0
}

// typeName is what type(v) says: views are tables, and numbers that a float can't hold are numbers.
func typeName(v lua.LValue) string {
	if u, ok := v.(*lua.LUserData); ok {
		switch u.Value.(type) {
		case object, array:
			return "table"
		case number:
			return "number"
		}
	}
	return v.Type().String()
}

// kindName is typeName for messages. It tells views from tables, so that none says "table expected, got
// table", and none speaks of userdata, which scripts don't make.
func kindName(v lua.LValue) string {
	if u, ok := v.(*lua.LUserData); ok {
		switch u.Value.(type) {
		case object, array:
			return "read-only view"
		case null:
			return "null"
		case *decision:
			return "decision"
		}
	}
	return typeName(v)
}

// numberText is the text of a number as tostring and .. give it: %.14g, as Lua 5.1 does, but for whole
// numbers below 1e21, which are written as JSON has them: no two ids become the same text.
func numberText(n lua.LNumber) string {
	f := float64(n)
	switch {
	case f != f:
		return "nan"
	case f > maxFloat:
		return "inf"
	case f < -maxFloat:
		return "-inf"
	case f == float64(int64(f)) && f < 1<<53 && f > -1<<53:
		return strconv.FormatInt(int64(f), 10)
	case f == math.Trunc(f) && f < 1e21 && f > -1e21:
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return shortFloat(f)
}
