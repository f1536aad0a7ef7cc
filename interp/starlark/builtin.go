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

// What things cost. They are part of the schedule: whoever changes one counts meter.Schedule up.
// internal/figures/charges measures what they are worth.
const (
	slotBytes   = 16  // a value in a list, tuple or frame
	headerBytes = 32  // a string or list apart from what it holds
	dictBytes   = 80  // a dict or set without entries
	entryBytes  = 112 // one entry of it
	cloneBytes  = 64  // one entry of a copy of it

	copyPerFuel    = 4 // values copied for one unit of fuel
	comparePerFuel = meter.ComparePerFuel
	readPerFuel    = 8 // bytes of text read one by one

	indexedFuel = 10  // a new entry of a dict or set that is large enough for an index
	memberFuel  = 4   // a member that an object is built of
	showFuel    = 2   // a scalar of a view that is made into a value
	rowFuel     = 2   // a value that is made of two others, or of a part of a text
	largeFuel   = 48  // an operation on an integer beyond 64 bits
	digitsFuel  = 512 // writing or reading one in decimal
	mixedFuel   = 12  // comparing an integer with a float
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

// text is the cost of reading so many bytes one by one and making written ones.
func text(read, written int64) meter.Cost {
	return meter.Cost{Fuel: read / readPerFuel, Bytes: written}
}

// entries is the cost of so many new entries of a dict or set that has some. The one that makes it
// large pays for the index of all.
func entries(had, n int64) meter.Cost {
	indexed := int64(0)
	switch {
	case had > small:
		indexed = n
	case had+n > small:
		indexed = had + n
	}
	return meter.Cost{Fuel: n + meter.Mul(indexedFuel, indexed), Bytes: meter.Mul(n, entryBytes)}
}

func plus(a, b meter.Cost) meter.Cost {
	return meter.Cost{Fuel: a.Fuel + b.Fuel, Bytes: a.Bytes + b.Bytes}
}

// searchBack is meter.Search from the end, where no more than one byte is looked for at once.
func searchBack(in, sub int) meter.Cost {
	if sub <= 1 {
		return meter.Cost{Fuel: int64(in) / 32}
	}
	return meter.Search(in, max(sub, meter.ShortSearch+1))
}
