package lua

import (
	"errors"
	"fmt"
	"math"

	lua "github.com/yuin/gopher-lua"

	"agentd/builtins/meter"
)

// operators are the builtins that rewriting calls. Their names can't be written in a script.
func operators() []*builtin {
	return []*builtin{
		newBuiltin("@born", steps(0), born),
		newBuiltin("@call", steps(1), callMethod),
		newBuiltin("@concat", steps(1), concat),
		newBuiltin("@eq", steps(1), equalOp),
		newBuiltin("@function", steps(1), functionMade),
		newBuiltin("@ge", steps(1), compareOp(func(c int) bool { return c >= 0 }, true, "__le")),
		newBuiltin("@global", steps(1), setGlobal),
		newBuiltin("@gt", steps(1), compareOp(func(c int) bool { return c > 0 }, true, "__lt")),
		newBuiltin("@index", steps(1), indexOp),
		newBuiltin("@key", steps(1), keyOp),
		newBuiltin("@le", steps(1), compareOp(func(c int) bool { return c <= 0 }, false, "__le")),
		newBuiltin("@len", steps(1), lengthOp),
		newBuiltin("@lt", steps(1), compareOp(func(c int) bool { return c < 0 }, false, "__lt")),
		newBuiltin("@mod", steps(1), modOp),
		newBuiltin("@mutate", steps(0), mutate),
		newBuiltin("@pow", steps(1), powOp),
		newBuiltin("@set", steps(1), setOp),
		newBuiltin("@table", steps(1), tableMade),
		newBuiltin("@values", steps(1), valuesTaken),
	}
}

// indexOp is t[k] with a key that isn't known to be small.
func indexOp(r *run, L *lua.LState) (int, error) {
	t, k := L.Get(1), L.Get(2)
	if err := r.payKey(k); err != nil {
		return 0, err
	}
	switch t := t.(type) {
	case *lua.LTable:
		if v := t.RawGet(k); v != lua.LNil || t.Metatable == lua.LNil {
			L.Push(v)
			return 1, nil
		}
	case *lua.LUserData:
		if t.Metatable == viewMeta {
			return indexView(r, L)
		}
	case lua.LString:
	default:
		return 0, cannot("index", t)
	}
	L.Push(L.GetTable(t, k))
	return 1, nil
}

// setOp is t[k] = v.
func setOp(r *run, L *lua.LState) (int, error) {
	k, v := L.Get(2), L.Get(3)
	at := L.Get(1)
	for range maxIndexChain {
		t, ok := at.(*lua.LTable)
		if !ok {
			break
		}
		old, err := r.get(t, k)
		if err != nil {
			return 0, err
		}
		var event lua.LValue = lua.LNil
		if old == lua.LNil && t.Metatable != lua.LNil {
			event = metamethod(L, t, "__newindex")
		}
		switch event := event.(type) {
		case *lua.LNilType:
			if err := r.writable(t); err != nil {
				return 0, err
			}
			return 0, r.replace(t, k, old, v)
		case *lua.LFunction:
			L.Push(event)
			L.Push(t)
			L.Push(k)
			L.Push(v)
			L.Call(3, 0)
			return 0, nil
		default:
			at = event
		}
	}
	switch v := at.(type) {
	case *lua.LUserData:
		return 0, errReadOnly
	case *lua.LTable:
		return 0, errors.New("'__newindex' chain too long; possibly a loop")
	default:
		return 0, cannot("index", v)
	}
}

// keyOp pays for a key of a table constructor.
func keyOp(r *run, L *lua.LState) (int, error) {
	k := L.Get(1)
	if err := r.payKey(k); err != nil {
		return 0, err
	}
	if n, ok := k.(lua.LNumber); ok {
		if f := float64(n); f >= 1 && f < maxArrayIndex && f == math.Trunc(f) {
			if err := r.charge(int64(f)/fillPerFuel, 2*slotBytes*int64(f)); err != nil {
				return 0, err
			}
		}
	}
	L.Push(k)
	return 1, nil
}

// tableMade pays for a table, its items and its named fields.
func tableMade(r *run, L *lua.LState) (int, error) {
	t := L.Get(1).(*lua.LTable)
	items, fields := int64(L.Get(2).(lua.LNumber)), int64(L.Get(3).(lua.LNumber))
	if items < 0 { // the last one is a call or "...", which gives few values
		items = max(-items, int64(t.Len()))
	}
	cost := text(0, tableBytes+slotBytes*items+entryBytes*(fields+max(items-maxArrayIndex, 0)))
	if err := r.meter.Charge(plus(cost, meter.Cost{Fuel: 2 + fields + items/copyPerFuel})); err != nil {
		return 0, err
	}
	if items > maxValues && item(t, int(items)) == lua.LNil { // fewer aren't worth it, and {f()} keeps its length
		r.addHoles(t, items)
	}
	L.Push(t)
	return 1, nil
}

