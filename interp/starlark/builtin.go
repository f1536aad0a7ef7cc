package starlark

import (
	"go.starlark.net/starlark"

	"agentd/builtins/meter"
)

// price is the worst case of a call, from its operands alone. Work that walks values of unknown size
// pays for each step of the walk beside that.
type price func(recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) meter.Cost

// work does what a builtin is for. Recv is the value whose method it is, nil for a function.
type work func(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error)

// builtin is a function or method that scripts can call. There is no other way to make one than
// newBuiltin, so none works before it is paid for.
type builtin struct {
	name  string
	price price
	work  work
	value *starlark.Builtin // as a script sees it; bound to a receiver where it is a method
}

// newBuiltin panics without a price or work: builtins are program text.
func newBuiltin(name string, p price, w work) *builtin {
	if p == nil || w == nil {
		panic("starlark: builtin " + name + " has no price or no work")
	}
	b := &builtin{name: name, price: p, work: w}
	b.value = starlark.NewBuiltin(name, func(t *starlark.Thread, v *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return b.call(running(t), v.Receiver(), args, kwargs)
	})
	return b
}

func (b *builtin) call(r *run, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if c := b.price(recv, args, kwargs); c != (meter.Cost{}) {
		if err := r.meter.Charge(c); err != nil {
			return nil, err
		}
	}
	return b.work(r, recv, args, kwargs)
}

// What things cost, in the units of meter.Schedule.
const (
	slotBytes   = 16  // a value in a list, tuple or frame
	headerBytes = 32  // a string or list apart from what it holds
	dictBytes   = 80  // a dict or set without entries
	entryBytes  = 112 // one entry of it
	copyPerFuel = 4   // values copied for one unit of fuel
	scanPerFuel = 32  // bytes of text looked at for one unit of fuel
)

// steps prices work that is as small as the call itself, or that pays for itself as it goes.
func steps(fuel int64) price {
	c := meter.Cost{Fuel: fuel}
	return func(starlark.Value, starlark.Tuple, []starlark.Tuple) meter.Cost { return c }
}

// slots is the cost of making room for n values and filling it.
func slots(n int64) meter.Cost {
	return meter.Cost{Fuel: n / copyPerFuel, Bytes: headerBytes + meter.Mul(n, slotBytes)}
}

// text is the cost of looking at read bytes and making written ones.
func text(read, written int64) meter.Cost {
	return meter.Cost{Fuel: read / scanPerFuel, Bytes: written}
}

func plus(a, b meter.Cost) meter.Cost {
	return meter.Cost{Fuel: a.Fuel + b.Fuel, Bytes: a.Bytes + b.Bytes}
}

// search is the cost of looking for sub bytes in so many. Searches for long texts are by a hash that
// whoever wrote both can make collide everywhere, so they may compare at each place.
func search(in, sub int) meter.Cost {
	const hashed, comparedPerFuel = 64, 512
	c := text(4*int64(in+sub), 0)
	if sub > hashed {
		c.Fuel += meter.Mul(int64(in), int64(sub)) / comparedPerFuel
	}
	return c
}
