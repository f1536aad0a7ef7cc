package lua

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"agentd/hookpoints/payload"
)

// Views show a payload's tree to a script. They are handles on its nodes, so making one costs next to
// nothing and passing one back gives the very node.
type (
	object struct{ v payload.Value } // reads as a table with named fields
	array  struct{ v payload.Value } // reads as a list, counted from 1
	number struct{ v payload.Value } // a number that a float64 can't hold
	null   struct{}                  // JSON's null: nil is what isn't there
)

// The metatables of what isn't Lua's own. A script can't see them.
var viewMeta, numberMeta, handleMeta, ctxMeta *lua.LTable

// nullValue is what scripts know as null. There is only one.
var nullValue *lua.LUserData

func init() { // they refer to themselves by way of show
	readOnly := newBuiltin("set", steps(1), func(*run, *lua.LState) (int, error) { return 0, errReadOnly })
	viewMeta = metaOf(map[string]*builtin{
		"__index": newBuiltin("index", steps(2), indexView), "__newindex": readOnly,
		"__eq": newBuiltin("eq", steps(2), equalOp),
	})
	noOrder := newBuiltin("compare", steps(1), func(_ *run, L *lua.LState) (int, error) { return 0, cannotCompare(L.Get(1), L.Get(2)) })
	inexact := newBuiltin("calculate", steps(1), func(r *run, L *lua.LState) (int, error) {
		for i := 1; i <= 2; i++ {
			if _, err := r.toNumber(L.Get(i)); err != nil {
				return 0, err
			}
		}
		return 0, errors.New("attempt to calculate with a number that Lua can't hold exactly")
	})
	numberMeta = metaOf(map[string]*builtin{
		"__add": inexact, "__sub": inexact, "__mul": inexact, "__div": inexact, "__unm": inexact,
		"__lt": noOrder, "__le": noOrder, "__eq": newBuiltin("eq", steps(2), equalOp), "__newindex": readOnly,
	})
	handleMeta = metaOf(map[string]*builtin{"__newindex": readOnly})
	ctxMeta = metaOf(map[string]*builtin{"__index": newBuiltin("index", steps(2), indexCtx), "__newindex": readOnly})
	nullValue = handle(null{}, handleMeta)
}

func metaOf(events map[string]*builtin) *lua.LTable {
	t := lockedMeta()
	for _, event := range sortedNames(events) {
		t.RawSetString(event, events[event].value)
	}
	return t
}

func handle(v any, meta *lua.LTable) *lua.LUserData {
	return &lua.LUserData{Value: v, Env: nowhere, Metatable: meta}
}

// errReadOnly is what every write to a view ends with.
var errReadOnly = errors.New("it is read-only; merge(view, {...}) gives a view with other fields")

// show turns a node into a value of the script: scalars are copied and paid for by their length,
// objects and arrays become views.
func (r *run) show(v payload.Value) (lua.LValue, error) {
	switch v.Kind() {
	case payload.Object:
		return handle(object{v}, viewMeta), r.charge(1, handleBytes)
	case payload.Array:
		return handle(array{v}, viewMeta), r.charge(1, handleBytes)
	case payload.String:
		if n := int64(v.TextLen()); n > cheapText {
			if err := r.charge(n/copyPerFuel/scanPerFuel, n); err != nil {
				return nil, err
			}
		}
		return lua.LString(v.Text()), nil
	case payload.Number:
		if n := int64(v.TextLen()); n > cheapText {
			if err := r.charge(n/4, n); err != nil {
				return nil, err
			}
		}
		return numberOf(v), nil
	case payload.Bool:
		return lua.LBool(v.IsTrue()), nil
	case payload.Null:
		return nullValue, nil
	}
	return lua.LNil, nil
}

// maxExact bounds the integers that a float64 holds one by one.
const maxExact = 1 << 53

// numberOf is a number of Lua if that is the same number, and opaque else.
func numberOf(v payload.Value) lua.LValue {
	if i, ok := v.Int64(); ok && i >= -maxExact && i <= maxExact {
		return lua.LNumber(i)
	}
	s := v.Text()
	if f, ok := v.Float64(); ok && len(s) <= maxSpelled {
		if decimalOf(strconv.FormatFloat(f, 'e', -1, 64)) == decimalOf(s) {
			return lua.LNumber(f)
		}
	}
	return handle(number{v}, numberMeta)
}

// decimal is a number's digits, without zeros at either end, and the power of ten of the first one.
type decimal struct {
	minus  bool
	digits string
	power  int
}

