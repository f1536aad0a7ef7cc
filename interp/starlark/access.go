package starlark

import (
	"fmt"

	"go.starlark.net/starlark"

	"agentd/builtins/meter"
	"agentd/interp"
)

// attr is x.name. Methods win over members of the same name.
func (r *run) attr(x starlark.Value, name string) (starlark.Value, error) {
	v, err := r.lookup(x, name)
	if v == nil && err == nil {
		err = r.noAttr(x, name)
	}
	return v, err
}

// lookup returns nothing if there is no such field or method.
func (r *run) lookup(x starlark.Value, name string) (starlark.Value, error) {
	switch x := x.(type) {
	case object:
		if m := objectMethods[name]; m != nil {
			return r.bind(m, x)
		}
		if kid := x.v.Get(name); kid.Exists() {
			return r.show(kid)
		}
	case *ctxValue:
		return x.attr(r, name)
	case *module:
		if b := x.members[name]; b != nil {
			return b, nil
		}
	default:
		if m := methodsOf(x)[name]; m != nil {
			return r.bind(m, x)
		}
	}
	return nil, nil
}

// noAttr is the error of a look at a field that isn't there, with what may have been meant.
func (r *run) noAttr(x starlark.Value, name string) error {
	names, err := r.attrNames(x)
	if err != nil {
		return err
	}
	near, err := interp.Nearest(name, func(yield func(string) bool) {
		for _, v := range names {
			if !yield(string(v.(starlark.String))) {
				return
			}
		}
	}, func(fuel int64) error { return r.charge(fuel, 0) })
	if err != nil {
		return err
	}
	if near != "" {
		return fmt.Errorf("%s has no .%s field or method (did you mean .%s?)", x.Type(), name, near)
	}
	return fmt.Errorf("%s has no .%s field or method", x.Type(), name)
}

// bind makes a method of a value into a function.
func (r *run) bind(m *builtin, recv starlark.Value) (starlark.Value, error) {
	return m.value.BindReceiver(recv), r.charge(0, 64)
}

// attrNames lists what dir shows, methods first.
func (r *run) attrNames(x starlark.Value) ([]starlark.Value, error) {
	var names []string
	switch x := x.(type) {
	case *ctxValue:
		names = x.names()
	case *module:
		names = sortedNames(x.members)
	default:
		names = sortedNames(methodsOf(x))
	}
	n := len(names)
	o, isObject := x.(object)
	if isObject {
		n += o.v.Len()
	}
	if err := r.meter.Charge(slots(4 * int64(n))); err != nil {
		return nil, err
	}
	out := make([]starlark.Value, 0, n)
	for _, name := range names {
		out = append(out, starlark.String(name))
	}
	if isObject {
		for i := range o.v.Len() {
			k, err := r.showKey(o.v, i)
			if err != nil {
				return nil, err
			}
			if objectMethods[string(k)] == nil {
				out = append(out, k)
			}
		}
	}
	return out, nil
}

// index is x[k].
func (r *run) index(x, k starlark.Value) (starlark.Value, error) {
	switch x := x.(type) {
	case *dict, object:
		m, _ := mappingOf(x)
		v, ok, err := m.get(r, k)
		if err != nil {
			return nil, err
		}
		if !ok {
			text, err := r.repr(k)
			if err != nil {
				return nil, err
			}
			return nil, fmt.Errorf("key %s not in dict", text)
		}
		return v, nil
	case array:
		i, err := position32(x, k, x.v.Len())
		if err != nil {
			return nil, err
		}
		return r.show(x.v.At(i))
	case starlark.Indexable:
		i, err := position32(x, k, x.Len())
		if err != nil {
			return nil, err
		}
		return x.Index(i), nil
	}
	return nil, fmt.Errorf("unhandled index operation %s[%s]", x.Type(), k.Type())
}

// position32 reads an index, from the end if it is negative.
func position32(x, k starlark.Value, n int) (int, error) {
	at, err := starlark.AsInt32(k)
	if err != nil {
		return 0, fmt.Errorf("%s index: %s", x.Type(), err)
	}
	i := at
	if i < 0 {
		i += n
	}
	switch {
	case i >= 0 && i < n:
		return i, nil
	case n == 0:
		return 0, fmt.Errorf("index %d out of range: empty %s", at, x.Type())
	}
	return 0, fmt.Errorf("%s index %d out of range [%d:%d]", x.Type(), at, -n, n-1)
}

// setIndex is x[k] = v.
func (r *run) setIndex(x, k, v starlark.Value) error {
	switch x := x.(type) {
	case *dict:
		key, err := r.key(k)
		if err != nil {
			return err
		}
		if err := r.meter.Charge(entries(int64(x.live), 1)); err != nil {
			return err
		}
		return x.put(key, k, v)
	case object, array:
		return fmt.Errorf("cannot assign to an item of this %s: %w", x.Type(), errReadOnly)
	case starlark.HasSetIndex:
		at, err := starlark.AsInt32(k)
		if err != nil {
			return err
		}
		i, err := position32(x, starlark.MakeInt(at), x.Len())
		if err != nil {
			return err
		}
		return x.SetIndex(i, v)
	}
	return fmt.Errorf("%s value does not support item assignment", x.Type())
}

// contains is x in y.
func (r *run) contains(x, y starlark.Value) (bool, error) {
	switch y := y.(type) {
	case *starlark.List, starlark.Tuple, array:
		s, _ := sequenceOf(y)
		each := 1 + s.showing()
		for i := range s.len() {
			if err := r.charge(each, 0); err != nil {
				return false, err
			}
			item, err := s.at(r, i)
			if err != nil {
				return false, err
			}
			if eq, err := r.equal(item, x, 0); eq || err != nil {
				return eq, err
			}
		}
		return false, nil
	case *dict, object:
		m, _ := mappingOf(y)
		if m.dict == nil {
			name, ok := x.(starlark.String)
			if err := r.payKey(x, 0); !ok || err != nil {
				return false, err
			}
			return m.view.Get(string(name)).Exists(), nil
		}
		_, ok, err := m.get(r, x)
		if err != nil && !r.meter.Spent() {
			err = nil // what can't be a key is in no dict
		}
		return ok, err
	case *set:
		key, err := r.key(x)
		if err != nil {
			return false, err
		}
		return y.find(key) >= 0, nil
	case starlark.String:
		if x, ok := x.(starlark.String); ok {
			if err := r.meter.Charge(meter.Search(len(y), len(x))); err != nil {
				return false, err
			}
		}
		return y.Has(x)
	case starlark.Bytes:
		if err := r.meter.Charge(meter.Search(len(y), bound(x))); err != nil {
			return false, err
		}
		return y.Has(x)
	case starlark.Container:
		return y.Has(x) // a range
	}
	return false, fmt.Errorf("unknown binary op: %s in %s", x.Type(), y.Type())
}
