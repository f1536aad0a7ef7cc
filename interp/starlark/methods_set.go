package starlark

import (
	"errors"
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

var setMethods = methods{
	"add":                  newBuiltin("add", steps(1), setAdd),
	"clear":                newBuiltin("clear", steps(1), setClear),
	"difference":           newBuiltin("difference", steps(1), setMethod("difference", syntax.MINUS)),
	"discard":              newBuiltin("discard", steps(1), setDiscard),
	"intersection":         newBuiltin("intersection", steps(1), setMethod("intersection", syntax.AMP)),
	"issubset":             newBuiltin("issubset", steps(1), setIsSubset),
	"issuperset":           newBuiltin("issuperset", steps(1), setIsSuperset),
	"pop":                  newBuiltin("pop", steps(2), setPop),
	"remove":               newBuiltin("remove", steps(1), setRemove),
	"symmetric_difference": newBuiltin("symmetric_difference", steps(1), setMethod("symmetric_difference", syntax.CIRCUMFLEX)),
	"union":                newBuiltin("union", steps(1), setUnion),
	"update":               newBuiltin("update", steps(1), setUpdate),
}

// insertAll puts what v yields into s.
func (r *run) insertAll(s *set, v starlark.Value) error {
	v, err := r.native(v)
	if err != nil {
		return err
	}
	it, ok := v.(starlark.Iterable)
	if !ok {
		return fmt.Errorf("got %s, want iterable", v.Type())
	}
	if v == starlark.Value(s) {
		return s.mutable("insert into")
	}
	walk := it.Iterate()
	defer walk.Done()
	var k starlark.Value
	for walk.Next(&k) {
		if err := r.meter.Charge(entries(int64(s.live), 1)); err != nil {
			return err
		}
		key, err := r.key(k)
		if err != nil {
			return err
		}
		if err := s.mutable("insert into"); err != nil {
			return err
		}
		s.set(key, k, nil)
	}
	return nil
}

// setFrom makes a set of what v yields; a set is returned as it is.
func (r *run) setFrom(v starlark.Value) (*set, error) {
	if s, ok := v.(*set); ok {
		return s, nil
	}
	s := newSet()
	if err := r.charge(1, dictBytes); err != nil {
		return nil, err
	}
	return s, r.insertAll(s, v)
}

// payClone pays for a copy of a table.
func (r *run) payClone(t *table) error {
	n := int64(t.size())
	return r.charge(1+n/copyPerFuel, dictBytes+cloneBytes*n)
}

// copySet pays for a copy and makes it.
func (r *run) copySet(s *set) (*set, error) {
	if err := r.payClone(&s.table); err != nil {
		return nil, err
	}
	return s.copy(), nil
}

// setOp is the set operators. The order is that of x, then of what y adds.
func (r *run) setOp(op syntax.Token, x, y *set) (starlark.Value, error) {
	if op == syntax.AMP {
		out := newSet()
		if err := r.charge(1, dictBytes); err != nil {
			return nil, err
		}
		return out, r.each(y, func(key any, k starlark.Value) {
			if x.find(key) >= 0 {
				out.set(key, k, nil)
			}
		})
	}
	out, err := r.copySet(x)
	if err != nil {
		return nil, err
	}
	return out, r.each(y, func(key any, k starlark.Value) {
		i := out.find(key)
		switch {
		case i >= 0 && op != syntax.PIPE:
			out.drop(i, key)
		case i < 0 && op != syntax.MINUS:
			out.set(key, k, nil)
		}
	})
}

// each walks a set, paying for one entry each.
func (r *run) each(s *set, do func(key any, k starlark.Value)) error {
	for i := s.first; i < s.size(); i++ {
		k := s.keyAt(i)
		if k == nil {
			continue
		}
		if err := r.meter.Charge(entries(int64(s.live), 1)); err != nil {
			return err
		}
		key, err := r.key(k)
		if err != nil {
			return err
		}
		do(key, k)
	}
	return nil
}

// other reads the one operand of a method as a set.
func (r *run) other(name string, args starlark.Tuple, kwargs []starlark.Tuple) (*set, error) {
	var v starlark.Value
	if err := starlark.UnpackPositionalArgs(name, args, kwargs, 1, &v); err != nil {
		return nil, err
	}
	s, err := r.setFrom(v)
	if err != nil {
		return nil, r.under(name, err)
	}
	return s, nil
}

func setMethod(name string, op syntax.Token) work {
	return func(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		y, err := r.other(name, args, kwargs)
		if err != nil {
			return nil, err
		}
		return r.setOp(op, recv.(*set), y)
	}
}

func setIsSubset(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	y, err := r.other("issubset", args, kwargs)
	if err != nil {
		return nil, err
	}
	ok, err := r.subset(recv.(*set), y)
	return starlark.Bool(ok), err
}

// setIsSuperset looks at the operand's elements one by one, so it may end before one that no set can hold.
func setIsSuperset(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	if err := starlark.UnpackPositionalArgs("issuperset", args, kwargs, 1, &v); err != nil {
		return nil, err
	}
	v, err := r.native(v)
	if err != nil {
		return nil, err
	}
	it, ok := v.(starlark.Iterable)
	if !ok {
		return nil, fmt.Errorf("issuperset: got %s, want iterable", v.Type())
	}
	walk := it.Iterate()
	defer walk.Done()
	var k starlark.Value
	for walk.Next(&k) {
		if err := r.charge(4, 0); err != nil {
			return nil, err
		}
		key, err := r.key(k)
		if err != nil {
			return nil, r.under("issuperset", err)
		}
		if recv.(*set).find(key) < 0 {
			return starlark.False, nil
		}
	}
	return starlark.True, nil
}

// element reads the one operand of a method as a key.
func (r *run) element(name string, args starlark.Tuple, kwargs []starlark.Tuple) (key any, k starlark.Value, err error) {
	if err := starlark.UnpackPositionalArgs(name, args, kwargs, 1, &k); err != nil {
		return nil, nil, err
	}
	if key, err = r.key(k); err != nil {
		return nil, nil, r.under(name, err)
	}
	return key, k, nil
}

func setAdd(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	s := recv.(*set)
	key, k, err := r.element("add", args, kwargs)
	if err != nil {
		return nil, err
	}
	if err := s.mutable("insert into"); err != nil {
		return nil, r.under("add", err)
	}
	if err := r.meter.Charge(entries(int64(s.live), 1)); err != nil {
		return nil, err
	}
	s.set(key, k, nil)
	return starlark.None, nil
}

func setDiscard(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	s := recv.(*set)
	key, _, err := r.element("discard", args, kwargs)
	if err != nil {
		return nil, err
	}
	if err := s.mutable("delete from"); err != nil {
		return nil, r.under("discard", err)
	}
	if i := s.find(key); i >= 0 {
		s.drop(i, key)
	}
	return starlark.None, nil
}

func setRemove(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	s := recv.(*set)
	key, _, err := r.element("remove", args, kwargs)
	if err != nil {
		return nil, err
	}
	if err := s.mutable("delete from"); err != nil {
		return nil, r.under("remove", err)
	}
	i := s.find(key)
	if i < 0 {
		return nil, errors.New("remove: missing key")
	}
	s.drop(i, key)
	return starlark.None, nil
}

func setPop(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := starlark.UnpackPositionalArgs("pop", args, kwargs, 0); err != nil {
		return nil, err
	}
	s := recv.(*set)
	if s.live == 0 {
		return nil, errors.New("pop: empty set")
	}
	if err := s.mutable("delete from"); err != nil {
		return nil, r.under("pop", err)
	}
	k := s.keyAt(s.first)
	key, err := r.key(k)
	if err != nil {
		return nil, err
	}
	s.drop(s.first, key)
	return k, nil
}

func setClear(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := starlark.UnpackPositionalArgs("clear", args, kwargs, 0); err != nil {
		return nil, err
	}
	s := recv.(*set)
	if s.live == 0 {
		return starlark.None, nil
	}
	if err := s.mutable("clear"); err != nil {
		return nil, r.under("clear", err)
	}
	s.reset()
	return starlark.None, nil
}

func setUnion(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	out, err := r.copySet(recv.(*set))
	if err != nil {
		return nil, err
	}
	return out, r.insertEach("union", out, args, kwargs)
}

func setUpdate(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	return starlark.None, r.insertEach("update", recv.(*set), args, kwargs)
}

func (r *run) insertEach(name string, s *set, args starlark.Tuple, kwargs []starlark.Tuple) error {
	if len(kwargs) > 0 {
		return fmt.Errorf("%s: does not accept keyword arguments", name)
	}
	for i, a := range args {
		switch a.(type) {
		case array, object, starlark.Iterable:
		default:
			return fmt.Errorf("%s: argument #%d is not iterable: %s", name, i+1, a.Type())
		}
		if err := r.insertAll(s, a); err != nil {
			return r.under(name, err)
		}
	}
	return nil
}
