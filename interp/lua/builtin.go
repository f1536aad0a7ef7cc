package lua

import (
	"errors"
	"fmt"

	lua "github.com/yuin/gopher-lua"

	"agentd/builtins/meter"
)

// How to add a function of the library
//
//	newBuiltin("string.rep", repPrice, repeat)
//
// makes it, and its place is in the list of its library, e.g. stringLibrary() in string.go; the
// environment gathers these lists, see environment.go. "module.name" goes into the table of the
// module, a bare name is a global.
//
// price is the worst case of the call from its operands alone, and is charged before work begins. It
// sees whatever a script passed, so it looks at types itself and never raises: an operand that work
// will refuse may be priced as nothing. Where the cost isn't known from the operands (callbacks,
// matching, walks over tables), price is steps(n) and work charges as it goes, with r.charge(fuel,
// bytes), before each piece of work. A unit of fuel is about 16 ns, see meter.Schedule; use the
// constants below (scanPerFuel and so on) for text and slots.
//
// work reads its operands from L (L.Get(1) and on; the readers are in operand.go), pushes its results
// and returns how many. It doesn't raise: it returns the error, in Lua's words ("bad argument #1 to
// 'rep' (string expected, got nil)", see badArgument), and the position is put before it. &thrown{v,
// level} raises any value. It may call back with L.Call, whose errors pass through it as panics: hold
// nothing that needs releasing. At most maxValues results.
//
// What work must never do: write to a table without asking r.writable(t) first; use LTable.ForEach
// (order), LTable.Len, Append, Insert, Remove or MaxN (they walk trailing nils: use r.length(t),
// r.get and r.put); print an address; use L.PCall (protected calls go through r.protect, which can't
// catch a spent budget); keep L, r or a table of the script in a Go closure (functions that must
// remember something, as gmatch does, are made with r.closure, which charges them).

// price is the worst case of a call, from its operands alone.
type price func(L *lua.LState) meter.Cost

// work does what a builtin is for, and returns how many results it pushed.
type work func(r *run, L *lua.LState) (results int, err error)

// builtin is a function that scripts can call. There is no other way to make one than newBuiltin, so
// none works before it is paid for.
type builtin struct {
	name  string
	value *lua.LFunction // as a script sees it; shared by all states
}

// newBuiltin panics without a price or work: builtins are program text.
func newBuiltin(name string, p price, w work) *builtin {
	if p == nil || w == nil {
		panic("lua: builtin " + name + " has no price or no work")
	}
	return &builtin{name, &lua.LFunction{IsG: true, Env: nowhere, GFunction: metered(p, w)}}
}

// nowhere is the environment of builtins, which have none.
var nowhere = &lua.LTable{Metatable: lua.LNil}

func metered(p price, w work) lua.LGFunction {
	return func(L *lua.LState) int {
		r := running(L)
		if err := r.meter.Charge(p(L)); err != nil {
			r.throw(L, err)
		}
		n, err := w(r, L)
		if err != nil {
			r.throw(L, err)
		}
		return n
	}
}

// closure makes a function that a builtin returns. It is paid for like any other.
func (r *run) closure(p price, w work) (*lua.LFunction, error) {
	if err := r.charge(2, closureBytes); err != nil {
		return nil, err
	}
	return &lua.LFunction{IsG: true, Env: nowhere, GFunction: metered(p, w)}, nil
}

// thrown is an error that carries any value, as error(v, level) raises it.
type thrown struct {
	value lua.LValue
	level int // 0: text gets no position; 1: that of the caller; 2: that of its caller
}

func (t *thrown) Error() string { return "error" }

// throw raises an error in a script.
func (r *run) throw(L *lua.LState, err error) {
	var t *thrown
	if errors.As(err, &t) {
		level := t.level
		if level > 1 {
			level++ // the builtin itself is a level of the interpreter's
		}
		L.Error(t.value, level)
	}
	L.RaiseError("%s", err.Error())
}

// badArgument is Lua's word for an operand of the wrong type. It counts operands from 1.
func badArgument(n int, fn, problem string) error {
	return fmt.Errorf("bad argument #%d to '%s' (%s)", n, fn, problem)
}

// What things cost, in the units of meter.Schedule.
const (
	instructionFuel = 1
	slotBytes       = 16  // a value in a table's list, or on the stack
	headerBytes     = 32  // a string apart from what it holds
	tableBytes      = 160 // a table without entries
	entryBytes      = 160 // one entry of it with a key that is no small integer
	closureBytes    = 128 // a function, without what it holds
	upvalueBytes    = 80  // one variable that it holds
	handleBytes     = 64  // a view or another opaque value
	copyPerFuel     = 4   // values copied for one unit of fuel
	fillPerFuel     = 1   // places of a list that are made to reach a far one, for one unit of fuel
	scanPerFuel     = 32  // bytes of text looked at for one unit of fuel
	blockPerFuel    = 512 // bytes of text hashed, or held against others, at once
	errorFuel       = 64  // raising and catching
)

// steps prices work that is as small as the call itself, or that pays for itself as it goes.
func steps(fuel int64) price {
	c := meter.Cost{Fuel: fuel}
	return func(*lua.LState) meter.Cost { return c }
}

// text is the cost of looking at read bytes and making written ones.
func text(read, written int64) meter.Cost {
	return meter.Cost{Fuel: read / scanPerFuel, Bytes: written}
}

func plus(a, b meter.Cost) meter.Cost {
	return meter.Cost{Fuel: a.Fuel + b.Fuel, Bytes: a.Bytes + b.Bytes}
}
