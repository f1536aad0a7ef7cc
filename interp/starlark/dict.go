package starlark

import (
	"go.starlark.net/starlark"
)

// dict is the dialect's mutable mapping. It differs from the interpreter's own in that its hashes are
// seeded, that a small one is small, and that nothing but metered builtins does work on it.
type dict struct{ table }

func newDict(entries int) *dict {
	return &dict{table{stride: 2, cells: make([]starlark.Value, 0, 2*entries)}}
}

var (
	_ starlark.IterableMapping = (*dict)(nil)
	_ starlark.HasSetKey       = (*dict)(nil)
	_ starlark.Sequence        = (*dict)(nil)
)

func (d *dict) String() string             { return preview(d) }
func (d *dict) Type() string               { return "dict" }
func (d *dict) Freeze()                    { d.freeze() }
func (d *dict) Truth() starlark.Bool       { return d.live > 0 }
func (d *dict) Hash() (uint32, error)      { return 0, unhashable(d) }
func (d *dict) Len() int                   { return d.live }
func (d *dict) Iterate() starlark.Iterator { return d.iterate() }
func (d *dict) value(i int) starlark.Value { return d.cells[2*i+1] }
func (d *dict) copy() *dict                { return &dict{d.clone()} }
func (d *dict) put(key any, k, v starlark.Value) error {
	if err := d.mutable("insert into"); err != nil {
		return err
	}
	d.set(key, k, v)
	return nil
}

// Get implements starlark.Mapping. The key has been paid for.
func (d *dict) Get(k starlark.Value) (starlark.Value, bool, error) {
	key, err := keyOf(k)
	if err != nil {
		return nil, false, err
	}
	if i := d.find(key); i >= 0 {
		return d.value(i), true, nil
	}
	return nil, false, nil
}

// SetKey implements starlark.HasSetKey, for targets of an assignment to several. The key and the
// entry have been paid for.
func (d *dict) SetKey(k, v starlark.Value) error {
	if err := d.mutable("insert into"); err != nil {
		return err
	}
	key, err := keyOf(k)
	if err != nil {
		return err
	}
	d.set(key, k, v)
	return nil
}

// Items implements starlark.IterableMapping.
func (d *dict) Items() []starlark.Tuple {
	out := make([]starlark.Tuple, 0, d.live)
	pairs := make(starlark.Tuple, 0, 2*d.live)
	for k, v := range d.entries {
		n := len(pairs)
		pairs = append(pairs, k, v)
		out = append(out, pairs[n:n+2:n+2])
	}
	return out
}

func (d *dict) entries(yield func(k, v starlark.Value) bool) {
	for i := d.first; i < d.size(); i++ {
		if k := d.keyAt(i); k != nil && !yield(k, d.value(i)) {
			return
		}
	}
}

// set is the dialect's set.
type set struct{ table }

func newSet() *set { return &set{table{stride: 1}} }

var _ starlark.Sequence = (*set)(nil)

func (s *set) String() string             { return preview(s) }
func (s *set) Type() string               { return "set" }
func (s *set) Freeze()                    { s.freeze() }
func (s *set) Truth() starlark.Bool       { return s.live > 0 }
func (s *set) Hash() (uint32, error)      { return 0, unhashable(s) }
func (s *set) Len() int                   { return s.live }
func (s *set) Iterate() starlark.Iterator { return s.iterate() }
func (s *set) copy() *set                 { return &set{s.clone()} }
