package starlark

import (
	"errors"
	"strings"

	"go.starlark.net/starlark"
)

func appendList(dst []starlark.Value, l *starlark.List) []starlark.Value {
	for i := range l.Len() {
		dst = append(dst, l.Index(i))
	}
	return dst
}

// addLists joins a list and a view: the items of the view are shown, as list(view) does.
func (r *run) addLists(x, y starlark.Value) (starlark.Value, error) {
	a, _ := sequenceOf(x)
	b, _ := sequenceOf(y)
	if err := r.meter.Charge(slots(2 * int64(a.len()+b.len()))); err != nil {
		return nil, err
	}
	items := make([]starlark.Value, 0, a.len()+b.len())
	for _, s := range []sequence{a, b} {
		for i := range s.len() {
			v, err := s.at(r, i)
			if err != nil {
				return nil, err
			}
			items = append(items, v)
		}
	}
	return starlark.NewList(items), nil
}

// joinViews makes a view of the items of both, which stay as they came.
func (r *run) joinViews(x, y array) (starlark.Value, error) {
	n := int64(x.v.Len() + y.v.Len())
	if err := r.charge(1+n, nodeBytes+8*n); err != nil {
		return nil, err
	}
	out, err := r.bounded(extended(x.v, y.v))
	return array{out}, err
}

// extend appends what y yields to l; it reports false if y yields nothing at all.
func (r *run) extend(l *starlark.List, y starlark.Value, verb string) (bool, error) {
	y, err := r.native(y)
	if err != nil {
		return false, err
	}
	it, ok := y.(starlark.Iterable)
	if !ok {
		return false, nil
	}
	if err := r.payWalk(y, 3); err != nil {
		return false, err
	}
	return true, extendList(l, it, verb)
}

// extendList uses the interpreter's own method, which is amortised and knows about self-extension.
func extendList(l *starlark.List, it starlark.Iterable, verb string) error {
	if err := mutableList(l, verb); err != nil {
		return err
	}
	m, err := l.Attr("extend")
	if err != nil {
		return err
	}
	_, err = m.(*starlark.Builtin).CallInternal(nil, starlark.Tuple{it}, nil)
	return err
}

// mutableList says why a list can't be changed; extending it by nothing is the only way to ask.
func mutableList(l *starlark.List, verb string) error {
	m, err := l.Attr("extend")
	if err != nil {
		return err
	}
	if _, err := m.(*starlark.Builtin).CallInternal(nil, starlark.Tuple{starlark.Tuple(nil)}, nil); err != nil {
		return errors.New(strings.Replace(err.Error(), "extend: cannot extend", "cannot "+verb, 1))
	}
	return nil
}
