package lua

import (
	lua "github.com/yuin/gopher-lua"

	"agentd/hookpoints/payload"
)

// sameHandle compares handles: views by what they show, opaque numbers by their value, anything else
// by being the same.
func (r *run) sameHandle(a, b *lua.LUserData) (bool, error) {
	if a == b {
		return true, nil
	}
	switch x := a.Value.(type) {
	case object:
		y, ok := b.Value.(object)
		if !ok {
			return false, nil
		}
		return r.sameTree(x.v, y.v)
	case array:
		y, ok := b.Value.(array)
		if !ok {
			return false, nil
		}
		return r.sameTree(x.v, y.v)
	case number:
		y, ok := b.Value.(number)
		if !ok {
			return false, nil
		}
		return r.sameTree(x.v, y.v)
	}
	return false, nil
}

// sameTree compares two trees of a payload by their values, the order of members aside. It pays for
// each node before it looks at it. Nesting is that of payloads, which is bounded.
func (r *run) sameTree(a, b payload.Value) (bool, error) {
	if err := r.charge(2, 0); err != nil {
		return false, err
	}
	if a == b {
		return true, nil
	}
	if a.Kind() != b.Kind() || a.Len() != b.Len() {
		return false, nil
	}
	switch a.Kind() {
	case payload.String, payload.Number:
		n := int64(min(a.TextLen(), b.TextLen()))
		if err := r.charge(n/scanPerFuel, n); err != nil {
			return false, err
		}
		if a.Kind() == payload.Number {
			return decimalOf(a.Text()) == decimalOf(b.Text()), nil
		}
		return a.TextLen() == b.TextLen() && a.Text() == b.Text(), nil
	case payload.Bool:
		return a.IsTrue() == b.IsTrue(), nil
	case payload.Array:
		for i := range a.Len() {
			if same, err := r.sameTree(a.At(i), b.At(i)); !same || err != nil {
				return false, err
			}
		}
	case payload.Object:
		for i := range a.Len() {
			other := b.Get(a.Key(i))
			if !other.Exists() {
				return false, nil
			}
			if same, err := r.sameTree(a.At(i), other); !same || err != nil {
				return false, err
			}
		}
	}
	return true, nil
}
