package starlark

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"agentd/hookpoints/payload"
)

// equal compares two values, views with what they show, and pays for each step before it.
func (r *run) equal(x, y starlark.Value, depth int) (bool, error) {
	switch x := x.(type) {
	case starlark.String:
		y, ok := y.(starlark.String)
		if !ok || len(x) != len(y) {
			return false, nil
		}
		if len(x) > tiny {
			if err := r.charge(int64(len(x))/comparePerFuel, 0); err != nil {
				return false, err
			}
		}
		return x == y, nil
	case starlark.Bool, starlark.NoneType, *starlark.Function:
		return x == y, nil
	case starlark.Int:
		if x == y {
			return true, nil
		}
		return r.plainCompare(syntax.EQL, x, y)
	case starlark.Float:
		return r.plainCompare(syntax.EQL, x, y)
	case starlark.Bytes:
		y, ok := y.(starlark.Bytes)
		if !ok || len(x) != len(y) {
			return false, nil
		}
		return x == y, r.charge(int64(len(x))/comparePerFuel, 0)
	case number:
		y, ok := y.(number)
		if !ok || x.v.TextLen() != y.v.TextLen() {
			return false, nil
		}
		n := int64(x.v.TextLen())
		if err := r.charge(n/comparePerFuel, 2*n); err != nil {
			return false, err
		}
		return x.v.Text() == y.v.Text(), nil
	case *starlark.List, starlark.Tuple, array:
		a, _ := sequenceOf(x)
		b, ok := sequenceOf(y)
		if !ok || a.tuple != b.tuple {
			return false, nil
		}
		return r.equalSequences(a, b, depth)
	case *dict, object:
		a, _ := mappingOf(x)
		b, ok := mappingOf(y)
		if !ok {
			return false, nil
		}
		return r.equalMappings(a, b, depth)
	case *set:
		y, ok := y.(*set)
		if !ok || x.live != y.live {
			return false, nil
		}
		return r.subset(x, y)
	case *starlark.Builtin, *decision, *module, *ctxValue:
		return x == y, nil
	}
	return starlark.Compare(syntax.EQL, x, y)
}

