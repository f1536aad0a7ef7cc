package starlark

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"agentd/builtins/meter"
)

// The names of the builtins that rewriting puts in. None of them is an identifier, so no script can
// say them, bind them or load them.
const (
	opAttr        = "."    // (x, "a", "b" ...): x.a.b
	opIndex       = "[]"   // (x, k): x[k]
	opSetIndex    = "[]="  // (v, x, k): x[k] = v
	opSlice       = "[:]"  // (x, lo, hi, step)
	opKey         = "[k]"  // (k): the key of an item that an assignment to several writes
	opList        = "[,]"  // (items ...): [items]
	opListLong    = "[*]"  // (tuple)
	opTuple       = "(,)"  // (items ...)
	opTupleLong   = "(*)"  // (tuple)
	opDict        = "{:}"  // (k, v, k, v ...)
	opDictLong    = "{*}"  // (tuple)
	opListComp    = "[for" // (list): a list comprehension's list
	opDictComp    = "{for" // (list of pairs)
	opIter        = "for x"
	opIterUnpack  = "for," // (x, shape)
	opUnpack      = "=,"   // (x, shape)
	opSpread      = "f(*"  // (x)
	opSpreadNamed = "f(**" // (x)
	opNamed       = "def**"
	opFrame       = "def(" // (slots): pays for a large frame
	opMethod      = ".()"  // (x, "name", args ...): a method that no type of ours has
)

// binaryOps are the operators that are always calls; those that compare are in comparisons.
var binaryOps = []syntax.Token{
	syntax.PLUS, syntax.MINUS, syntax.STAR, syntax.SLASH, syntax.SLASHSLASH, syntax.PERCENT,
	syntax.AMP, syntax.PIPE, syntax.CIRCUMFLEX, syntax.LTLT, syntax.GTGT,
}

var comparisons = []syntax.Token{syntax.EQL, syntax.NEQ, syntax.LT, syntax.LE, syntax.GT, syntax.GE}

// Names of the operators, by what they do with them.
func opInplace(op syntax.Token) string   { return op.String() + "=" } // (x, y): x op= y, to be assigned to x
func opSetAug(op syntax.Token) string    { return "[]" + op.String() + "=" }
func opUnary(op syntax.Token) string     { return op.String() + "x" }
func opMethodOf(name string) string      { return "." + name + "()" } // (x, args ...)
func memberName(mod, name string) string { return mod + "." + name }

