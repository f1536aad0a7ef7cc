package starlark

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"agentd/builtins/meter"
	"agentd/interp"
)

// universe is what every script has without asking, all of it metered. It covers the interpreter's
// own universe, so that no name resolves to a builtin that nobody pays for.
func universe() map[string]starlark.Value {
	out := map[string]starlark.Value{"None": starlark.None, "True": starlark.True, "False": starlark.False}
	for _, b := range []*builtin{
		universal("abs", absCost),
		universal("chr", steps(1)),
		universal("float", floatCost),
		universal("hash", operandText(2)),
		universal("ord", operandText(1)),
		universal("range", steps(1)),
		walking("all", 0),
		walking("any", 0),
		newBuiltin("bytes", steps(1), bytesOf),
		walking("enumerate", 6*slotBytes),
		walking("list", 2*slotBytes),
		walking("reversed", 2*slotBytes),
		walking("tuple", 2*slotBytes),
		newBuiltin("bool", steps(0), boolOf),
		newBuiltin("dict", steps(1), dictOf),
		newBuiltin("dir", steps(1), dirOf),
		newBuiltin("fail", steps(64), failWith),
		newBuiltin("getattr", steps(3), getAttr),
		newBuiltin("hasattr", steps(3), hasAttr),
		newBuiltin("int", steps(4), intOf),
		newBuiltin("len", steps(0), lenOf),
		newBuiltin("max", steps(1), extreme("max", true)),
		newBuiltin("min", steps(1), extreme("min", false)),
		newBuiltin("print", steps(1), printLine),
		newBuiltin("repr", steps(1), reprOf),
		newBuiltin("set", steps(1), setOf),
		newBuiltin("sorted", steps(12), sortedList),
		newBuiltin("str", steps(1), strOf),
		newBuiltin("type", steps(0), typeOf),
		newBuiltin("zip", steps(1), zipped),
	} {
		out[b.name] = b.value
	}
	return out
}

// universal is a builtin of the interpreter, paid for.
func universal(name string, p price) *builtin {
	return newBuiltin(name, p, theirs(name))
}

func theirs(name string) work {
	f := starlark.Universe[name].(*starlark.Builtin)
	return func(r *run, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return f.CallInternal(&r.thread, args, kwargs)
	}
}

// walking is a builtin of the interpreter that walks its first operand and makes so many bytes of
// each item.
func walking(name string, each int64) *builtin {
	do := theirs(name)
	return newBuiltin(name, steps(1), func(r *run, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if len(args) > 0 {
			items, err := r.native(args[0])
			if err != nil {
				return nil, err
			}
			n := int64(bound(items))
			c := meter.Cost{Fuel: n / copyPerFuel, Bytes: headerBytes + meter.Mul(n, each)}
			if makesItems(items) {
				c = plus(c, meter.Cost{Fuel: meter.Mul(n, rowFuel), Bytes: meter.Mul(n, headerBytes)})
			}
			if err := r.meter.Charge(c); err != nil {
				return nil, err
			}
			args = append(starlark.Tuple{items}, args[1:]...)
		}
		return do(r, nil, args, kwargs)
	})
}

// operandText prices reading the first operand's text so many times.
func operandText(times int64) price {
	return func(_ starlark.Value, args starlark.Tuple, _ []starlark.Tuple) meter.Cost {
		if len(args) == 0 {
			return meter.Cost{Fuel: 1}
		}
		n := int64(0)
		switch v := args[0].(type) {
		case starlark.String, starlark.Bytes:
			n = int64(starlark.Len(v))
		}
		return meter.Cost{Fuel: 1 + n*times/32}
	}
}

// absCost prices abs.
func absCost(_ starlark.Value, args starlark.Tuple, _ []starlark.Tuple) meter.Cost {
	if len(args) > 0 {
		if i, ok := args[0].(starlark.Int); ok {
			if _, small := i.Int64(); !small {
				return meter.Cost{Fuel: 8, Bytes: maxIntBits / 8}
			}
		}
	}
	return meter.Cost{Fuel: 1}
}

