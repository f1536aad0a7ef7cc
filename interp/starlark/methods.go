package starlark

import (
	"maps"
	"slices"

	"go.starlark.net/starlark"

	"agentd/builtins/meter"
)

type methods map[string]*builtin

// methodsOf returns the methods of a value's type, nil if it has none.
func methodsOf(v starlark.Value) methods {
	switch v.(type) {
	case starlark.String:
		return stringMethods
	case starlark.Bytes:
		return bytesMethods
	case *starlark.List:
		return listMethods
	case *dict:
		return dictMethods
	case object:
		return objectMethods
	case *set:
		return setMethods
	}
	return nil
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// stock is a method of the interpreter. Its operands are such that it does no more than the price
// says: views in them have been shown.
func stock(model starlark.HasAttrs, name string, p price) *builtin {
	attr, err := model.Attr(name)
	if err != nil || attr == nil {
		panic("starlark: " + model.Type() + " has no method " + name)
	}
	method := attr.(*starlark.Builtin)
	return newBuiltin(name, p, func(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return method.BindReceiver(recv).CallInternal(&r.thread, args, kwargs)
	})
}

// sized is the price of walking a text of the receiver's length, and making so many times of it.
func sized(made int64) price {
	return func(recv starlark.Value, args starlark.Tuple, _ []starlark.Tuple) meter.Cost {
		n := int64(starlark.Len(recv))
		return text(4*n, headerBytes+n*made)
	}
}

// searched is the price of looking for the first operand, and making so many times of the receiver.
func searched(made int64) price {
	return func(recv starlark.Value, args starlark.Tuple, _ []starlark.Tuple) meter.Cost {
		n := starlark.Len(recv)
		sub := 0
		if len(args) > 0 {
			sub = bound(args[0])
		}
		return plus(search(n, sub), meter.Cost{Bytes: headerBytes + int64(n)*made})
	}
}

var stringMethods = func() methods {
	model := starlark.String("")
	m := methods{}
	for _, name := range []string{"isalnum", "isalpha", "isdigit", "islower", "isspace", "istitle", "isupper"} {
		m[name] = stock(model, name, sized(3)) // some compare with a copy in another case
	}
	for _, name := range []string{"capitalize", "lower", "title", "upper"} {
		m[name] = stock(model, name, sized(3)) // a letter may become a longer one
	}
	for _, name := range []string{"count", "find", "index", "rfind", "rindex", "partition", "rpartition"} {
		m[name] = stock(model, name, searched(0))
	}
	for _, name := range []string{"strip", "lstrip", "rstrip"} {
		m[name] = stock(model, name, stripPrice)
	}
	for _, name := range []string{"removeprefix", "removesuffix"} {
		m[name] = stock(model, name, sized(0))
	}
	for _, name := range []string{"startswith", "endswith"} {
		m[name] = stock(model, name, affixPrice)
	}
	for _, name := range []string{"split", "rsplit"} {
		m[name] = stock(model, name, searched(3*slotBytes)) // a separator may stand at each byte
	}
	m["splitlines"] = stock(model, "splitlines", sized(3*slotBytes))
	m["elems"] = stock(model, "elems", steps(1))
	m["elem_ords"] = stock(model, "elem_ords", steps(1))
	m["codepoints"] = counted(stock(model, "codepoints", steps(1)))
	m["codepoint_ords"] = counted(stock(model, "codepoint_ords", steps(1)))
	m["replace"] = stock(model, "replace", replacePrice)
	m["join"] = newBuiltin("join", steps(1), join)
	m["format"] = newBuiltin("format", steps(1), func(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return r.format(string(recv.(starlark.String)), args, kwargs)
	})
	return m
}()

var bytesMethods = methods{"elems": counted(stock(starlark.Bytes(""), "elems", steps(1)))}

// counted makes the iterable that a method returns say how long it may be.
func counted(b *builtin) *builtin {
	return newBuiltin(b.name, b.price, func(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		v, err := b.work(r, recv, args, kwargs)
		if err != nil {
			return nil, err
		}
		return bounded{v.(starlark.Iterable), starlark.Len(recv)}, nil
	})
}

// stripPrice: each byte at the ends may be held against each of the characters given.
func stripPrice(recv starlark.Value, args starlark.Tuple, _ []starlark.Tuple) meter.Cost {
	n, chars := int64(starlark.Len(recv)), int64(0)
	if len(args) > 0 {
		chars = int64(bound(args[0]))
	}
	return meter.Cost{Fuel: n/8 + meter.Mul(n, chars)/64}
}

// affixPrice: a tuple holds many candidates, each of which may agree up to its last byte.
func affixPrice(_ starlark.Value, args starlark.Tuple, _ []starlark.Tuple) meter.Cost {
	var c meter.Cost
	if len(args) == 0 {
		return c
	}
	t, ok := args[0].(starlark.Tuple)
	if !ok {
		return text(int64(bound(args[0])), 0)
	}
	for _, item := range t {
		c.Fuel += 1 + int64(bound(item))/scanPerFuel
	}
	return c
}

// replacePrice: at most one replacement a match, of which there are no more than bytes and one.
func replacePrice(recv starlark.Value, args starlark.Tuple, _ []starlark.Tuple) meter.Cost {
	if len(args) < 2 {
		return meter.Cost{}
	}
	n, old, repl := int64(starlark.Len(recv)), int64(bound(args[0])), int64(bound(args[1]))
	matches := (n+1)/max(old, 1) + 1
	if len(args) > 2 {
		if i, ok := args[2].(starlark.Int); ok {
			if most, ok := i.Int64(); ok && most >= 0 {
				matches = min(matches, most)
			}
		}
	}
	return plus(search(int(n), int(old)), meter.Cost{Fuel: matches, Bytes: headerBytes + n + meter.Mul(matches, repl)})
}

func join(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) == 1 && len(kwargs) == 0 {
		items, err := r.native(args[0])
		if err != nil {
			return nil, err
		}
		if it, ok := items.(starlark.Iterable); ok {
			if err := r.payJoin(it, len(recv.(starlark.String))); err != nil {
				return nil, err
			}
		}
		args = starlark.Tuple{items}
	}
	return stockJoin.work(r, recv, args, kwargs)
}

