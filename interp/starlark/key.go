package starlark

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"

	"go.starlark.net/starlark"
)

// Dicts and sets are indexed by Go maps, whose hashes are seeded: keys that a payload or a script
// chose can't be made to collide. Two values have the same Go key exactly if they are equal.
type (
	bigKey   string // an integer outside of int64
	tupleKey string // the keys of its items, one after another
	nanKey   struct{}
)

// keyOf returns the Go key of a hashable value. A tuple is walked: the caller has paid for that.
func keyOf(v starlark.Value) (any, error) {
	switch v := v.(type) {
	case starlark.String, starlark.Bool, starlark.NoneType, starlark.Bytes, *starlark.Function, *starlark.Builtin:
		return v, nil
	case starlark.Int:
		return intKey(v), nil
	case starlark.Float:
		switch f := float64(v); {
		case math.IsNaN(f):
			return nanKey{}, nil
		case math.IsInf(f, 0), f != math.Trunc(f):
			return f, nil
		}
		i, err := starlark.NumberToInt(v)
		return intKey(i), err
	case starlark.Tuple:
		b, err := appendKey(nil, v)
		return tupleKey(b), err
	}
	if _, err := v.Hash(); err != nil {
		return nil, err
	}
	return nil, unhashable(v)
}

func unhashable(v starlark.Value) error { return fmt.Errorf("unhashable type: %s", v.Type()) }

func intKey(v starlark.Int) any {
	if i, ok := v.Int64(); ok {
		return i
	}
	z := v.BigInt()
	return bigKey(append(z.Bytes(), byte('1'+z.Sign())))
}

// appendKey writes the key of a value so that different values never read the same.
func appendKey(b []byte, v starlark.Value) ([]byte, error) {
	if t, ok := v.(starlark.Tuple); ok {
		b = binary.AppendUvarint(append(b, 't'), uint64(len(t)))
		for _, item := range t {
			var err error
			if b, err = appendKey(b, item); err != nil {
				return nil, err
			}
		}
		return b, nil
	}
	k, err := keyOf(v)
	if err != nil {
		return nil, err
	}
	switch k := k.(type) {
	case starlark.String:
		return appendText(b, 's', string(k)), nil
	case starlark.Bytes:
		return appendText(b, 'b', string(k)), nil
	case bigKey:
		return appendText(b, 'z', string(k)), nil
	case int64:
		return binary.AppendVarint(append(b, 'i'), k), nil
	case float64:
		return binary.LittleEndian.AppendUint64(append(b, 'f'), math.Float64bits(k)), nil
	case nanKey:
		return append(b, 'n'), nil
	case starlark.NoneType:
		return append(b, '0'), nil
	case starlark.Bool:
		if k {
			return append(b, 'y'), nil
		}
		return append(b, 'x'), nil
	}
	return binary.AppendUvarint(append(b, 'p'), uint64(reflect.ValueOf(k).Pointer())), nil
}

func appendText(b []byte, tag byte, s string) []byte {
	return append(binary.AppendUvarint(append(b, tag), uint64(len(s))), s...)
}

// maxDepth is how deep values may nest that a builtin walks.
const maxDepth = 200

// payKey pays for hashing a value and comparing it with another of its size.
func (r *run) payKey(v starlark.Value, depth int) error {
	switch v := v.(type) {
	case starlark.String:
		if len(v) >= comparePerFuel {
			return r.charge(int64(len(v))/comparePerFuel, 0)
		}
	case starlark.Bytes:
		return r.charge(int64(len(v))/comparePerFuel, 0)
	case starlark.Int:
		if _, small := v.Int64(); !small {
			return r.charge(largeFuel, maxIntBits/4)
		}
	case starlark.Float:
		if f := math.Abs(float64(v)); f >= 1<<63 && !math.IsInf(f, 0) { // its key is that of the integer it equals
			return r.charge(largeFuel, maxIntBits/4)
		}
	case starlark.Tuple:
		if depth >= maxDepth {
			return errTooDeep
		}
		if err := r.charge(1+int64(len(v)), 16*int64(len(v))); err != nil {
			return err
		}
		for _, item := range v {
			if s, ok := item.(starlark.String); ok {
				if err := r.charge(0, int64(len(s))); err != nil {
					return err
				}
			}
			if err := r.payKey(item, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// key pays for a value's key and makes it.
func (r *run) key(v starlark.Value) (any, error) {
	if err := r.payKey(v, 0); err != nil {
		return nil, err
	}
	return keyOf(v)
}

var errTooDeep = fmt.Errorf("a value nests deeper than %d levels", maxDepth)
