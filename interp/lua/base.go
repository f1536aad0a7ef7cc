package lua

import (
	"errors"
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"agentd/builtins/meter"
)

// baseLibrary is what Lua 5.1 has as globals, less what reaches files, compiles text, or looks behind
// functions and states. Views are read like tables.
func baseLibrary() []*builtin {
	return []*builtin{
		newBuiltin("assert", steps(1), baseAssert),
		newBuiltin("error", steps(errorFuel), baseError),
		newBuiltin("getmetatable", steps(1), baseGetmetatable),
		newBuiltin("ipairs", steps(1), baseIpairs),
		baseNext,
		newBuiltin("pairs", steps(1), basePairs),
		newBuiltin("pcall", steps(protectFuel), basePcall),
		newBuiltin("print", steps(2), basePrint),
		newBuiltin("rawequal", steps(1), baseRawequal),
		newBuiltin("rawget", steps(1), baseRawget),
		newBuiltin("rawset", steps(2), baseRawset),
		newBuiltin("select", valuesPrice, baseSelect),
		newBuiltin("setmetatable", steps(2), baseSetmetatable),
		newBuiltin("tonumber", steps(2), baseTonumber),
		newBuiltin("tostring", steps(1), baseTostring),
		newBuiltin("type", steps(0), baseType),
		newBuiltin("unpack", steps(2), baseUnpack),
		newBuiltin("xpcall", steps(protectFuel), baseXpcall),
	}
}

// valuesPrice is that of handing on each operand.
func valuesPrice(L *lua.LState) meter.Cost {
	return meter.Cost{Fuel: 1 + int64(L.GetTop())/copyPerFuel}
}

// anyOperand makes sure that there is an operand at all.
func anyOperand(L *lua.LState, n int, fn string) error {
	if n > L.GetTop() {
		return badArgument(n, fn, "value expected")
	}
	return nil
}

func baseType(_ *run, L *lua.LState) (int, error) {
	if err := anyOperand(L, 1, "type"); err != nil {
		return 0, err
	}
	L.Push(lua.LString(typeName(L.Get(1))))
	return 1, nil
}

func baseTostring(r *run, L *lua.LState) (int, error) {
	if err := anyOperand(L, 1, "tostring"); err != nil {
		return 0, err
	}
	s, err := r.text(L, L.Get(1))
	if err != nil {
		return 0, err
	}
	return r.pushText(L, s)
}

func baseAssert(r *run, L *lua.LState) (int, error) {
	if err := anyOperand(L, 1, "assert"); err != nil {
		return 0, err
	}
	if lua.LVAsBool(L.Get(1)) {
		return L.GetTop(), nil
	}
	message := "assertion failed!"
	if L.Get(2) != lua.LNil {
		var err error
		if message, err = textOperand(L, 2, "assert"); err != nil {
			return 0, err
		}
	}
	if err := r.payMessage(message); err != nil {
		return 0, err
	}
	return 0, errors.New(message)
}

// payMessage pays for the copies that raising an error with a text makes.
func (r *run) payMessage(s string) error {
	return r.charge(errorFuel+int64(len(s))/scanPerFuel, 2*int64(len(s)))
}

func baseError(r *run, L *lua.LState) (int, error) {
	level, err := optInt(r, L, 2, "error", 1)
	if err != nil {
		return 0, err
	}
	v := L.Get(1)
	if s, ok := v.(lua.LString); ok {
		if err := r.payMessage(string(s)); err != nil {
			return 0, err
		}
	}
	return 0, &thrown{v, min(max(level, 0), maxCalls)}
}

func baseSelect(r *run, L *lua.LState) (int, error) {
	given := L.GetTop() - 1
	if L.Get(1) == lua.LString("#") {
		L.Push(lua.LNumber(given))
		return 1, nil
	}
	n, err := intOperand(r, L, 1, "select")
	if err != nil {
		return 0, err
	}
	if n < 0 {
		n = given + n + 1
	}
	if n < 1 {
		return 0, badArgument(1, "select", "index out of range")
	}
	return max(given-n+1, 0), nil
}

// baseUnpack gives the items of a list, which may be a view, as values.
func baseUnpack(r *run, L *lua.LState) (int, error) {
	items, length, err := r.list(L, 1, "unpack")
	if err != nil {
		return 0, err
	}
	i, err := optInt(r, L, 2, "unpack", 1)
	if err != nil {
		return 0, err
	}
	j, err := optInt(r, L, 3, "unpack", length)
	if err != nil || i > j {
		return 0, err
	}
	n := int64(j) - int64(i) + 1
	if n > maxValues {
		return 0, fmt.Errorf("too many results to unpack: %d, at most %d are allowed", n, maxValues)
	}
	if err := r.charge(n/copyPerFuel, n*slotBytes); err != nil {
		return 0, err
	}
	for k := i; k <= j; k++ {
		v, err := items(k)
		if err != nil {
			return 0, err
		}
		L.Push(v)
	}
	return int(n), nil
}

