package starlark

import (
	"errors"
	"fmt"

	"go.starlark.net/starlark"

	"agentd/builtins/meter"
)

// entriesPrice pays for making something of each entry of the receiver.
func entriesPrice(each int64) price {
	return func(recv starlark.Value, _ starlark.Tuple, _ []starlark.Tuple) meter.Cost {
		m, _ := mappingOf(recv)
		n := int64(m.slots())
		fuel := n / copyPerFuel
		if m.dict == nil {
			fuel += n * showFuel
		}
		return meter.Cost{Fuel: 1 + fuel, Bytes: headerBytes + n*each}
	}
}

var dictMethods = func() methods {
	all := methods{
		"clear":      newBuiltin("clear", steps(1), dictClear),
		"pop":        newBuiltin("pop", steps(1), dictPop),
		"popitem":    newBuiltin("popitem", steps(2), dictPopItem),
		"setdefault": newBuiltin("setdefault", steps(1), dictSetDefault),
		"update":     newBuiltin("update", steps(1), dictUpdate),
	}
	for name, m := range objectMethods {
		all[name] = m
	}
	return all
}()

// objectMethods are those that dicts and views of objects share.
var objectMethods = methods{
	"get":    newBuiltin("get", steps(0), mappingGet),
	"items":  newBuiltin("items", entriesPrice(slotBytes+2*headerBytes+2*slotBytes), mappingItems),
	"keys":   newBuiltin("keys", entriesPrice(slotBytes), mappingKeys),
	"values": newBuiltin("values", entriesPrice(slotBytes), mappingValues),
}

func mappingGet(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(kwargs) > 0 || len(args) < 1 || len(args) > 2 {
		var k, d starlark.Value
		if err := starlark.UnpackPositionalArgs("get", args, kwargs, 1, &k, &d); err != nil {
			return nil, err
		}
	}
	m, _ := mappingOf(recv)
	v, ok, err := m.get(r, args[0])
	switch {
	case err != nil:
		return nil, r.under("get", err)
	case ok:
		return v, nil
	case len(args) == 2:
		return args[1], nil
	}
	return starlark.None, nil
}

