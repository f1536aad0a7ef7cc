package starlark

import (
	"fmt"
	"maps"
	"slices"

	"go.starlark.net/starlark"
)

// table holds the entries of a dict or a set in the order in which they came. Small ones are walked,
// larger ones have an index. A frozen table is never written, so it can be read by many.
type table struct {
	cells  []starlark.Value // stride of them an entry, the key first; a nil key was deleted
	stride int
	at     map[any]int32 // entry by key, nil while the table is small
	first  int           // no entry before it lives
	live   int
	iters  int
	frozen bool
}

// small is the largest table without an index.
const small = 8

func (t *table) size() int { return len(t.cells) / t.stride }

func (t *table) keyAt(i int) starlark.Value { return t.cells[i*t.stride] }

// find returns the entry of a key, -1 if there is none.
func (t *table) find(key any) int {
	if t.at != nil {
		if i, ok := t.at[key]; ok {
			return int(i)
		}
		return -1
	}
	if s, ok := key.(starlark.String); ok {
		for i := 0; i < len(t.cells); i += t.stride {
			if k, ok := t.cells[i].(starlark.String); ok && k == s {
				return i / t.stride
			}
		}
		return -1
	}
	for i := 0; i < len(t.cells); i += t.stride {
		if _, text := t.cells[i].(starlark.String); text {
			continue
		}
		if k, err := keyOf(t.cells[i]); err == nil && k == key {
			return i / t.stride
		}
	}
	return -1
}

// set inserts or replaces. It reports whether the key is new.
func (t *table) set(key any, k, v starlark.Value) bool {
	if i := t.find(key); i >= 0 {
		if t.stride == 2 {
			t.cells[i*2+1] = v
		}
		return false
	}
	n := t.size()
	t.cells = append(t.cells, k)
	if t.stride == 2 {
		t.cells = append(t.cells, v)
	}
	t.live++
	if t.at == nil && (n >= small || !cheapKey(key)) {
		t.buildIndex()
	} else if t.at != nil {
		t.at[key] = int32(n)
	}
	return true
}

// cheapKey reports whether a key can be made again in no time.
func cheapKey(key any) bool {
	_, tuple := key.(tupleKey)
	return !tuple
}

func (t *table) buildIndex() {
	t.at = make(map[any]int32, t.size()+1)
	for i := range t.size() {
		if k, err := keyOf(t.keyAt(i)); err == nil {
			t.at[k] = int32(i)
		}
	}
}

// drop deletes entry i.
func (t *table) drop(i int, key any) {
	t.live--
	if t.at == nil {
		t.cells = slices.Delete(t.cells, i*t.stride, (i+1)*t.stride)
		return
	}
	delete(t.at, key)
	clear(t.cells[i*t.stride : (i+1)*t.stride])
	for t.first < t.size() && t.keyAt(t.first) == nil {
		t.first++
	}
	if dead := t.size() - t.live; dead > 2*small && dead > t.live {
		t.compact()
	}
}

// compact closes the gaps of deleted entries, without making their keys again.
func (t *table) compact() {
	moved := make([]int32, t.size())
	n := 0
	for i := range moved {
		if t.keyAt(i) == nil {
			continue
		}
		moved[i] = int32(n)
		copy(t.cells[n*t.stride:(n+1)*t.stride], t.cells[i*t.stride:(i+1)*t.stride])
		n++
	}
	clear(t.cells[n*t.stride:])
	t.cells, t.first = t.cells[:n*t.stride], 0
	for k, i := range t.at {
		t.at[k] = moved[i]
	}
}

func (t *table) reset() {
	t.cells, t.at, t.first, t.live = nil, nil, 0, 0
}

func (t *table) clone() table {
	return table{cells: slices.Clone(t.cells), stride: t.stride, at: maps.Clone(t.at), first: t.first, live: t.live}
}

// mutable reports why the table can't be written. Verb and "hash table" make the sentence.
func (t *table) mutable(verb string) error {
	switch {
	case t.frozen:
		return fmt.Errorf("cannot %s frozen hash table", verb)
	case t.iters > 0:
		return fmt.Errorf("cannot %s hash table during iteration", verb)
	}
	return nil
}

// freeze marks the table and everything in it. The caller has paid for the walk.
func (t *table) freeze() {
	if t.frozen {
		return
	}
	t.frozen = true
	for _, v := range t.cells {
		if v != nil {
			v.Freeze()
		}
	}
}

func (t *table) iterate() starlark.Iterator {
	if !t.frozen {
		t.iters++
	}
	return &tableIterator{t, t.first}
}

type tableIterator struct {
	t *table
	i int
}

func (it *tableIterator) Next(p *starlark.Value) bool {
	for it.i < it.t.size() {
		k := it.t.keyAt(it.i)
		it.i++
		if k != nil {
			*p = k
			return true
		}
	}
	return false
}

func (it *tableIterator) Done() {
	if !it.t.frozen {
		it.t.iters--
	}
}
