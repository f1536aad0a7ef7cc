package starlark

import (
	"errors"
	"math/big"
	"slices"

	"go.starlark.net/starlark"

	"agentd/builtins/meter"
	"agentd/hookpoints/payload"
)

// Views show a payload's tree to a script. They are bare pointers to its nodes, so making one costs
// nothing and passing one back gives the very node. They fulfil none of the interpreter's interfaces
// for mappings and sequences on purpose: only metered builtins can look into them.
type (
	object struct{ v payload.Value } // type "dict", read-only
	array  struct{ v payload.Value } // type "list", read-only
	number struct{ v payload.Value } // a number that neither int nor float can hold
)

func (o object) String() string        { return preview(o) }
func (o object) Type() string          { return "dict" }
func (o object) Freeze()               {}
func (o object) Truth() starlark.Bool  { return o.v.Len() > 0 }
func (o object) Hash() (uint32, error) { return 0, unhashable(o) }

func (a array) String() string        { return preview(a) }
func (a array) Type() string          { return "list" }
func (a array) Freeze()               {}
func (a array) Truth() starlark.Bool  { return a.v.Len() > 0 }
func (a array) Hash() (uint32, error) { return 0, unhashable(a) }

func (n number) String() string        { return preview(n) }
func (n number) Type() string          { return "number" }
func (n number) Freeze()               {}
func (n number) Truth() starlark.Bool  { return true }
func (n number) Hash() (uint32, error) { return 0, unhashable(n) }

// errReadOnly is what every write to a view ends with.
var errReadOnly = errors.New("it is read-only; dict(x) or list(x) makes a copy that can be changed")

// maxDigits is the longest integer of a payload that becomes an int.
const maxDigits = 400

// tiny is the length of text that the call that shows it has paid for.
const tiny = 64

// show turns a node into a value of the script: scalars are copied and paid for by their length,
// objects and arrays become views.
func (r *run) show(v payload.Value) (starlark.Value, error) {
	switch v.Kind() {
	case payload.Object:
		return object{v}, nil
	case payload.Array:
		return array{v}, nil
	case payload.String:
		if n := v.TextLen(); n > tiny {
			if err := r.charge(0, int64(n)); err != nil {
				return nil, err
			}
		}
		return starlark.String(v.Text()), nil
	case payload.Number:
		if i, ok := v.Int64(); ok {
			return starlark.MakeInt64(i), nil
		}
		if n := int64(v.TextLen()); n > tiny {
			if err := r.charge(n/4, n); err != nil {
				return nil, err
			}
		}
		return numberOf(v), nil
	case payload.Bool:
		return starlark.Bool(v.IsTrue()), nil
	}
	return starlark.None, nil
}

// numberOf is exact for integers up to maxDigits, a float for decimals in range, and opaque else.
func numberOf(v payload.Value) starlark.Value {
	s := v.Text()
	if isInteger(s) {
		if len(s) <= maxDigits+1 && len(s)-len(signOf(s)) <= maxDigits {
			if z, ok := new(big.Int).SetString(s, 10); ok {
				return starlark.MakeBigInt(z)
			}
		}
		return number{v}
	}
	if f, ok := v.Float64(); ok {
		return starlark.Float(f)
	}
	return number{v}
}

func isInteger(s string) bool {
	for i := range len(s) {
		if c := s[i]; c == '.' || c == 'e' || c == 'E' {
			return false
		}
	}
	return true
}

func signOf(s string) string {
	if s != "" && s[0] == '-' {
		return s[:1]
	}
	return ""
}

// showItems shows the values of a node.
func (r *run) showItems(v payload.Value) ([]starlark.Value, error) {
	n := v.Len()
	if err := r.meter.Charge(plus(slots(int64(n)), meter.Cost{Fuel: int64(n) * showFuel})); err != nil {
		return nil, err
	}
	out := make([]starlark.Value, n)
	for i := range out {
		item, err := r.show(v.At(i))
		if err != nil {
			return nil, err
		}
		out[i] = item
	}
	return out, nil
}

// showKey shows the name of a member.
func (r *run) showKey(v payload.Value, i int) (starlark.String, error) {
	k := v.Key(i)
	return starlark.String(k), r.charge(0, slotBytes)
}

func (r *run) showKeys(v payload.Value) ([]starlark.Value, error) {
	n := v.Len()
	if err := r.meter.Charge(slots(int64(n))); err != nil {
		return nil, err
	}
	out := make([]starlark.Value, n)
	for i := range out {
		k, err := r.showKey(v, i)
		if err != nil {
			return nil, err
		}
		out[i] = k
	}
	return out, nil
}

// native returns an iterable that stock builtins can walk without further charge: views are shown
// and paid for, everything else is returned as it is.
func (r *run) native(v starlark.Value) (starlark.Value, error) {
	var items []starlark.Value
	var err error
	switch v := v.(type) {
	case array:
		items, err = r.showItems(v.v)
	case object:
		items, err = r.showKeys(v.v)
	default:
		return v, nil
	}
	return starlark.Tuple(items), err
}

// copyDict is the mutable copy of a view; what is nested stays a view.
func (r *run) copyDict(o object) (*dict, error) {
	n := o.v.Len()
	c := plus(entries(0, int64(n)), meter.Cost{Fuel: int64(n) * showFuel, Bytes: dictBytes})
	if err := r.meter.Charge(c); err != nil {
		return nil, err
	}
	d := newDict(n)
	for i := range n {
		k, err := r.showKey(o.v, i)
		if err != nil {
			return nil, err
		}
		v, err := r.show(o.v.At(i))
		if err != nil {
			return nil, err
		}
		d.set(k, k, v)
	}
	return d, nil
}

// extended is the view of l's items and then r's.
func extended(l, r payload.Value) payload.Value {
	items := make([]payload.Value, 0, l.Len()+r.Len())
	items = slices.AppendSeq(items, l.Items())
	return payload.NewArray(slices.AppendSeq(items, r.Items()))
}