// under puts the name of a method before its error, but not before the budget's.
func (r *run) under(name string, err error) error {
	if r.meter.Spent() {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

func mappingItems(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	return r.entries("items", recv, args, kwargs, func(k, v starlark.Value) starlark.Value { return starlark.Tuple{k, v} })
}

func mappingKeys(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if o, ok := recv.(object); ok && len(args)+len(kwargs) == 0 {
		keys, err := r.showKeys(o.v)
		return starlark.NewList(keys), err
	}
	return r.entries("keys", recv, args, kwargs, func(k, _ starlark.Value) starlark.Value { return k })
}

func mappingValues(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	return r.entries("values", recv, args, kwargs, func(_, v starlark.Value) starlark.Value { return v })
}

func (r *run) entries(name string, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple, of func(k, v starlark.Value) starlark.Value) (starlark.Value, error) {
	if err := starlark.UnpackPositionalArgs(name, args, kwargs, 0); err != nil {
		return nil, err
	}
	m, _ := mappingOf(recv)
	out := make([]starlark.Value, 0, m.len())
	for i := range m.slots() {
		k, v, err := m.entry(r, i)
		if err != nil {
			return nil, err
		}
		if k != nil {
			out = append(out, of(k, v))
		}
	}
	return starlark.NewList(out), nil
}

func dictClear(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := starlark.UnpackPositionalArgs("clear", args, kwargs, 0); err != nil {
		return nil, err
	}
	d := recv.(*dict)
	if err := d.mutable("clear"); err != nil {
		return nil, err
	}
	d.reset()
	return starlark.None, nil
}

func dictPop(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var k, fallback starlark.Value
	if err := starlark.UnpackPositionalArgs("pop", args, kwargs, 1, &k, &fallback); err != nil {
		return nil, err
	}
	d := recv.(*dict)
	if err := d.mutable("delete from"); err != nil {
		return nil, r.under("pop", err)
	}
	key, err := r.key(k)
	if err != nil {
		return nil, r.under("pop", err)
	}
	if i := d.find(key); i >= 0 {
		v := d.value(i)
		d.drop(i, key)
		return v, nil
	}
	if fallback != nil {
		return fallback, nil
	}
	return nil, errors.New("pop: missing key")
}

func dictPopItem(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := starlark.UnpackPositionalArgs("popitem", args, kwargs, 0); err != nil {
		return nil, err
	}
	d := recv.(*dict)
	if d.live == 0 {
		return nil, errors.New("popitem: empty dict")
	}
	if err := d.mutable("delete from"); err != nil {
		return nil, r.under("popitem", err)
	}
	k, v := d.keyAt(d.first), d.value(d.first)
	key, err := r.key(k)
	if err != nil {
		return nil, err
	}
	d.drop(d.first, key)
	return starlark.Tuple{k, v}, nil
}

func dictSetDefault(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var k, v starlark.Value = nil, starlark.None
	if err := starlark.UnpackPositionalArgs("setdefault", args, kwargs, 1, &k, &v); err != nil {
		return nil, err
	}
	d := recv.(*dict)
	key, err := r.key(k)
	if err != nil {
		return nil, r.under("setdefault", err)
	}
	if i := d.find(key); i >= 0 {
		return d.value(i), nil
	}
	if err := r.meter.Charge(entries(int64(d.live), 1)); err != nil {
		return nil, err
	}
	if err := d.put(key, k, v); err != nil {
		return nil, r.under("setdefault", err)
	}
	return v, nil
}

func dictUpdate(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) > 1 {
		return nil, fmt.Errorf("update: got %d arguments, want at most 1", len(args))
	}
	if err := r.fill(recv.(*dict), args, kwargs); err != nil {
		return nil, r.under("update", err)
	}
	return starlark.None, nil
}

// fill is what dict(...) and update have in common: a mapping or an iterable of pairs, then names.
func (r *run) fill(d *dict, args starlark.Tuple, kwargs []starlark.Tuple) error {
	if len(args) == 1 {
		if err := r.fillFrom(d, args[0]); err != nil {
			return err
		}
	}
	if len(kwargs) == 0 {
		return nil
	}
	if err := r.meter.Charge(entries(int64(d.live), int64(len(kwargs)))); err != nil {
		return err
	}
	seen := make(map[starlark.String]bool, len(kwargs))
	for _, kv := range kwargs {
		k := kv[0].(starlark.String)
		if seen[k] {
			return fmt.Errorf("duplicate keyword arg: %v", k)
		}
		seen[k] = true
		if err := d.put(k, k, kv[1]); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) fillFrom(d *dict, from starlark.Value) error {
	if m, ok := mappingOf(from); ok {
		if err := r.meter.Charge(entries(int64(d.live), int64(m.slots()))); err != nil {
			return err
		}
		if m.dict != nil {
			return r.update(d, m.dict)
		}
		e, err := r.copyDict(object{m.view})
		if err != nil {
			return err
		}
		return r.update(d, e)
	}
	from, err := r.native(from)
	if err != nil {
		return err
	}
	it, ok := from.(starlark.Iterable)
	if !ok {
		return fmt.Errorf("got %s, want iterable", from.Type())
	}
	walk := it.Iterate()
	defer walk.Done()
	var pair starlark.Value
	for i := 0; walk.Next(&pair); i++ {
		if err := r.meter.Charge(plus(entries(int64(d.live), 1), meter.Cost{Fuel: pairFuel})); err != nil {
			return err
		}
		k, v, err := r.pair(pair, i)
		if err != nil {
			return err
		}
		key, err := r.key(k)
		if err != nil {
			return err
		}
		if err := d.put(key, k, v); err != nil {
			return err
		}
	}
	return nil
}

// pairFuel is what it takes to take a pair apart.
const pairFuel = 4

// pair takes an element of an update apart.
func (r *run) pair(v starlark.Value, i int) (k, item starlark.Value, err error) {
	if n := lengthOf(v); n >= 0 && n != 2 {
		if _, text := v.(starlark.String); !text {
			return nil, nil, fmt.Errorf("dictionary update sequence element #%d has length %d, want 2", i, n)
		}
	}
	v, err = r.native(v)
	if err != nil {
		return nil, nil, err
	}
	it, ok := v.(starlark.Iterable)
	if !ok {
		return nil, nil, fmt.Errorf("dictionary update sequence element #%d is not iterable (%s)", i, v.Type())
	}
	if n := starlark.Len(v); n < 0 {
		return nil, nil, fmt.Errorf("dictionary update sequence element #%d has unknown length (%s)", i, v.Type())
	}
	walk := it.Iterate()
	defer walk.Done()
	walk.Next(&k)
	walk.Next(&item)
	return k, item, nil
}

// lengthOf is starlark.Len for all values, views among them; -1 if there is none.
func lengthOf(v starlark.Value) int {
	switch v := v.(type) {
	case array:
		return v.v.Len()
	case object:
		return v.v.Len()
	}
	return starlark.Len(v)
}