var stockJoin = stock(starlark.String(""), "join", steps(0))

// payJoin pays for the text that joining makes.
func (r *run) payJoin(items starlark.Iterable, sep int) error {
	if err := r.charge(1+int64(bound(items))/copyPerFuel, headerBytes); err != nil {
		return err
	}
	it := items.Iterate()
	defer it.Done()
	var v starlark.Value
	for it.Next(&v) {
		n := sep
		if s, ok := v.(starlark.String); ok {
			n += len(s)
		}
		if err := r.charge(0, 2*int64(n)); err != nil {
			return err
		}
	}
	return nil
}

// shifts pays for moving the items of a list.
func shifts(recv starlark.Value, _ starlark.Tuple, _ []starlark.Tuple) meter.Cost {
	return meter.Cost{Fuel: int64(starlark.Len(recv)) / scanPerFuel, Bytes: 2 * slotBytes}
}

var listPop = stock(starlark.NewList(nil), "pop", shifts)

var listMethods = methods{
	"append": stock(starlark.NewList(nil), "append", func(starlark.Value, starlark.Tuple, []starlark.Tuple) meter.Cost {
		return meter.Cost{Bytes: 2 * slotBytes}
	}),
	"clear":  stock(starlark.NewList(nil), "clear", shifts),
	"insert": stock(starlark.NewList(nil), "insert", shifts),
	"pop":    listPop,
	"extend": newBuiltin("extend", steps(1), listExtend),
	"index":  newBuiltin("index", steps(1), listIndex),
	"remove": newBuiltin("remove", steps(1), listRemove),
}