// operators makes the builtins that rewriting puts in.
func operators() []*builtin {
	list := []*builtin{
		newBuiltin(opAttr, steps(0), func(r *run, _ starlark.Value, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			x := a[0]
			for _, name := range a[1:] {
				var err error
				if x, err = r.attr(x, string(name.(starlark.String))); err != nil {
					return nil, err
				}
			}
			return x, nil
		}),
		newBuiltin(opIndex, steps(0), func(r *run, _ starlark.Value, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			return r.index(a[0], a[1])
		}),
		newBuiltin(opSetIndex, steps(0), func(r *run, _ starlark.Value, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			return starlark.None, r.setIndex(a[1], a[2], a[0])
		}),
		newBuiltin(opSlice, steps(0), func(r *run, _ starlark.Value, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			return r.slice(a[0], a[1], a[2], a[3])
		}),
		newBuiltin(opKey, entryPrice, func(r *run, _ starlark.Value, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			return a[0], r.payKey(a[0], 0)
		}),
		newBuiltin(opList, displayPrice, func(_ *run, _ starlark.Value, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			return starlark.NewList(a), nil // the interpreter made the operands for this call only
		}),
		newBuiltin(opListLong, long(displayPrice), func(_ *run, _ starlark.Value, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			return starlark.NewList(a[0].(starlark.Tuple)), nil
		}),
		newBuiltin(opTuple, displayPrice, func(_ *run, _ starlark.Value, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			return a, nil
		}),
		newBuiltin(opTupleLong, long(displayPrice), func(_ *run, _ starlark.Value, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			return a[0], nil
		}),
		newBuiltin(opDict, dictPrice, func(r *run, _ starlark.Value, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			return r.display(a)
		}),
		newBuiltin(opDictLong, long(dictPrice), func(r *run, _ starlark.Value, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			return r.display(a[0].(starlark.Tuple))
		}),
		newBuiltin(opListComp, comprehensionPrice, func(_ *run, _ starlark.Value, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			return a[0], nil
		}),
		newBuiltin(opDictComp, comprehensionPrice, func(r *run, _ starlark.Value, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			return r.fromPairs(a[0].(*starlark.List))
		}),
		newBuiltin(opIter, steps(0), func(r *run, _ starlark.Value, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			return r.loop(a[0])
		}),
		newBuiltin(opIterUnpack, steps(0), func(r *run, _ starlark.Value, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			x, err := r.loop(a[0])
			if it, ok := x.(starlark.Iterable); ok && err == nil {
				return &unpacking{r, it, string(a[1].(starlark.String))}, nil
			}
			return x, err
		}),
		newBuiltin(opUnpack, steps(0), func(r *run, _ starlark.Value, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			return r.unpackable(a[0], string(a[1].(starlark.String)))
		}),
		newBuiltin(opSpread, steps(0), func(r *run, _ starlark.Value, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			return r.spread(a[0])
		}),
		newBuiltin(opSpreadNamed, steps(0), func(r *run, _ starlark.Value, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			return r.spreadNamed(a[0])
		}),
		newBuiltin(opNamed, steps(0), func(r *run, _ starlark.Value, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			return r.named(a[0])
		}),
		newBuiltin(opFrame, framePrice, func(_ *run, _ starlark.Value, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			return starlark.True, nil
		}),
		newBuiltin(opMethod, steps(0), func(r *run, _ starlark.Value, a starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
			return r.callAttr(a[0], string(a[1].(starlark.String)), a[2:], kw)
		}),
	}
	for _, op := range binaryOps {
		list = append(list,
			newBuiltin(op.String(), steps(0), func(r *run, _ starlark.Value, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
				return r.binary(op, a[0], a[1])
			}),
			newBuiltin(opInplace(op), steps(0), func(r *run, _ starlark.Value, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
				return r.inplace(op, a[0], a[1])
			}),
			newBuiltin(opSetAug(op), steps(2), func(r *run, _ starlark.Value, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
				return starlark.None, r.augment(op, a[0], a[1], a[2])
			}))
	}
	for _, op := range comparisons {
		list = append(list, newBuiltin(op.String(), steps(0), func(r *run, _ starlark.Value, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			ok, err := r.compare(op, a[0], a[1])
			return starlark.Bool(ok), err
		}))
	}
	for _, op := range []syntax.Token{syntax.IN, syntax.NOT_IN} {
		list = append(list, newBuiltin("x "+op.String(), steps(0), func(r *run, _ starlark.Value, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			ok, err := r.contains(a[0], a[1])
			return starlark.Bool(ok != (op == syntax.NOT_IN)), err
		}))
	}
	for _, op := range []syntax.Token{syntax.MINUS, syntax.PLUS, syntax.TILDE} {
		list = append(list, newBuiltin(opUnary(op), steps(0), func(r *run, _ starlark.Value, a starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			return r.unary(op, a[0])
		}))
	}
	for _, name := range methodNames() {
		list = append(list, methodCall(name))
	}
	return list
}

// methodNames lists the methods of all types.
func methodNames() []string {
	all := map[string]bool{}
	for _, m := range []methods{stringMethods, bytesMethods, listMethods, dictMethods, setMethods} {
		for name := range m {
			all[name] = true
		}
	}
	return sortedNames(all)
}

// methodCall is x.name(...) as one call.
func methodCall(name string) *builtin {
	ofString, ofList, ofDict, ofObject, ofSet, ofBytes := stringMethods[name], listMethods[name], dictMethods[name], objectMethods[name], setMethods[name], bytesMethods[name]
	return newBuiltin(opMethodOf(name), steps(0), func(r *run, _ starlark.Value, a starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
		var m *builtin
		switch a[0].(type) {
		case object:
			m = ofObject
		case starlark.String:
			m = ofString
		case *dict:
			m = ofDict
		case *starlark.List:
			m = ofList
		case *set:
			m = ofSet
		case starlark.Bytes:
			m = ofBytes
		}
		if m == nil {
			return r.callAttr(a[0], name, a[1:], kw)
		}
		return m.call(r, a[0], a[1:], kw)
	})
}

