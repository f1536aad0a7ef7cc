package lua

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

const maxFloat = math.MaxFloat64

// shortFloat is %.14g.
func shortFloat(f float64) string { return strconv.FormatFloat(f, 'g', 14, 64) }

// modOp is a % b. The remainder of numbers that are far apart takes a step for each power of two
// between them.
func modOp(r *run, L *lua.LState) (int, error) {
	return r.arith(L, "__mod", func(a, b float64) (float64, error) {
		const exact = 1 << 53
		if a > -exact && a < exact && b > -exact && b < exact && b != 0 && a == math.Trunc(a) && b == math.Trunc(b) {
			m := int64(a) % int64(b)
			if m != 0 && (m < 0) != (b < 0) {
				m += int64(b)
			}
			return float64(m), nil
		}
		if err := r.charge(64, 0); err != nil {
			return 0, err
		}
		_, ae := math.Frexp(a)
		_, be := math.Frexp(b)
		if n := int64(ae) - int64(be); n > 0 {
			if err := r.charge(n, 0); err != nil {
				return 0, err
			}
		}
		m := math.Mod(a, b)
		if b > 0 && m < 0 || b < 0 && m > 0 {
			m += b
		}
		return m, nil
	})
}

// powOp is a ^ b, for whole exponents and square roots: other powers differ from machine to machine.
func powOp(r *run, L *lua.LState) (int, error) {
	return r.arith(L, "__pow", func(a, b float64) (float64, error) {
		if err := r.charge(16, 0); err != nil {
			return 0, err
		}
		return power(a, b)
	})
}

var errPower = errors.New("only whole numbers up to 2^31 and 0.5 can be exponents: other powers differ from machine to machine")

// power multiplies one product at a time, so that no machine fuses two of them.
func power(a, b float64) (float64, error) {
	switch {
	case b == 0.5:
		return math.Sqrt(a), nil
	case b != math.Trunc(b) || math.Abs(b) > 1<<31:
		return 0, errPower
	}
	n := uint64(math.Abs(b))
	out, square := 1.0, a
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			out = float64(out * square)
		}
		square = float64(square * square)
	}
	if b < 0 {
		out = 1 / out
	}
	return out, nil
}

// arith is a binary operator on numbers, on text that spells them, and on what brings a metamethod.
func (r *run) arith(L *lua.LState, event string, do func(a, b float64) (float64, error)) (int, error) {
	a, b := L.Get(1), L.Get(2)
	if x, ok := a.(lua.LNumber); ok {
		if y, ok := b.(lua.LNumber); ok {
			out, err := do(float64(x), float64(y))
			L.Push(lua.LNumber(out))
			return 1, err
		}
	}
	for _, v := range []lua.LValue{a, b} {
		if t, ok := v.(*lua.LTable); ok {
			if f, ok := metamethod(L, t, event).(*lua.LFunction); ok {
				L.Push(call2(L, f, a, b))
				return 1, nil
			}
		}
	}
	x, err := r.toNumber(a)
	if err != nil {
		return 0, err
	}
	y, err := r.toNumber(b)
	if err != nil {
		return 0, err
	}
	out, err := do(x, y)
	L.Push(lua.LNumber(out))
	return 1, err
}

// toNumber is a number as arithmetic takes it.
func (r *run) toNumber(v lua.LValue) (float64, error) {
	switch v := v.(type) {
	case lua.LNumber:
		return float64(v), nil
	case lua.LString:
		f, ok, err := r.spelled(string(v))
		if ok || err != nil {
			return f, err
		}
	}
	if n, ok := opaque(v); ok {
		return 0, fmt.Errorf("attempt to calculate with the number %s, which Lua can't hold exactly", n)
	}
	return 0, cannot("perform arithmetic on", v)
}

// maxSpelled is the longest text that can be a number, blanks aside.
const maxSpelled = 400

// spelled reads the number that a text spells: decimal or hexadecimal, with blanks around it.
func (r *run) spelled(s string) (f float64, ok bool, err error) {
	if err := r.charge(2+int64(len(s))/scanPerFuel, 0); err != nil {
		return 0, false, err
	}
	s = strings.Trim(s, " \t\n\v\f\r")
	if s == "" || len(s) > maxSpelled {
		return 0, false, nil
	}
	digits := strings.TrimLeft(s[:1], "+-") + s[1:]
	if len(digits) > 2 && digits[0] == '0' && digits[1]|32 == 'x' {
		u, err := strconv.ParseUint(digits[2:], 16, 64)
		if err != nil || strings.Contains(digits, "_") {
			return 0, false, nil
		}
		if f = float64(u); s[0] == '-' {
			f = -f
		}
		return f, true, nil
	}
	for i := range len(digits) {
		if c := digits[i]; (c < '0' || c > '9') && c != '.' && c|32 != 'e' && c != '+' && c != '-' {
			return 0, false, nil
		}
	}
	f, perr := strconv.ParseFloat(s, 64)
	if perr != nil && !errors.Is(perr, strconv.ErrRange) {
		return 0, false, nil
	}
	return f, true, nil
}

// textArithmetic are the metamethods of text, by event: without them the interpreter itself would read
// numbers of any length.
func textArithmetic() map[string]work {
	simple := func(event string, do func(a, b float64) float64) work {
		return func(r *run, L *lua.LState) (int, error) {
			return r.arith(L, event, func(a, b float64) (float64, error) { return do(a, b), nil })
		}
	}
	return map[string]work{
		"__add": simple("__add", func(a, b float64) float64 { return a + b }),
		"__sub": simple("__sub", func(a, b float64) float64 { return a - b }),
		"__mul": simple("__mul", func(a, b float64) float64 { return a * b }),
		"__div": simple("__div", func(a, b float64) float64 { return a / b }),
		"__unm": func(r *run, L *lua.LState) (int, error) {
			f, err := r.toNumber(L.Get(1))
			L.Push(lua.LNumber(-f))
			return 1, err
		},
	}
}