func (r *run) equalSequences(a, b sequence, depth int) (bool, error) {
	if a.len() != b.len() {
		return false, nil
	}
	if depth >= maxDepth {
		return false, errTooDeep
	}
	each := 1 + a.showing() + b.showing()
	for i := range a.len() {
		if err := r.charge(each, 0); err != nil {
			return false, err
		}
		x, err := a.at(r, i)
		if err != nil {
			return false, err
		}
		y, err := b.at(r, i)
		if err != nil {
			return false, err
		}
		if eq, err := r.equal(x, y, depth+1); !eq || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (r *run) equalMappings(a, b mapping, depth int) (bool, error) {
	if a.len() != b.len() {
		return false, nil
	}
	if depth >= maxDepth {
		return false, errTooDeep
	}
	for i := range a.slots() {
		k, v, err := a.entry(r, i)
		if err != nil {
			return false, err
		}
		if k == nil {
			continue
		}
		if err := r.charge(4, 0); err != nil {
			return false, err
		}
		w, ok, err := b.get(r, k)
		if !ok || err != nil {
			return false, err
		}
		if eq, err := r.equal(v, w, depth+1); !eq || err != nil {
			return false, err
		}
	}
	return true, nil
}

// order compares two values by one of < <= > >=.
func (r *run) order(op syntax.Token, x, y starlark.Value, depth int) (bool, error) {
	switch x := x.(type) {
	case starlark.Int:
		if y, ok := y.(starlark.Int); ok {
			return starlark.Compare(op, x, y)
		}
	case starlark.String:
		if y, ok := y.(starlark.String); ok {
			if n := min(len(x), len(y)); n > tiny {
				if err := r.charge(int64(n)/comparePerFuel, 0); err != nil {
					return false, err
				}
			}
			return holds(op, strings.Compare(string(x), string(y))), nil
		}
	case starlark.Bytes:
		if y, ok := y.(starlark.Bytes); ok {
			if err := r.charge(int64(min(len(x), len(y)))/comparePerFuel, 0); err != nil {
				return false, err
			}
			return holds(op, strings.Compare(string(x), string(y))), nil
		}
	case *starlark.List, starlark.Tuple, array:
		a, _ := sequenceOf(x)
		if b, ok := sequenceOf(y); ok && a.tuple == b.tuple {
			return r.orderSequences(op, a, b, depth)
		}
	case *set:
		if y, ok := y.(*set); ok {
			return r.orderSets(op, x, y)
		}
	case starlark.Bool, starlark.Float:
		return r.plainCompare(op, x, y)
	}
	if kindsDiffer(x, y) {
		return false, fmt.Errorf("%s %s %s not implemented", x.Type(), op, y.Type())
	}
	return r.plainCompare(op, x, y)
}

// plainCompare leaves the comparison to the interpreter.
func (r *run) plainCompare(op syntax.Token, x, y starlark.Value) (bool, error) {
	if isMixed(x, y) {
		if err := r.charge(mixedFuel, 0); err != nil {
			return false, err
		}
		if err := r.payMixed(x, y); err != nil {
			return false, err
		}
	}
	return starlark.Compare(op, x, y)
}

// kindsDiffer keeps the interpreter from comparing values whose types share a name, or ours.
func kindsDiffer(x, y starlark.Value) bool {
	for _, v := range []starlark.Value{x, y} {
		switch v.(type) {
		case *starlark.List, starlark.Tuple, array, *dict, object, *set, number, *decision, *module, *ctxValue:
			return true
		}
	}
	return false
}

func (r *run) orderSequences(op syntax.Token, a, b sequence, depth int) (bool, error) {
	if depth >= maxDepth {
		return false, errTooDeep
	}
	if err := r.charge(3, 0); err != nil {
		return false, err
	}
	for i := range min(a.len(), b.len()) {
		if err := r.charge(1, 0); err != nil {
			return false, err
		}
		x, err := a.at(r, i)
		if err != nil {
			return false, err
		}
		y, err := b.at(r, i)
		if err != nil {
			return false, err
		}
		eq, err := r.equal(x, y, depth+1)
		if err != nil {
			return false, err
		}
		if !eq {
			return r.order(op, x, y, depth+1)
		}
	}
	return holds(op, a.len()-b.len()), nil
}

func (r *run) orderSets(op syntax.Token, x, y *set) (bool, error) {
	switch op {
	case syntax.GT, syntax.GE:
		x, y = y, x
	}
	if x.live > y.live || (op == syntax.LT || op == syntax.GT) && x.live == y.live {
		return false, nil
	}
	return r.subset(x, y)
}

// subset reports whether everything in x is in y.
func (r *run) subset(x, y *set) (bool, error) {
	for i := x.first; i < x.size(); i++ {
		k := x.keyAt(i)
		if k == nil {
			continue
		}
		if err := r.charge(4, 0); err != nil {
			return false, err
		}
		key, err := r.key(k)
		if err != nil {
			return false, err
		}
		if y.find(key) < 0 {
			return false, nil
		}
	}
	return true, nil
}

// holds says whether a three-way comparison fulfils an operator.
func holds(op syntax.Token, c int) bool {
	switch op {
	case syntax.LT:
		return c < 0
	case syntax.LE:
		return c <= 0
	case syntax.GT:
		return c > 0
	}
	return c >= 0
}

// compare is any of the six operators.
func (r *run) compare(op syntax.Token, x, y starlark.Value) (bool, error) {
	switch op {
	case syntax.EQL:
		return r.equal(x, y, 0)
	case syntax.NEQ:
		eq, err := r.equal(x, y, 0)
		return !eq, err
	}
	return r.order(op, x, y, 0)
}

// sequence is what lists, tuples and views of arrays have in common.
type sequence struct {
	items starlark.Indexable // nil for a view
	view  payload.Value
	tuple bool
}

func sequenceOf(v starlark.Value) (sequence, bool) {
	switch v := v.(type) {
	case *starlark.List:
		return sequence{items: v}, true
	case starlark.Tuple:
		return sequence{items: v, tuple: true}, true
	case array:
		return sequence{view: v.v}, true
	}
	return sequence{}, false
}

func (s sequence) len() int {
	if s.items == nil {
		return s.view.Len()
	}
	return s.items.Len()
}

// showing is what each item costs beside the look at it.
func (s sequence) showing() int64 {
	if s.items == nil {
		return showFuel
	}
	return 0
}

func (s sequence) at(r *run, i int) (starlark.Value, error) {
	if s.items == nil {
		return r.show(s.view.At(i))
	}
	return s.items.Index(i), nil
}

// mapping is what dicts and views of objects have in common.
type mapping struct {
	dict *dict // nil for a view
	view payload.Value
}

func mappingOf(v starlark.Value) (mapping, bool) {
	switch v := v.(type) {
	case *dict:
		return mapping{dict: v}, true
	case object:
		return mapping{view: v.v}, true
	}
	return mapping{}, false
}

func (m mapping) len() int {
	if m.dict == nil {
		return m.view.Len()
	}
	return m.dict.live
}

// slots is the number of places for entries, some of which may be empty.
func (m mapping) slots() int {
	if m.dict == nil {
		return m.view.Len()
	}
	return m.dict.size()
}

// entry returns what is in a place, no key if it is empty.
func (m mapping) entry(r *run, i int) (k, v starlark.Value, err error) {
	if m.dict != nil {
		return m.dict.keyAt(i), m.dict.value(i), nil
	}
	if k, err = r.showKey(m.view, i); err == nil {
		v, err = r.show(m.view.At(i))
	}
	return k, v, err
}

// get looks a key up. One that can't be hashed is an error.
func (m mapping) get(r *run, k starlark.Value) (starlark.Value, bool, error) {
	if m.dict == nil {
		return r.member(m.view, k)
	}
	key, err := r.key(k)
	if err != nil {
		return nil, false, err
	}
	if i := m.dict.find(key); i >= 0 {
		return m.dict.value(i), true, nil
	}
	return nil, false, nil
}

// member looks a member of an object up by a value of the script.
func (r *run) member(v payload.Value, k starlark.Value) (starlark.Value, bool, error) {
	name, ok := k.(starlark.String)
	if !ok {
		_, err := r.key(k)
		return nil, false, err
	}
	if err := r.payKey(name, 0); err != nil {
		return nil, false, err
	}
	kid := v.Get(string(name))
	if !kid.Exists() {
		return nil, false, nil
	}
	out, err := r.show(kid)
	return out, err == nil, err
}