// callAttr calls whatever x.name is.
func (r *run) callAttr(x starlark.Value, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	fn, err := r.attr(x, name)
	if err != nil {
		return nil, err
	}
	return starlark.Call(&r.thread, fn, args, kwargs)
}

// augment is x[k] op= v.
func (r *run) augment(op syntax.Token, x, k, v starlark.Value) error {
	old, err := r.index(x, k)
	if err != nil {
		return err
	}
	if v, err = r.inplace(op, old, v); err != nil {
		return err
	}
	return r.setIndex(x, k, v)
}

// maxCalls is how deep calls may nest around a loop: each call looks at all those around it.
const maxCalls = 200

// loop is the operand of a for.
func (r *run) loop(x starlark.Value) (starlark.Value, error) {
	if r.thread.CallStackDepth() > maxCalls {
		return nil, fmt.Errorf("calls nest deeper than %d", maxCalls)
	}
	return r.iterable(x), nil
}

// display makes the dict of {k: v ...}, in the place of its operands: the interpreter made them for
// this call only.
func (r *run) display(cells starlark.Tuple) (starlark.Value, error) {
	d := &dict{table{stride: 2, cells: cells[:0]}}
	for i := 0; i < len(cells); i += 2 {
		key, err := r.key(cells[i])
		if err != nil {
			return nil, err
		}
		if !d.set(key, cells[i], cells[i+1]) {
			text, err := r.repr(cells[i])
			if err != nil {
				return nil, err
			}
			return nil, fmt.Errorf("duplicate key: %s", text)
		}
	}
	return d, nil
}

// fromPairs makes the dict of a comprehension.
func (r *run) fromPairs(pairs *starlark.List) (starlark.Value, error) {
	n := int64(pairs.Len())
	if err := r.meter.Charge(plus(entries(0, n), meter.Cost{Bytes: dictBytes})); err != nil {
		return nil, err
	}
	d := newDict(0)
	for i := range pairs.Len() {
		pair := pairs.Index(i).(starlark.Tuple)
		key, err := r.key(pair[0])
		if err != nil {
			return nil, err
		}
		d.set(key, pair[0], pair[1])
	}
	return d, nil
}

func displayPrice(_ starlark.Value, args starlark.Tuple, _ []starlark.Tuple) meter.Cost {
	n := int64(len(args))
	return meter.Cost{Fuel: n / copyPerFuel, Bytes: headerBytes + n*slotBytes}
}

func dictPrice(_ starlark.Value, args starlark.Tuple, _ []starlark.Tuple) meter.Cost {
	return plus(entries(0, int64(len(args))/2), meter.Cost{Bytes: dictBytes})
}

// long is the price of a display whose items come as one tuple.
func long(p price) price {
	return func(_ starlark.Value, args starlark.Tuple, _ []starlark.Tuple) meter.Cost {
		return p(nil, args[0].(starlark.Tuple), nil)
	}
}

// comprehensionPrice comes after the list was made: the interpreter took several steps for each item,
// so fuel bounded it meanwhile.
func comprehensionPrice(_ starlark.Value, args starlark.Tuple, _ []starlark.Tuple) meter.Cost {
	return slots(2 * int64(starlark.Len(args[0])))
}

func entryPrice(starlark.Value, starlark.Tuple, []starlark.Tuple) meter.Cost {
	return meter.Cost{Fuel: 1, Bytes: entryBytes}
}

// framePrice pays for the operand stack of a function that has a large one.
func framePrice(_ starlark.Value, args starlark.Tuple, _ []starlark.Tuple) meter.Cost {
	n, _ := args[0].(starlark.Int).Int64()
	return meter.Cost{Fuel: n / 8, Bytes: n * slotBytes}
}
