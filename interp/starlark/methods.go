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
		return text(n, headerBytes+n*made)
	}
}

// searched is the price of one search for the first operand.
func searched(search func(in, sub int) meter.Cost) price {
	return func(recv starlark.Value, args starlark.Tuple, _ []starlark.Tuple) meter.Cost {
		c := search(starlark.Len(recv), firstLen(args))
		c.Fuel++
		return c
	}
}

// caseOf is the price of another case: letters that aren't ASCII are looked up, and may become longer.
func caseOf(recv starlark.Value, _ starlark.Tuple, _ []starlark.Tuple) meter.Cost {
	n := int64(starlark.Len(recv))
	return meter.Cost{Fuel: n / 6, Bytes: headerBytes + 3*n}
}

func firstLen(args starlark.Tuple) int {
	if len(args) == 0 {
		return 0
	}
	return bound(args[0])
}

// countPrice: each match is a search of its own, but for those of one byte.
func countPrice(recv starlark.Value, args starlark.Tuple, _ []starlark.Tuple) meter.Cost {
	n, sub := starlark.Len(recv), firstLen(args)
	c := meter.Search(n, sub)
	switch {
	case sub == 0:
		c.Fuel += int64(n) / readPerFuel
	case sub > 1:
		c.Fuel += int64(n) / int64(sub) / 2
	}
	c.Fuel++
	return c
}

var stringMethods = func() methods {
	model := starlark.String("")
	m := methods{}
	for _, name := range []string{"isalnum", "isalpha", "isdigit", "isspace", "istitle"} {
		m[name] = stock(model, name, sized(0))
	}
	for _, name := range []string{"islower", "isupper"} {
		m[name] = stock(model, name, sized(3)) // they may compare with a copy in another case
	}
	for _, name := range []string{"capitalize", "lower", "title", "upper"} {
		m[name] = stock(model, name, caseOf)
	}
	for _, name := range []string{"find", "index", "partition"} {
		m[name] = stock(model, name, searched(meter.Search))
	}
	for _, name := range []string{"rfind", "rindex", "rpartition"} {
		m[name] = stock(model, name, searched(searchBack))
	}
	m["count"] = stock(model, "count", countPrice)
	for _, name := range []string{"strip", "lstrip", "rstrip"} {
		m[name] = stock(model, name, stripPrice)
	}
	for _, name := range []string{"removeprefix", "removesuffix"} {
		m[name] = stock(model, name, affixPrice)
	}
	for _, name := range []string{"startswith", "endswith"} {
		m[name] = stock(model, name, affixPrice)
	}
	for _, name := range []string{"split", "rsplit"} {
		m[name] = parted(stock(model, name, steps(1)), separated)
	}
	m["splitlines"] = parted(stock(model, "splitlines", steps(1)), lined)
	m["elems"] = stock(model, "elems", steps(1))
	m["elem_ords"] = stock(model, "elem_ords", steps(1))
	m["codepoints"] = counted(stock(model, "codepoints", steps(1)))
	m["codepoint_ords"] = counted(stock(model, "codepoint_ords", steps(1)))
	m["replace"] = parted(stock(model, "replace", steps(1)), replaced)
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
	return meter.Cost{Fuel: 1 + n/10 + meter.Mul(n, chars)/128}
}

// affixPrice: a tuple holds many candidates, each of which may agree up to its last byte.
func affixPrice(_ starlark.Value, args starlark.Tuple, _ []starlark.Tuple) meter.Cost {
	var c meter.Cost
	if len(args) == 0 {
		return c
	}
	t, ok := args[0].(starlark.Tuple)
	if !ok {
		return meter.Cost{Fuel: int64(bound(args[0])) / comparePerFuel}
	}
	c.Fuel = int64(len(t)) / 2
	for _, item := range t {
		c.Fuel += int64(bound(item)) / comparePerFuel
	}
	return c
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
	if err := r.charge(1+int64(bound(items)), headerBytes); err != nil {
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
		if err := r.charge(0, 3*int64(n)); err != nil {
			return err
		}
	}
	return nil
}

// moving is the cost of moving so many items of a list: faster within the processor's caches.
func moving(n int64) meter.Cost {
	const cached = 8 << 10
	return meter.Cost{Fuel: 1 + n/48 + max(n-cached, 0)/32}
}

// shifts pays for moving the items behind the one that an index among the operands names.
func shifts(at func(args starlark.Tuple, n int) int) price {
	return func(recv starlark.Value, args starlark.Tuple, _ []starlark.Tuple) meter.Cost {
		n := starlark.Len(recv)
		return plus(moving(int64(n-min(max(at(args, n), 0), n))), meter.Cost{Bytes: 2 * slotBytes})
	}
}

// indexOr reads the first operand as an index, from the end if it is negative.
func indexOr(otherwise func(n int) int) func(args starlark.Tuple, n int) int {
	return func(args starlark.Tuple, n int) int {
		if len(args) == 0 {
			return otherwise(n)
		}
		i, err := starlark.AsInt32(args[0])
		switch {
		case err != nil:
			return 0
		case i < 0:
			i += n
		}
		return i
	}
}

var listPop = stock(starlark.NewList(nil), "pop", shifts(indexOr(func(n int) int { return n - 1 })))

var listMethods = methods{
	"append": stock(starlark.NewList(nil), "append", func(starlark.Value, starlark.Tuple, []starlark.Tuple) meter.Cost {
		return meter.Cost{Fuel: 4, Bytes: 2 * slotBytes}
	}),
	"clear": stock(starlark.NewList(nil), "clear", func(recv starlark.Value, _ starlark.Tuple, _ []starlark.Tuple) meter.Cost {
		return meter.Cost{Fuel: 2 + int64(starlark.Len(recv))/8}
	}),
	"insert": stock(starlark.NewList(nil), "insert", shifts(indexOr(func(int) int { return 0 }))),
	"pop":    listPop,
	"extend": newBuiltin("extend", steps(12), listExtend),
	"index":  newBuiltin("index", steps(1), listIndex),
	"remove": newBuiltin("remove", steps(1), listRemove),
}