// openPerFuel is how many open variables are looked at for one unit of fuel.
const openPerFuel = 16

// functionMade pays for a function and the variables that it holds, and bounds how many of them are
// alive: the interpreter walks those of all running functions when one returns.
func functionMade(r *run, L *lua.LState) (int, error) {
	f, ok := L.Get(1).(*lua.LFunction)
	if !ok {
		return 0, nil
	}
	r.trimOpen()
	n := int64(len(f.Upvalues))
	looked := n * int64(len(r.open)) // each is looked for among the open ones, here and by the interpreter
	if err := r.charge(2+n/2+looked/openPerFuel, closureBytes+upvalueBytes*n); err != nil {
		return 0, err
	}
	for _, u := range f.Upvalues {
		if u != nil && !u.IsClosed() && !r.isOpen(u) {
			r.open = append(r.open, u)
		}
	}
	if len(r.open) > maxOpen {
		return 0, fmt.Errorf("functions hold more than %d variables of running functions", maxOpen)
	}
	L.Push(f)
	return 1, nil
}

func (r *run) isOpen(u *lua.Upvalue) bool {
	for i := len(r.open) - 1; i >= 0; i-- {
		if r.open[i] == u {
			return true
		}
	}
	return false
}

// valuesTaken bounds "...".
func valuesTaken(r *run, L *lua.LState) (int, error) {
	n := L.GetTop()
	if n > maxValues {
		return 0, fmt.Errorf("a call takes %d values as \"...\", at most %d are allowed", n, maxValues)
	}
	return 0, r.charge(int64(n)/copyPerFuel, 0)
}

// born says whether a variable was born while a file is loaded.
func born(r *run, L *lua.LState) (int, error) {
	L.Push(lua.LBool(r.loading != nil))
	return 1, nil
}

// mutate refuses a change by a call of what was born while the file was loaded. Its second operand is
// the variable's name.
func mutate(r *run, L *lua.LState) (int, error) {
	if r.loading == nil && L.Get(1) == lua.LTrue {
		return 0, fmt.Errorf("the variable %s was made while the file was loaded, and can't be changed by a call; state is kept with remember", L.Get(2))
	}
	return 0, nil
}

// setGlobal is an assignment to a global variable in a function: one of the function's own file. Its
// operands are the name and the value.
func setGlobal(r *run, L *lua.LState) (int, error) {
	name := L.Get(1).(lua.LString)
	if r.loading == nil {
		return 0, fmt.Errorf("the global variable %s can't be changed by a call; make it local, or keep state with remember", string(name))
	}
	caller, ok := L.GetStack(1)
	if !ok {
		return 0, errors.New("the interpreter failed: an assignment that no function makes")
	}
	fn, err := L.GetInfo("f", caller, lua.LNil)
	if err != nil {
		return 0, err
	}
	f := fn.(*lua.LFunction)
	if err := r.writable(f.Env); err != nil {
		return 0, fmt.Errorf("the global variable %s of %s can't be changed once that is loaded", string(name), f.Proto.SourceName)
	}
	return 0, r.put(f.Env, name, L.Get(2))
}

// lengthOp is #v. It gives a number, whatever a metamethod says.
func lengthOp(r *run, L *lua.LState) (int, error) {
	switch v := L.Get(1).(type) {
	case lua.LString:
		L.Push(lua.LNumber(len(v)))
		return 1, nil
	case *lua.LTable:
		if f, ok := metamethod(L, v, "__len").(*lua.LFunction); ok {
			L.Push(f)
			L.Push(v)
			L.Call(1, 1)
			if _, ok := L.Get(-1).(lua.LNumber); !ok {
				return 0, errors.New("'__len' must return a number")
			}
			return 1, nil
		}
		L.Push(lua.LNumber(r.length(v)))
		return 1, nil
	case *lua.LUserData:
		if n := viewLen(v); n >= 0 {
			L.Push(lua.LNumber(n))
			return 1, nil
		}
	}
	return 0, cannot("get length of", L.Get(1))
}

// binaryMeta is the function that an operand brings for an event.
func binaryMeta(L *lua.LState, a, b lua.LValue, event string) (*lua.LFunction, bool) {
	if f, ok := metamethod(L, a, event).(*lua.LFunction); ok {
		return f, true
	}
	f, ok := metamethod(L, b, event).(*lua.LFunction)
	return f, ok
}

func call2(L *lua.LState, f *lua.LFunction, a, b lua.LValue) lua.LValue {
	L.Push(f)
	L.Push(a)
	L.Push(b)
	L.Call(2, 1)
	v := L.Get(-1)
	L.Pop(1)
	return v
}
