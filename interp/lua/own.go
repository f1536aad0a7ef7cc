package lua

import (
	"errors"
	"fmt"

	lua "github.com/yuin/gopher-lua"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// ownFunctions are the globals that are neither Lua's nor shared.
func ownFunctions() []*builtin {
	return []*builtin{
		newBuiltin("array", steps(2), arrayOf),
		newBuiltin("hook", steps(8), defineHook),
		newBuiltin("math.random", steps(4), randomNumber),
		newBuiltin("merge", steps(4), merge),
		newBuiltin("require", steps(8), requireModule),
	}
}

// arrayOf is array{...}: the table is a list, also when it is empty.
func arrayOf(r *run, L *lua.LState) (int, error) {
	t, err := tableOperand(L, 1, "array")
	if err != nil {
		return 0, err
	}
	if t.Metatable != lua.LNil && t.Metatable != listMeta {
		return 0, errors.New("array: the table has a metatable already")
	}
	if err := r.writable(t); err != nil {
		return 0, err
	}
	t.Metatable = listMeta
	L.Push(t)
	return 1, nil
}

// merge is a view with other fields: merge(view, {limit = 10}). It shares what isn't named, so that
// numbers keep their text. null as a value is JSON's null.
func merge(r *run, L *lua.LState) (int, error) {
	n := L.GetTop()
	if n < 1 {
		return 0, wrongType(L, 1, "merge", "table")
	}
	var out payload.Value
	for i := 1; i <= n; i++ {
		tree, err := r.tree(L.Get(i), hookpoints.MaxResultDepth)
		if err != nil {
			return 0, fmt.Errorf("merge: argument %d: %w", i, err)
		}
		if tree.Kind() != payload.Object {
			return 0, fmt.Errorf("merge: argument %d is no table with named fields", i)
		}
		if i == 1 {
			out = tree
			continue
		}
		size := int64(out.Len() + tree.Len())
		if err := r.charge(4+size/copyPerFuel, nodeBytes+2*slotBytes*size); err != nil {
			return 0, err
		}
		fields := make([]payload.Field, 0, tree.Len())
		for k, v := range tree.Members() {
			fields = append(fields, payload.Field{Name: k, Value: v})
		}
		out = out.With(fields...)
	}
	v, err := r.show(out)
	L.Push(v)
	return 1, err
}
