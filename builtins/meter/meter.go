// Package meter counts fuel and bytes. The fuel counter lives where the interpreter counts its own
// steps, so that one number covers bytecode and builtins, and the same script and payload always
// use the same.
package meter

import (
	"errors"
	"math"
)

// Schedule numbers the charges of everything that scripts can do, in all languages. It is in every
// manifest and record. Whoever changes a charge counts it up, since the same script and payload then
// use another amount: revisions of before want --accept-engine to go on, and a replay may differ where
// a budget ended a hook. internal/figures/charges holds what each thing is charged against this number.
const Schedule = 2

// ErrSpent is the one error of a spent budget. A script can't catch it.
var ErrSpent = errors.New("the budget is spent")

// Limits bound one call. A unit of fuel is about 16 ns; bytes are those that a charge names, not
// those of the heap.
type Limits struct{ Fuel, Bytes int64 }

// Default is the limits of a hook.
var Default = Limits{Fuel: 1_000_000, Bytes: 64 << 20}

// BytesPerFuel is how many charged bytes cost one unit of fuel.
const BytesPerFuel = 64

// Meter is owned by one call and one goroutine.
type Meter struct {
	fuel   *uint64
	bytes  int64
	limits Limits
	spent  bool
}

// New counts fuel in counter: &thread.Steps for Starlark, the context's own counter for Lua.
func New(counter *uint64, limits Limits) *Meter { return &Meter{fuel: counter, limits: limits} }

// Cost is the worst case of one piece of work.
type Cost struct{ Fuel, Bytes int64 }

// Charge takes a cost before the work is done. A cost that is negative has overflowed, and spends
// everything.
func (m *Meter) Charge(c Cost) error {
	if c.Fuel < 0 || c.Bytes < 0 || m.spent {
		return m.spend()
	}
	fuel := uint64(c.Fuel) + uint64(c.Bytes)/BytesPerFuel
	left := uint64(0)
	if limit := uint64(m.limits.Fuel); *m.fuel < limit {
		left = limit - *m.fuel
	}
	if fuel > left || c.Bytes > m.limits.Bytes-m.bytes {
		return m.spend()
	}
	*m.fuel += fuel
	m.bytes += c.Bytes
	return nil
}

// spend records that the budget ran out; the numbers read the limit, whatever was asked for last.
func (m *Meter) spend() error {
	m.spent = true
	*m.fuel = max(*m.fuel, uint64(m.limits.Fuel))
	return ErrSpent
}

// Spent reports whether the budget ran out.
func (m *Meter) Spent() bool { return m.spent || *m.fuel >= uint64(m.limits.Fuel) }

// Used returns what was spent, at most the limits.
func (m *Meter) Used() (fuel, bytes int64) {
	return int64(min(*m.fuel, uint64(m.limits.Fuel))), m.bytes
}

// Limits returns the bounds.
func (m *Meter) Limits() Limits { return m.limits }

// Mul multiplies sizes and saturates, so that a charge can't overflow into a small one.
func Mul(a, b int64) int64 {
	if a <= 0 || b <= 0 {
		return 0
	}
	if a > math.MaxInt64/4/b {
		return math.MaxInt64 / 4
	}
	return a * b
}
