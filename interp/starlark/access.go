package starlark

import (
	"fmt"

	"go.starlark.net/starlark"

	"agentd/hookpoints/payload"
)

// attr is x.name. Methods win over members of the same name.
func (r *run) attr(x starlark.Value, name string) (starlark.Value, error) {
	switch x := x.(type) {
	case object:
		if m := objectMethods[name]; m != nil {
			return r.bind(m, x)
		}
		if kid := x.v.Get(name); kid.Exists() {
			return r.show(kid)
		}
	case *ctxValue:
		if v, err := x.attr(r, name); v != nil || err != nil {
			return v, err
		}
	case *module:
		if b := x.members[name]; b != nil {
			return b, nil
		}
	default:
		if m := methodsOf(x)[name]; m != nil {
			return r.bind(m, x)
		}
	}
	return nil, r.noAttr(x, name)
}

// noAttr is the error of a look at a field that isn't there, with what may have been meant.
func (r *run) noAttr(x starlark.Value, name string) error {
	names, err := r.attrNames(x)
	if err != nil {
		return err
	}
	near, err := r.nearest(name, names)
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
	if err := r.meter.Charge(slots(2 * int64(n))); err != nil {
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
		if err := r.charge(1, entryBytes); err != nil {
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

// slice is x[lo:hi:step].
func (r *run) slice(x, lo, hi, step starlark.Value) (starlark.Value, error) {
	switch x := x.(type) {
	case starlark.String:
		if step != starlark.None {
			if err := r.charge(int64(len(x))/scanPerFuel, int64(len(x))); err != nil {
				return nil, err
			}
		}
	case starlark.Bytes:
		if step != starlark.None {
			if err := r.charge(int64(len(x))/scanPerFuel, int64(len(x))); err != nil {
				return nil, err
			}
		}
	case *starlark.List, starlark.Tuple:
		from, to, by, err := sliceBounds(starlark.Len(x), lo, hi, step)
		if err != nil {
			return nil, err
		}
		if err := r.meter.Charge(slots(2 * countOf(from, to, by))); err != nil {
			return nil, err
		}
		return x.(starlark.Sliceable).Slice(from, to, by), nil
	case array:
		return r.sliceView(x, lo, hi, step)
	}
	s, ok := x.(starlark.Sliceable)
	if !ok {
		return nil, fmt.Errorf("invalid slice operand %s", x.Type())
	}
	from, to, by, err := sliceBounds(s.Len(), lo, hi, step)
	if err != nil {
		return nil, err
	}
	return s.Slice(from, to, by), nil
}

// sliceView is a view of some of the items, which stay as they came.
func (r *run) sliceView(x array, lo, hi, step starlark.Value) (starlark.Value, error) {
	from, to, by, err := sliceBounds(x.v.Len(), lo, hi, step)
	if err != nil {
		return nil, err
	}
	n := countOf(from, to, by)
	if err := r.charge(1+n/copyPerFuel, nodeBytes+8*n); err != nil {
		return nil, err
	}
	items := make([]payload.Value, 0, n)
	for i := from; i < to && by > 0 || i > to && by < 0; i += by {
		items = append(items, x.v.At(i))
	}
	return array{payload.NewArray(items)}, nil
}

func countOf(from, to, by int) int64 {
	switch {
	case by > 0 && to > from:
		return int64((to-from-1)/by + 1)
	case by < 0 && from > to:
		return int64((from-to-1)/-by + 1)
	}
	return 0
}

// sliceBounds turns operands, None if they weren't given, into bounds that a Sliceable takes.
func sliceBounds(n int, lo, hi, step starlark.Value) (from, to, by int, err error) {
	by = 1
	if step != starlark.None {
		if by, err = starlark.AsInt32(step); err != nil {
			return 0, 0, 0, fmt.Errorf("invalid slice step: %s", err)
		}
		if by == 0 {
			return 0, 0, 0, fmt.Errorf("zero is not a valid slice step")
		}
	}
	first, last := 0, n // the range that bounds are held to, and their defaults
	if by < 0 {
		first, last = -1, n-1
	}
	from, to = first, last
	if by < 0 {
		from, to = last, first
	}
	for _, b := range []struct {
		v    starlark.Value
		name string
		at   *int
	}{{lo, "start", &from}, {hi, "end", &to}} {
		if b.v == starlark.None {
			continue
		}
		i, err := starlark.AsInt32(b.v)
		if err != nil {
			return 0, 0, 0, fmt.Errorf("invalid %s index: %s", b.name, err)
		}
		if i < 0 {
			i += n
		}
		*b.at = min(max(i, first), last)
	}
	if by > 0 {
		return from, max(from, to), by, nil
	}
	return max(from, to), to, by, nil
}

// contains is x in y.
func (r *run) contains(x, y starlark.Value) (bool, error) {
	switch y := y.(type) {
	case *starlark.List, starlark.Tuple, array:
		s, _ := sequenceOf(y)
		for i := range s.len() {
			if err := r.charge(1, 0); err != nil {
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
			if err := r.meter.Charge(search(len(y), len(x))); err != nil {
				return false, err
			}
		}
		return y.Has(x)
	case starlark.Bytes:
		if err := r.meter.Charge(search(len(y), bound(x))); err != nil {
			return false, err
		}
		return y.Has(x)
	case starlark.Container:
		return y.Has(x) // a range
	}
	return false, fmt.Errorf("unknown binary op: %s in %s", x.Type(), y.Type())
}

// iterable is what a for loop walks in place of x: a view's items, paid for one by one.
func (r *run) iterable(x starlark.Value) starlark.Value {
	switch x := x.(type) {
	case array:
		return &viewItems{r, x.v}
	case object:
		return &viewItems{r, x.v}
	}
	return x
}

// viewItems yields what a view holds. When the budget ends it yields nothing more, and the
// interpreter stops at its next step.
type viewItems struct {
	r *run
	v payload.Value
}

func (s *viewItems) String() string        { return s.Type() }
func (s *viewItems) Type() string          { return "view" }
func (s *viewItems) Freeze()               {}
func (s *viewItems) Truth() starlark.Bool  { return true }
func (s *viewItems) Hash() (uint32, error) { return 0, unhashable(s) }
func (s *viewItems) Iterate() starlark.Iterator {
	return &viewIterator{s.r, s.v, 0}
}

type viewIterator struct {
	r *run
	v payload.Value
	i int
}

func (it *viewIterator) Next(p *starlark.Value) bool {
	if it.i >= it.v.Len() {
		return false
	}
	var out starlark.Value
	var err error
	if it.v.Kind() == payload.Object {
		out, err = it.r.showKey(it.v, it.i)
	} else {
		out, err = it.r.show(it.v.At(it.i))
	}
	if err != nil {
		return false
	}
	it.i++
	*p = out
	return true
}

func (*viewIterator) Done() {}

// unpackable makes a value that is assigned to several targets safe to take apart: views in it, down
// to so many levels, are shown and paid for.
func (r *run) unpackable(x starlark.Value, levels int) (starlark.Value, error) {
	x, err := r.native(x)
	if err != nil || levels <= 1 {
		return x, err
	}
	s, ok := sequenceOf(x)
	if !ok {
		return x, nil
	}
	if err := r.meter.Charge(slots(int64(s.len()))); err != nil {
		return nil, err
	}
	out := make(starlark.Tuple, s.len())
	for i := range out {
		item, err := s.at(r, i)
		if err != nil {
			return nil, err
		}
		if out[i], err = r.unpackable(item, levels-1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// unpacking walks x and makes each item unpackable.
type unpacking struct {
	r      *run
	inner  starlark.Iterable
	levels int
}

func (u *unpacking) String() string        { return u.Type() }
func (u *unpacking) Type() string          { return u.inner.Type() }
func (u *unpacking) Freeze()               {}
func (u *unpacking) Truth() starlark.Bool  { return true }
func (u *unpacking) Hash() (uint32, error) { return 0, unhashable(u) }
func (u *unpacking) Iterate() starlark.Iterator {
	return &unpackingIterator{u.r, u.inner.Iterate(), u.levels}
}

type unpackingIterator struct {
	r      *run
	inner  starlark.Iterator
	levels int
}

func (it *unpackingIterator) Next(p *starlark.Value) bool {
	if !it.inner.Next(p) {
		return false
	}
	v, err := it.r.unpackable(*p, it.levels)
	*p = v
	return err == nil
}

func (it *unpackingIterator) Done() { it.inner.Done() }

// spread is the operand of *x in a call.
func (r *run) spread(x starlark.Value) (starlark.Value, error) {
	x, err := r.native(x)
	if err != nil {
		return nil, err
	}
	return x, r.meter.Charge(slots(3 * int64(bound(x))))
}

// maxNamed is the largest **x, as many as the interpreter takes named arguments in a call.
const maxNamed = 255

// spreadNamed is the operand of **x in a call.
func (r *run) spreadNamed(x starlark.Value) (starlark.Value, error) {
	if o, ok := x.(object); ok {
		d, err := r.copyDict(o)
		if err != nil {
			return nil, err
		}
		x = d
	}
	if d, ok := x.(*dict); ok {
		if d.live > maxNamed {
			return nil, fmt.Errorf("%d keyword arguments in call, limit is %d", d.live, maxNamed)
		}
		n := int64(d.live)
		return x, r.charge(8*n, entryBytes*n)
	}
	return x, nil
}

// named turns a function's **kwargs, which the interpreter made, into a dict of ours.
func (r *run) named(x starlark.Value) (starlark.Value, error) {
	kw := x.(*starlark.Dict)
	n := kw.Len()
	if err := r.charge(int64(n), dictBytes+entryBytes*int64(n)); err != nil {
		return nil, err
	}
	d := newDict(n)
	for k, v := range kw.Entries() {
		d.set(k, k, v)
	}
	return d, nil
}
