package lua

import (
	"math"

	lua "github.com/yuin/gopher-lua"

	"agentd/builtins/meter"
)

// mathLibrary is what gives the same bits on each machine: operations that are exact, or rounded once.
// The others (sin, exp, log, pow and so on) are left out, since their last bits differ, in Go too, where
// some machines have instructions of their own for them, or multiply and add in one step.
func mathLibrary() []*builtin {
	return []*builtin{
		number1("abs", math.Abs),
		number1("ceil", math.Ceil),
		newBuiltin("math.deg", steps(1), scaled("deg", 180, math.Pi)),
		number1("floor", math.Floor),
		newBuiltin("math.fmod", fmodPrice, mathFmod),
		newBuiltin("math.frexp", steps(1), mathFrexp),
		newBuiltin("math.ldexp", steps(1), mathLdexp),
		newBuiltin("math.max", operandsPrice, extreme("max", func(a, b float64) bool { return a > b })),
		newBuiltin("math.min", operandsPrice, extreme("min", func(a, b float64) bool { return a < b })),
		newBuiltin("math.modf", steps(1), mathModf),
		newBuiltin("math.rad", steps(1), scaled("rad", math.Pi, 180)),
		number1("sqrt", math.Sqrt),
	}
}

// mathValues stand beside the functions.
var mathValues = map[string]lua.LValue{"math.huge": lua.LNumber(math.Inf(1)), "math.pi": lua.LNumber(math.Pi)}

// number1 is a function of one number.
func number1(name string, f func(float64) float64) *builtin {
	return newBuiltin("math."+name, steps(1), func(r *run, L *lua.LState) (int, error) {
		x, err := numberOperand(r, L, 1, name)
		if err != nil {
			return 0, err
		}
		L.Push(lua.LNumber(f(x)))
		return 1, nil
	})
}

// scaled multiplies and divides, with each of the two rounded.
func scaled(name string, by, over float64) work {
	return func(r *run, L *lua.LState) (int, error) {
		x, err := numberOperand(r, L, 1, name)
		if err != nil {
			return 0, err
		}
		L.Push(lua.LNumber(float64(x*by) / over))
		return 1, nil
	}
}

func numbers2(r *run, L *lua.LState, fn string) (x, y float64, err error) {
	if x, err = numberOperand(r, L, 1, fn); err != nil {
		return 0, 0, err
	}
	y, err = numberOperand(r, L, 2, fn)
	return x, y, err
}

// fmodPrice: the remainder is made a bit at a time.
func fmodPrice(L *lua.LState) meter.Cost {
	x, _ := L.Get(1).(lua.LNumber)
	y, _ := L.Get(2).(lua.LNumber)
	return meter.Cost{Fuel: 1 + remainderSteps(float64(x), float64(y))}
}

// remainderSteps is how many steps the remainder of a division takes at most.
func remainderSteps(x, y float64) int64 {
	if x == 0 || y == 0 || x-x != 0 || y-y != 0 {
		return 0
	}
	_, ex := math.Frexp(x)
	_, ey := math.Frexp(y)
	return int64(max(ex-ey+1, 0))
}

func mathFmod(r *run, L *lua.LState) (int, error) {
	x, y, err := numbers2(r, L, "fmod")
	if err != nil {
		return 0, err
	}
	if L.Get(1).Type() != lua.LTNumber || L.Get(2).Type() != lua.LTNumber { // not seen by the price
		if err := r.charge(remainderSteps(x, y), 0); err != nil {
			return 0, err
		}
	}
	L.Push(lua.LNumber(math.Mod(x, y)))
	return 1, nil
}

func mathFrexp(r *run, L *lua.LState) (int, error) {
	x, err := numberOperand(r, L, 1, "frexp")
	if err != nil {
		return 0, err
	}
	fraction, exponent := math.Frexp(x)
	L.Push(lua.LNumber(fraction))
	L.Push(lua.LNumber(exponent))
	return 2, nil
}

func mathLdexp(r *run, L *lua.LState) (int, error) {
	x, err := numberOperand(r, L, 1, "ldexp")
	if err != nil {
		return 0, err
	}
	exponent, err := intOperand(r, L, 2, "ldexp")
	if err != nil {
		return 0, err
	}
	L.Push(lua.LNumber(math.Ldexp(x, min(max(exponent, -4096), 4096))))
	return 1, nil
}

func mathModf(r *run, L *lua.LState) (int, error) {
	x, err := numberOperand(r, L, 1, "modf")
	if err != nil {
		return 0, err
	}
	whole, fraction := math.Trunc(x), 0.0
	if !math.IsInf(x, 0) {
		fraction = x - whole
	}
	L.Push(lua.LNumber(whole))
	L.Push(lua.LNumber(fraction))
	return 2, nil
}

// operandsPrice is that of looking at each operand.
func operandsPrice(L *lua.LState) meter.Cost { return meter.Cost{Fuel: 1 + int64(L.GetTop())} }

// extreme is max and min: the first of those that none is greater, or smaller, than.
func extreme(name string, better func(a, b float64) bool) work {
	return func(r *run, L *lua.LState) (int, error) {
		best, err := numberOperand(r, L, 1, name)
		if err != nil {
			return 0, err
		}
		for i := 2; i <= L.GetTop(); i++ {
			x, err := numberOperand(r, L, i, name)
			if err != nil {
				return 0, err
			}
			if better(x, best) {
				best = x
			}
		}
		L.Push(lua.LNumber(best))
		return 1, nil
	}
}