// decimalOf reads JSON number text.
func decimalOf(s string) decimal {
	var d decimal
	if d.minus = strings.HasPrefix(s, "-"); d.minus {
		s = s[1:]
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		d.power, _ = strconv.Atoi(strings.TrimPrefix(s[i+1:], "+"))
		s = s[:i]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	d.power += len(whole)
	all := whole + fraction
	d.digits = strings.TrimLeft(all, "0")
	d.power -= len(all) - len(d.digits)
	if d.digits = strings.TrimRight(d.digits, "0"); d.digits == "" {
		d.power = 0
	}
	return d
}

// opaque returns the text of the first of values that is a number Lua can't hold.
func opaque(values ...lua.LValue) (string, bool) {
	for _, v := range values {
		if u, ok := v.(*lua.LUserData); ok {
			if n, ok := u.Value.(number); ok {
				return shortened(n.v.Text()), true
			}
		}
	}
	return "", false
}

func shortened(s string) string {
	if len(s) > cheapText {
		return s[:cheapText] + "..."
	}
	return s
}

// viewLen is the length of a view, -1 for what is none.
func viewLen(u *lua.LUserData) int {
	switch v := u.Value.(type) {
	case object:
		return v.v.Len()
	case array:
		return v.v.Len()
	}
	return -1
}

// indexView is view[key]: a member by its name, an item by its place from 1, and nil for anything else.
func indexView(r *run, L *lua.LState) (int, error) {
	u, ok := L.Get(1).(*lua.LUserData)
	if !ok {
		return 0, cannot("index", L.Get(1))
	}
	v, err := r.member(u, L.Get(2))
	if err != nil {
		return 0, err
	}
	L.Push(v)
	return 1, nil
}

// member is one value of a view, nil if there is none.
func (r *run) member(u *lua.LUserData, key lua.LValue) (lua.LValue, error) {
	switch v := u.Value.(type) {
	case object:
		if name, ok := key.(lua.LString); ok {
			if err := r.payKey(name); err != nil {
				return nil, err
			}
			return r.show(v.v.Get(string(name)))
		}
	case array:
		if n, ok := key.(lua.LNumber); ok {
			if i := clampInt(float64(n)); float64(i) == float64(n) && i >= 1 && i <= v.v.Len() {
				return r.show(v.v.At(i - 1))
			}
		}
	default:
		return nil, cannot("index", u)
	}
	return lua.LNil, nil
}

// viewPairs pushes what pairs(view) gives: an iterator over names and values, or places and items, in
// the order of the document.
func (r *run) viewPairs(L *lua.LState, u *lua.LUserData) (int, error) {
	var v payload.Value
	named := false
	switch x := u.Value.(type) {
	case object:
		v, named = x.v, true
	case array:
		v = x.v
	default:
		return 0, fmt.Errorf("bad argument #1 to 'pairs' (table expected, got %s)", typeName(u))
	}
	at, n, loading := 0, v.Len(), r.loading != nil
	step, err := r.closure(steps(2), func(r *run, L *lua.LState) (int, error) {
		if err := r.outlived(loading); err != nil {
			return 0, err
		}
		if at >= n {
			L.Push(lua.LNil)
			return 1, nil
		}
		at++
		if !named {
			L.Push(lua.LNumber(at))
		} else if name, err := r.showKey(v, at-1); err != nil {
			return 0, err
		} else {
			L.Push(name)
		}
		item, err := r.show(v.At(at - 1))
		if err != nil {
			return 0, err
		}
		L.Push(item)
		return 2, nil
	})
	if err != nil {
		return 0, err
	}
	L.Push(step)
	L.Push(u)
	L.Push(lua.LNil)
	return 3, nil
}

// showKey shows the name of a member.
func (r *run) showKey(v payload.Value, i int) (lua.LString, error) {
	k := v.Key(i)
	return lua.LString(k), r.charge(int64(len(k))/scanPerFuel, slotBytes)
}

// viewMethods are what view:name(...) can be. Fields of the same name are read as view.name.
var viewMethods = map[string]func(r *run, L *lua.LState, o object) (int, error){
	"get": func(r *run, L *lua.LState, o object) (int, error) {
		name, err := textOperand(L, 2, "get")
		if err != nil {
			return 0, err
		}
		v := o.v.Get(name)
		if !v.Exists() {
			L.Push(L.Get(3))
			return 1, nil
		}
		out, err := r.show(v)
		L.Push(out)
		return 1, err
	},
	"items": func(r *run, L *lua.LState, _ object) (int, error) {
		return r.viewPairs(L, L.Get(1).(*lua.LUserData))
	},
	"keys": func(r *run, L *lua.LState, o object) (int, error) {
		return r.pushList(L, o.v.Len(), func(i int) (lua.LValue, error) { return r.showKey(o.v, i) })
	},
	"values": func(r *run, L *lua.LState, o object) (int, error) {
		return r.pushList(L, o.v.Len(), func(i int) (lua.LValue, error) { return r.show(o.v.At(i)) })
	},
}

func (r *run) pushList(L *lua.LState, n int, at func(int) (lua.LValue, error)) (int, error) {
	if err := r.charge(int64(n)/copyPerFuel, slotBytes*int64(n)); err != nil {
		return 0, err
	}
	items := make([]lua.LValue, n)
	for i := range items {
		v, err := at(i)
		if err != nil {
			return 0, err
		}
		items[i] = v
	}
	t, err := r.newList(items)
	if err != nil {
		return 0, err
	}
	L.Push(t)
	return 1, nil
}

// callMethod is v:name(...) of a name that views have a method of. Its operands are the name, the value
// and the arguments.
func callMethod(r *run, L *lua.LState) (int, error) {
	name, v := string(L.Get(1).(lua.LString)), L.Get(2)
	if u, ok := v.(*lua.LUserData); ok {
		switch x := u.Value.(type) {
		case object:
			L.Remove(1)
			return viewMethods[name](r, L, x)
		case array:
			return 0, fmt.Errorf("a list has no method %s; use #list, list[i] and ipairs(list)", name)
		}
	}
	switch v.(type) {
	case *lua.LTable, *lua.LUserData, lua.LString:
	default:
		return 0, cannot("index", v)
	}
	f := L.GetField(v, name)
	if f == lua.LNil {
		return 0, fmt.Errorf("attempt to call method '%s' (a nil value)", name)
	}
	n := L.GetTop()
	base := n
	L.Push(f)
	for i := 2; i <= n; i++ {
		L.Push(L.Get(i))
	}
	L.Call(n-1, lua.MultRet)
	return L.GetTop() - base, nil
}
