package starlark

import (
	"fmt"
	"math"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"agentd/builtins/meter"
)

// maxIntBits bounds integers, so that no operation on them is long. JSON integers have a third.
const maxIntBits = 4096

var errIntTooLarge = fmt.Errorf("an integer has more than %d bits", maxIntBits)

// checkInt refuses an integer that grew too large.
func checkInt(i starlark.Int) (starlark.Value, error) {
	if _, ok := i.Int64(); !ok && i.BigInt().BitLen() > maxIntBits {
		return nil, errIntTooLarge
	}
	return i, nil
}

// binary applies an operator that is no comparison.
func (r *run) binary(op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	switch x := x.(type) {
	case starlark.Int:
		if y, ok := y.(starlark.Int); ok {
			return r.integers(op, x, y)
		}
	case starlark.String:
		switch y := y.(type) {
		case starlark.String:
			if op == syntax.PLUS {
				if err := r.charge(0, int64(len(x)+len(y))); err != nil {
					return nil, err
				}
				return x + y, nil
			}
		}
		if op == syntax.PERCENT {
			return r.interpolate(string(x), y)
		}
	}
	switch op {
	case syntax.PLUS:
		return r.add(x, y)
	case syntax.STAR:
		return r.repeat(x, y)
	case syntax.PIPE, syntax.AMP, syntax.CIRCUMFLEX, syntax.MINUS:
		if z, err := r.combine(op, x, y); z != nil || err != nil {
			return z, err
		}
	}
	return r.plainBinary(op, x, y)
}

// plainBinary leaves numbers to the interpreter; of anything else it only makes the error.
func (r *run) plainBinary(op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	if isNumber(x) && isNumber(y) {
		if err := r.payMixed(x, y); err != nil {
			return nil, err
		}
		return starlark.Binary(op, x, y)
	}
	return nil, fmt.Errorf("unknown binary op: %s %s %s", x.Type(), op, y.Type())
}

// payMixed pays for an operation on an integer and a float, which the interpreter does on numbers of
// any length where one of them is out of the ordinary.
func (r *run) payMixed(x, y starlark.Value) error {
	i, ok := x.(starlark.Int)
	f, mixed := y.(starlark.Float)
	if !ok {
		f, ok = x.(starlark.Float)
		i, mixed = y.(starlark.Int)
	}
	if !ok || !mixed {
		return nil
	}
	if _, small := i.Int64(); small && ordinary(float64(f)) {
		return nil
	}
	return r.charge(maxIntBits/64, 2*maxIntBits/8)
}

// isMixed reports whether an integer is held against a float.
func isMixed(x, y starlark.Value) bool {
	_, a := x.(starlark.Float)
	_, b := y.(starlark.Float)
	return a != b
}

// ordinary tells whether a float is no longer than a word when it is written as a fraction.
func ordinary(f float64) bool {
	f = math.Abs(f)
	return f == 0 || 1e-9 < f && f < 1e18
}

func isNumber(v starlark.Value) bool {
	switch v.(type) {
	case starlark.Int, starlark.Float:
		return true
	}
	return false
}

func (r *run) integers(op syntax.Token, x, y starlark.Int) (starlark.Value, error) {
	a, smallX := x.Int64()
	b, smallY := y.Int64()
	if smallX && smallY && op != syntax.LTLT {
		const half = 1 << 31
		if -half < a && a < half && -half < b && b < half {
			switch op {
			case syntax.PLUS:
				return starlark.MakeInt64(a + b), nil
			case syntax.MINUS:
				return starlark.MakeInt64(a - b), nil
			case syntax.STAR:
				return starlark.MakeInt64(a * b), nil
			}
		}
		fuel := int64(2)
		if op != syntax.SLASH && (a <= -half || a >= half || b <= -half || b >= half) {
			fuel = 8
		}
		if err := r.charge(fuel, 0); err != nil {
			return nil, err
		}
	} else if err := r.meter.Charge(integerCost(op, smallX)); err != nil {
		return nil, err
	}
	z, err := starlark.Binary(op, x, y)
	if err != nil {
		return nil, err
	}
	if i, ok := z.(starlark.Int); ok {
		return checkInt(i)
	}
	return z, nil
}

