package starlark

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"agentd/builtins/meter"
	"agentd/hookpoints/payload"
)

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

// unpackable makes a value that is assigned to several targets safe to take apart: views that the
// shape of the targets goes into are shown and paid for.
func (r *run) unpackable(x starlark.Value, shape string) (starlark.Value, error) {
	x, err := r.native(x)
	if err != nil || strings.IndexByte(shape, '[') < 0 {
		return x, err
	}
	items, ok := x.(starlark.Indexable)
	if _, text := x.(starlark.String); !ok || text {
		return x, nil
	}
	if err := r.meter.Charge(slots(int64(items.Len()))); err != nil {
		return nil, err
	}
	out := make(starlark.Tuple, items.Len())
	for i := range out {
		out[i] = items.Index(i)
		inner := ""
		if inner, shape = nextTarget(shape); inner == "" {
			continue
		}
		if out[i], err = r.unpackable(out[i], inner); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// nextTarget splits a shape at its first target, and returns what is inside of that.
func nextTarget(shape string) (inner, rest string) {
	if shape == "" || shape[0] != '[' {
		return "", strings.TrimPrefix(shape, ".")
	}
	depth := 0
	for i := range len(shape) {
		switch shape[i] {
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return shape[1:i], shape[i+1:]
			}
		}
	}
	return "", ""
}

// unpacking walks x and makes each item unpackable.
type unpacking struct {
	r     *run
	inner starlark.Iterable
	shape string
}

func (u *unpacking) String() string        { return u.Type() }
func (u *unpacking) Type() string          { return u.inner.Type() }
func (u *unpacking) Freeze()               {}
func (u *unpacking) Truth() starlark.Bool  { return true }
func (u *unpacking) Hash() (uint32, error) { return 0, unhashable(u) }
func (u *unpacking) Iterate() starlark.Iterator {
	return &unpackingIterator{u.r, u.inner.Iterate(), u.shape}
}

type unpackingIterator struct {
	r     *run
	inner starlark.Iterator
	shape string
}

func (it *unpackingIterator) Next(p *starlark.Value) bool {
	if !it.inner.Next(p) {
		return false
	}
	v, err := it.r.unpackable(*p, it.shape)
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
	return x, r.meter.Charge(slots(6 * int64(bound(x))))
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
	if err := r.meter.Charge(plus(entries(0, int64(n)), meter.Cost{Bytes: dictBytes})); err != nil {
		return nil, err
	}
	d := newDict(n)
	for k, v := range kw.Entries() {
		d.set(k, k, v)
	}
	return d, nil
}