// floatCost prices float, which is given text or an integer of any length.
func floatCost(_ starlark.Value, args starlark.Tuple, _ []starlark.Tuple) meter.Cost {
	if len(args) > 0 {
		if i, ok := args[0].(starlark.Int); ok {
			if _, small := i.Int64(); !small {
				return meter.Cost{Fuel: 16, Bytes: maxIntBits / 8}
			}
		}
	}
	return operandText(4)(nil, args, nil)
}

// one reads the single positional operand of a builtin.
func one(name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(kwargs) > 0 {
		return nil, fmt.Errorf("%s does not accept keyword arguments", name)
	}
	if len(args) != 1 {
		return nil, fmt.Errorf("%s: got %d arguments, want exactly 1", name, len(args))
	}
	return args[0], nil
}

func boolOf(_ *run, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x starlark.Value = starlark.False
	if err := starlark.UnpackPositionalArgs("bool", args, kwargs, 0, &x); err != nil {
		return nil, err
	}
	return x.Truth(), nil
}

func typeOf(_ *run, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	x, err := one("type", args, kwargs)
	if err != nil {
		return nil, err
	}
	return starlark.String(x.Type()), nil
}

func lenOf(_ *run, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) != 1 || len(kwargs) > 0 {
		var x starlark.Value
		return nil, starlark.UnpackPositionalArgs("len", args, kwargs, 1, &x)
	}
	x := args[0]
	n := lengthOf(x)
	if n < 0 {
		return nil, fmt.Errorf("len: value of type %s has no len", x.Type())
	}
	return starlark.MakeInt(n), nil
}

func strOf(r *run, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	x, err := one("str", args, kwargs)
	if err != nil {
		return nil, err
	}
	switch x := x.(type) {
	case starlark.String:
		return x, nil
	case starlark.Bytes:
		if err := r.payWhole(len(x), utf8.ValidString(string(x))); err != nil {
			return nil, err
		}
		return starlark.String(interp.Whole(string(x))), nil
	}
	s, err := r.repr(x)
	return starlark.String(s), err
}

// payWhole pays for a text that is taken as it is, or made anew where it is none.
func (r *run) payWhole(n int, valid bool) error {
	if valid {
		return r.charge(int64(n)/comparePerFuel, 0)
	}
	return r.charge(int64(n)/2, 8*int64(n))
}

// bytesOf is bytes(text or list).
func bytesOf(r *run, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) == 0 {
		return theirBytes(r, nil, args, kwargs)
	}
	if s, ok := args[0].(starlark.String); ok {
		if err := r.payWhole(len(s), utf8.ValidString(string(s))); err != nil {
			return nil, err
		}
		return theirBytes(r, nil, args, kwargs)
	}
	items, err := r.native(args[0])
	if err != nil {
		return nil, err
	}
	n := int64(bound(items))
	if err := r.charge(n/2, headerBytes+meter.Mul(n, 4)); err != nil {
		return nil, err
	}
	return theirBytes(r, nil, append(starlark.Tuple{items}, args[1:]...), kwargs)
}

var theirBytes = theirs("bytes")

func reprOf(r *run, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x starlark.Value
	if err := starlark.UnpackPositionalArgs("repr", args, kwargs, 1, &x); err != nil {
		return nil, err
	}
	s, err := r.repr(x)
	return starlark.String(s), err
}

func printLine(r *run, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	s, err := r.say("print", args, kwargs)
	if err != nil {
		return nil, err
	}
	r.print.Line(s)
	return starlark.None, nil
}

func failWith(r *run, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	s, err := r.say("fail", args, kwargs)
	if err != nil {
		return nil, err
	}
	if err := r.charge(0, int64(len(s))); err != nil {
		return nil, err
	}
	return nil, errors.New("fail: " + s)
}

// maxIntText is the longest text that int takes: more digits than maxIntBits has in any base.
const maxIntText = maxIntBits + 64