// integerCost is that of an operation in which an integer beyond 64 bits takes part, or may come out.
func integerCost(op syntax.Token, small bool) meter.Cost {
	switch {
	case op == syntax.LTLT && small: // by 511 at most
		return meter.Cost{Fuel: 4, Bytes: 128}
	case op == syntax.SLASHSLASH || op == syntax.PERCENT:
		return meter.Cost{Fuel: 2 * largeFuel, Bytes: 2 * maxIntBits / 8}
	}
	return meter.Cost{Fuel: largeFuel, Bytes: 2 * maxIntBits / 8}
}

// unary applies an unary operator.
func (r *run) unary(op syntax.Token, x starlark.Value) (starlark.Value, error) {
	if i, ok := x.(starlark.Int); ok {
		if _, small := i.Int64(); !small {
			if err := r.charge(16, maxIntBits/8); err != nil {
				return nil, err
			}
		}
		z, err := starlark.Unary(op, x)
		if err != nil {
			return nil, err
		}
		return checkInt(z.(starlark.Int))
	}
	return starlark.Unary(op, x)
}

// add joins bytes, lists, tuples and views of lists.
func (r *run) add(x, y starlark.Value) (starlark.Value, error) {
	switch x := x.(type) {
	case starlark.Bytes:
		if y, ok := y.(starlark.Bytes); ok {
			if err := r.charge(0, int64(len(x)+len(y))); err != nil {
				return nil, err
			}
			return x + y, nil
		}
	case starlark.Tuple:
		if y, ok := y.(starlark.Tuple); ok {
			if err := r.meter.Charge(slots(int64(len(x) + len(y)))); err != nil {
				return nil, err
			}
			return append(append(make(starlark.Tuple, 0, len(x)+len(y)), x...), y...), nil
		}
	case *starlark.List:
		switch y := y.(type) {
		case *starlark.List:
			if err := r.meter.Charge(slots(int64(x.Len() + y.Len()))); err != nil {
				return nil, err
			}
			z := make([]starlark.Value, 0, x.Len()+y.Len())
			return starlark.NewList(appendList(appendList(z, x), y)), nil
		case array:
			return r.addLists(x, y)
		}
	case array:
		switch y := y.(type) {
		case *starlark.List:
			return r.addLists(x, y)
		case array:
			return r.joinViews(x, y)
		}
	}
	return r.plainBinary(syntax.PLUS, x, y)
}

// repeat is x * y where one of them is a count.
func (r *run) repeat(x, y starlark.Value) (starlark.Value, error) {
	count, isCount := x.(starlark.Int)
	what := y
	if !isCount {
		if count, isCount = y.(starlark.Int); !isCount {
			return r.plainBinary(syntax.STAR, x, y)
		}
		what = x
	}
	unit := int64(1)
	switch what.(type) {
	case starlark.String, starlark.Bytes:
	case *starlark.List, starlark.Tuple:
		unit = slotBytes
	default:
		return r.plainBinary(syntax.STAR, x, y)
	}
	// Beyond these bounds the interpreter makes nothing but an error.
	const mostCount, mostItems = 1<<31 - 1, 1 << 30
	if n, ok := count.Int64(); ok && n > 0 && n <= mostCount {
		if items := meter.Mul(n, int64(starlark.Len(what))); items < mostItems {
			fuel := int64(1)
			if unit == slotBytes {
				fuel += items / copyPerFuel
			}
			if err := r.charge(fuel, headerBytes+meter.Mul(items, unit)); err != nil {
				return nil, err
			}
		}
	}
	return starlark.Binary(syntax.STAR, x, y)
}

// inplace is x op= y, where x keeps its identity if it can be changed.
func (r *run) inplace(op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	switch x := x.(type) {
	case *starlark.List:
		if op == syntax.PLUS {
			if ok, err := r.extend(x, y, "apply += to"); ok || err != nil {
				return x, err
			}
		}
	case *dict:
		if op != syntax.PIPE {
			break
		}
		switch e := y.(type) {
		case *dict:
			if err := x.mutable("apply |= to"); err != nil {
				return nil, err
			}
			if err := r.meter.Charge(entries(int64(x.live), int64(e.live))); err != nil {
				return nil, err
			}
			return x, r.update(x, e)
		case object:
			e2, err := r.copyDict(e)
			if err != nil {
				return nil, err
			}
			if err := r.meter.Charge(entries(int64(x.live), int64(e2.live))); err != nil {
				return nil, err
			}
			if err := x.mutable("apply |= to"); err != nil {
				return nil, err
			}
			return x, r.update(x, e2)
		}
	}
	return r.binary(op, x, y)
}