// baseTonumber reads text as a number, of any base from 2 to 36 if one is given.
func baseTonumber(r *run, L *lua.LState) (int, error) {
	if err := anyOperand(L, 1, "tonumber"); err != nil {
		return 0, err
	}
	base, err := optInt(r, L, 2, "tonumber", 10)
	if err != nil {
		return 0, err
	}
	if base < 2 || base > 36 {
		return 0, badArgument(2, "tonumber", "base out of range")
	}
	var f float64
	var ok bool
	switch v := L.Get(1).(type) {
	case lua.LNumber:
		f, ok = float64(v), true
		if base != 10 {
			f, ok, err = r.digits(numberText(v), base)
		}
	case lua.LString:
		if base == 10 {
			f, ok, err = r.spelled(string(v))
		} else {
			f, ok, err = r.digits(string(v), base)
		}
	case *lua.LUserData:
		if _, number := v.Value.(number); number && base == 10 {
			L.Push(v)
			return 1, nil
		}
	}
	if err != nil {
		return 0, err
	}
	if !ok {
		return pushNil(L), nil
	}
	L.Push(lua.LNumber(f))
	return 1, nil
}

// digits reads a whole number of a base, with blanks around it.
func (r *run) digits(s string, base int) (f float64, ok bool, err error) {
	if err := r.charge(2+int64(len(s))/scanPerFuel, 0); err != nil {
		return 0, false, err
	}
	s = strings.Trim(s, " \t\n\v\f\r")
	minus := strings.HasPrefix(s, "-")
	if minus || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	if base == 16 && len(s) > 2 && s[0] == '0' && s[1]|0x20 == 'x' {
		s = s[2:]
	}
	if s == "" || len(s) > maxSpelled {
		return 0, false, nil
	}
	if err := r.charge(int64(len(s))/4, 0); err != nil {
		return 0, false, err
	}
	for _, c := range []byte(s) {
		d := digitValue(c)
		if d >= base {
			return 0, false, nil
		}
		f = float64(f*float64(base)) + float64(d) // rounded twice, on every machine
	}
	if minus {
		f = -f
	}
	return f, true, nil
}

// digitValue is what a digit stands for, 36 if it is none.
func digitValue(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'z':
		return int(c|0x20-'a') + 10
	}
	return 36
}

func baseRawequal(r *run, L *lua.LState) (int, error) {
	for n := 1; n <= 2; n++ {
		if err := anyOperand(L, n, "rawequal"); err != nil {
			return 0, err
		}
	}
	a, b := L.Get(1), L.Get(2)
	if a.Type() == lua.LTTable {
		L.Push(lua.LBool(a == b))
		return 1, nil
	}
	same, err := r.equal(L, a, b)
	L.Push(lua.LBool(same))
	return 1, err
}

func baseRawget(r *run, L *lua.LState) (int, error) {
	if u, ok := L.Get(1).(*lua.LUserData); ok && viewLen(u) >= 0 {
		v, err := r.member(u, L.Get(2))
		L.Push(v)
		return 1, err
	}
	t, err := tableOperand(L, 1, "rawget")
	if err != nil {
		return 0, err
	}
	v, err := r.get(t, L.Get(2))
	L.Push(v)
	return 1, err
}

func baseRawset(r *run, L *lua.LState) (int, error) {
	t, err := tableOperand(L, 1, "rawset")
	if err != nil {
		return 0, err
	}
	if err := anyOperand(L, 3, "rawset"); err != nil {
		return 0, err
	}
	if err := r.put(t, L.Get(2), L.Get(3)); err != nil {
		return 0, err
	}
	L.Push(t)
	return 1, nil
}

func baseGetmetatable(_ *run, L *lua.LState) (int, error) {
	if err := anyOperand(L, 1, "getmetatable"); err != nil {
		return 0, err
	}
	v := L.Get(1)
	if shown := metamethod(L, v, "__metatable"); shown != lua.LNil {
		L.Push(shown)
		return 1, nil
	}
	t, ok := v.(*lua.LTable)
	if !ok { // what isn't the script's own has a locked one, or none
		return pushNil(L), nil
	}
	L.Push(t.Metatable)
	return 1, nil
}

func baseSetmetatable(r *run, L *lua.LState) (int, error) {
	t, err := tableOperand(L, 1, "setmetatable")
	if err != nil {
		return 0, err
	}
	meta := L.Get(2)
	if _, ok := meta.(*lua.LTable); !ok && (meta != lua.LNil || L.GetTop() < 2) {
		return 0, badArgument(2, "setmetatable", "nil or table expected")
	}
	if err := r.writable(t); err != nil {
		return 0, err
	}
	if metamethod(L, t, "__metatable") != lua.LNil {
		return 0, errors.New("cannot change a protected metatable")
	}
	t.Metatable = meta
	L.SetTop(1)
	return 1, nil
}

// basePrint shows values to the script's author, in the trace.
func basePrint(r *run, L *lua.LState) (int, error) {
	line := paid{r: r}
	for i := 1; i <= L.GetTop(); i++ {
		s, err := r.text(L, L.Get(i))
		if err != nil {
			return 0, err
		}
		if i > 1 {
			s = "\t" + s
		}
		if err := line.write(s); err != nil {
			return 0, err
		}
	}
	r.print.Line(line.String())
	return 0, nil
}