func intOf(r *run, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	for _, a := range args {
		if s, ok := a.(starlark.String); ok && len(s) > maxIntText {
			return nil, fmt.Errorf("int: text of %d bytes is too long for an integer", len(s))
		}
	}
	for _, kv := range kwargs {
		if s, ok := kv[1].(starlark.String); ok && len(s) > maxIntText {
			return nil, fmt.Errorf("int: text of %d bytes is too long for an integer", len(s))
		}
	}
	if len(args) > 0 {
		if s, ok := args[0].(starlark.String); ok && len(s) > 16 {
			if err := r.charge(int64(len(s))*int64(len(s))/4096+int64(len(s))/4, int64(len(s))); err != nil {
				return nil, err
			}
		}
	}
	if len(args) > 0 {
		if f, ok := args[0].(starlark.Float); ok && !ordinary(float64(f)) {
			if err := r.charge(maxIntBits/64, 2*maxIntBits/8); err != nil {
				return nil, err
			}
		}
	}
	v, err := theirInt(r, nil, args, kwargs)
	if err != nil {
		return nil, err
	}
	return checkInt(v.(starlark.Int))
}

var theirInt = theirs("int")

func dictOf(r *run, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) > 1 {
		return nil, fmt.Errorf("dict: got %d arguments, want at most 1", len(args))
	}
	if len(args) == 1 && len(kwargs) == 0 {
		if o, ok := args[0].(object); ok {
			return r.copyDict(o)
		}
	}
	if err := r.charge(0, dictBytes); err != nil {
		return nil, err
	}
	d := newDict(0)
	if err := r.fill(d, args, kwargs); err != nil {
		return nil, r.under("dict", err)
	}
	return d, nil
}

func setOf(r *run, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var items starlark.Value
	if err := starlark.UnpackPositionalArgs("set", args, kwargs, 0, &items); err != nil {
		return nil, err
	}
	switch s := items.(type) {
	case nil:
		return newSet(), r.charge(0, dictBytes)
	case *set:
		return r.copySet(s)
	}
	s, err := r.setFrom(items)
	if err != nil {
		return nil, r.under("set", err)
	}
	return s, nil
}

func zipped(r *run, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	rows := int64(-1)
	shown := make(starlark.Tuple, len(args))
	textual := int64(0)
	for i, a := range args {
		v, err := r.native(a)
		if err != nil {
			return nil, err
		}
		if makesItems(v) {
			textual++
		}
		shown[i] = v
		if n := int64(bound(v)); rows < 0 || n < rows {
			rows = n
		}
	}
	cells := meter.Mul(max(rows, 0), int64(len(args)))
	c := meter.Cost{Fuel: 1 + (cells+rows)/copyPerFuel, Bytes: headerBytes + 2*slotBytes*cells + meter.Mul(max(rows, 0), 2*headerBytes)}
	texts := meter.Mul(max(rows, 0), textual)
	c = plus(c, meter.Cost{Fuel: meter.Mul(texts, rowFuel), Bytes: meter.Mul(texts, headerBytes)})
	if err := r.meter.Charge(c); err != nil {
		return nil, err
	}
	return theirZip(r, nil, shown, kwargs)
}

var theirZip = theirs("zip")

func getAttr(r *run, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x, fallback starlark.Value
	var name string
	if err := starlark.UnpackPositionalArgs("getattr", args, kwargs, 2, &x, &name, &fallback); err != nil {
		return nil, err
	}
	if err := r.charge(int64(len(name))/comparePerFuel, 0); err != nil {
		return nil, err
	}
	v, err := r.lookup(x, name)
	switch {
	case v != nil || err != nil:
		return v, err
	case fallback != nil:
		return fallback, nil
	}
	return nil, r.under("getattr", r.noAttr(x, name))
}

func hasAttr(r *run, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x starlark.Value
	var name string
	if err := starlark.UnpackPositionalArgs("hasattr", args, kwargs, 2, &x, &name); err != nil {
		return nil, err
	}
	if err := r.charge(int64(len(name))/comparePerFuel, 0); err != nil {
		return nil, err
	}
	v, err := r.lookup(x, name)
	return starlark.Bool(v != nil), err
}

func dirOf(r *run, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(kwargs) > 0 {
		return nil, errors.New("dir does not accept keyword arguments")
	}
	if len(args) != 1 {
		return nil, fmt.Errorf("dir: got %d arguments, want 1", len(args))
	}
	names, err := r.attrNames(args[0])
	if err != nil {
		return nil, err
	}
	if err := r.sort(names, nil, false); err != nil {
		return nil, err
	}
	return starlark.NewList(names), nil
}
