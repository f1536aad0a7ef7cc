package starlark

import (
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"agentd/builtins/meter"
)

// parts finds out what a method that takes a text apart will come to: it pays for a first look, and
// returns the cost of the work.
type parts func(r *run, s string, args starlark.Tuple, kwargs []starlark.Tuple) (meter.Cost, error)

// parted is a method whose parts are counted before it works: a text that could hold a separator at
// each byte rarely does.
func parted(b *builtin, count parts) *builtin {
	return newBuiltin(b.name, b.price, func(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		c, err := count(r, string(recv.(starlark.String)), args, kwargs)
		if err != nil {
			return nil, err
		}
		if err := r.meter.Charge(c); err != nil {
			return nil, err
		}
		return b.work(r, recv, args, kwargs)
	})
}

// made is the cost of so many parts of a text.
func made(n int64) meter.Cost {
	return meter.Cost{Fuel: meter.Mul(n, rowFuel), Bytes: headerBytes + meter.Mul(n, 3*slotBytes)}
}

// separated counts the parts of split and rsplit.
func separated(r *run, s string, args starlark.Tuple, _ []starlark.Tuple) (meter.Cost, error) {
	n := int64(0)
	sep, ok := argument0(args).(starlark.String)
	switch {
	case !ok:
		if err := r.charge(int64(len(s))/readPerFuel, 0); err != nil {
			return meter.Cost{}, err
		}
		n = words(s)
	case sep == "":
		return meter.Cost{}, nil // an error
	default:
		if err := r.meter.Charge(countPrice(starlark.String(s), args, nil)); err != nil {
			return meter.Cost{}, err
		}
		n = int64(strings.Count(s, string(sep))) + 1
	}
	if len(args) > 1 {
		if most, err := starlark.AsInt32(args[1]); err == nil && most >= 0 {
			n = min(n, int64(most)+1)
		}
	}
	return made(n), nil
}

// words is at least how many words there are between white space.
func words(s string) int64 {
	n := int64(1)
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= utf8.RuneSelf {
			n++
		}
	}
	return min(n, int64(len(s))/2+1)
}

// lined counts the lines of splitlines.
func lined(r *run, s string, _ starlark.Tuple, _ []starlark.Tuple) (meter.Cost, error) {
	if err := r.charge(int64(len(s))/readPerFuel, 0); err != nil {
		return meter.Cost{}, err
	}
	return made(int64(strings.Count(s, "\n")+strings.Count(s, "\r")) + 1), nil
}

// replaced counts the replacements of replace.
func replaced(r *run, s string, args starlark.Tuple, _ []starlark.Tuple) (meter.Cost, error) {
	old, ok := argument0(args).(starlark.String)
	if !ok || len(args) < 2 {
		return meter.Cost{}, nil // an error
	}
	if err := r.meter.Charge(countPrice(starlark.String(s), args, nil)); err != nil {
		return meter.Cost{}, err
	}
	matches := int64(strings.Count(s, string(old)))
	if len(args) > 2 {
		if i, ok := args[2].(starlark.Int); ok {
			if most, ok := i.Int64(); ok && most >= 0 {
				matches = min(matches, most)
			}
		}
	}
	if matches == 0 {
		return meter.Cost{}, nil
	}
	// The text is counted once more before it is made.
	c := countPrice(starlark.String(s), args, nil)
	return plus(c, meter.Cost{Fuel: matches, Bytes: headerBytes + int64(len(s)) + meter.Mul(matches, int64(bound(args[1])))}), nil
}

func argument0(args starlark.Tuple) starlark.Value {
	if len(args) == 0 {
		return starlark.None
	}
	return args[0]
}
