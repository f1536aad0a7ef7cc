package lua

import (
	"errors"
	"fmt"
	"slices"

	lua "github.com/yuin/gopher-lua"

	"agentd/builtins"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// shared adapts a shared builtin: it pays for itself, converting its operands pays for itself too.
func shared(f *builtins.Func) *builtin {
	return newBuiltin(f.Name, steps(1), func(r *run, L *lua.LState) (int, error) {
		trees, _, err := r.arrange(L, f.Name, f.Params, false)
		if err != nil {
			return 0, err
		}
		out, err := f.Call(&r.meter, trees)
		if err != nil {
			return 0, better(L, err)
		}
		v, err := r.show(out)
		if v == nullValue {
			v = lua.LNil // what isn't found is nil in Lua, as from its own library
		}
		L.Push(v)
		return 1, err
	})
}

// decider adapts a decision builtin.
func decider(d *builtins.Decider) *builtin {
	return newBuiltin(d.Name, steps(1), func(r *run, L *lua.LState) (int, error) {
		trees, fields, err := r.arrange(L, d.Name, d.Params, d.Open)
		if err != nil {
			return 0, err
		}
		made, err := d.Make(trees, fields)
		if err != nil {
			return 0, better(L, err)
		}
		if err := r.charge(32, 2*nodeBytes); err != nil {
			return 0, err
		}
		L.Push(handle(&decision{made}, handleMeta))
		return 1, nil
	})
}

// better adds to an error what is easily taken for something else in Lua: an empty table, and a call at
// the end of the operands, which gives all of its values.
func better(L *lua.LState, err error) error {
	var m *builtins.Misfit
	if !errors.As(err, &m) {
		return err
	}
	last := L.GetTop()
	if _, scalar := scalarKinds[L.Get(last).Type()]; scalar && last > 1 && m.Place == last-1 {
		return fmt.Errorf("%w; a call that comes last gives all its values, and in parentheses only its first", err)
	}
	return betterList(err, m.Param.Kinds&payload.Array != 0, m.Got)
}

// scalarKinds are those of operands that give no others by name.
var scalarKinds = map[lua.LValueType]struct{}{lua.LTBool: {}, lua.LTNumber: {}, lua.LTString: {}}

// betterList adds to an error what an empty table is, if it stands where a list was wanted.
func betterList(err error, wanted bool, got payload.Value) error {
	if wanted && got.Kind() == payload.Object && got.Len() == 0 {
		return fmt.Errorf("%w; {} is an object, and array{} an empty list", err)
	}
	return err
}

// arrange puts operands in the places of a builtin's parameters, converted. They come one by one, and
// the last one may be a table that gives the rest by name, where the parameter in its place wants
// neither an object nor a list: reject("no", "code"), reject("no", {code = "code"}) and
// reject{reason = "no", code = "code"} are the same. Of an open one the names that are no parameters
// become fields, in the order of the table. nil is an operand that wasn't given.
func (r *run) arrange(L *lua.LState, name string, params []builtins.Param, open bool) ([]payload.Value, []payload.Field, error) {
	n := L.GetTop()
	var named lua.LValue
	if n > 0 && r.isNamed(L.Get(n), params, n-1) {
		named, n = L.Get(n), n-1
	}
	for n > 0 && L.Get(n) == lua.LNil {
		n--
	}
	if n > len(params) {
		if len(params) == 0 && open {
			return nil, nil, fmt.Errorf("%s takes one table with named fields, as in %s{name = value}", name, name)
		}
		return nil, nil, fmt.Errorf("%s: got %d arguments, want at most %d", name, n, len(params))
	}
	trees := make([]payload.Value, len(params))
	for i := range n {
		v := L.Get(i + 1)
		if v == lua.LNil {
			continue
		}
		tree, err := r.operand(name, params[i].Name, v)
		if err != nil {
			return nil, nil, err
		}
		trees[i] = tree
	}
	if named == nil {
		return trees, nil, nil
	}
	fields, err := r.namedFields(name, named)
	if err != nil {
		return nil, nil, err
	}
	return r.place(name, params, open, trees, fields)
}

// place gives named operands to the parameters; what is left are fields.
func (r *run) place(name string, params []builtins.Param, open bool, trees []payload.Value, fields []payload.Field) ([]payload.Value, []payload.Field, error) {
	rest := fields[:0:0]
	for _, f := range fields {
		i := slices.IndexFunc(params, func(p builtins.Param) bool { return p.Name == f.Name })
		switch {
		case i >= 0 && trees[i].Exists():
			return nil, nil, fmt.Errorf("%s: argument %s is given twice", name, f.Name)
		case i >= 0:
			trees[i] = f.Value
		case !open:
			return nil, nil, fmt.Errorf("%s: there is no argument %s", name, shortened(f.Name))
		default:
			rest = append(rest, f)
		}
	}
	return trees, rest, nil
}

// isNamed reports whether the operand in a place gives arguments by name.
func (r *run) isNamed(v lua.LValue, params []builtins.Param, place int) bool {
	if place < len(params) {
		kinds := params[place].Kinds
		if kinds == 0 || kinds&(payload.Object|payload.Array) != 0 {
			return false
		}
	}
	switch v := v.(type) {
	case *lua.LTable:
		return r.length(v) == 0
	case *lua.LUserData:
		_, ok := v.Value.(object)
		return ok
	}
	return false
}

// namedFields reads operands by name.
func (r *run) namedFields(name string, v lua.LValue) ([]payload.Field, error) {
	tree, err := r.tree(v, hookpoints.MaxResultDepth+1)
	if err != nil {
		if r.meter.Spent() {
			return nil, err
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if tree.Kind() != payload.Object {
		return nil, fmt.Errorf("%s: the arguments by name are a list", name)
	}
	fields := make([]payload.Field, 0, tree.Len())
	for k, kid := range tree.Members() {
		fields = append(fields, payload.Field{Name: k, Value: kid})
	}
	return fields, nil
}

// operand converts one operand.
func (r *run) operand(fn, param string, v lua.LValue) (payload.Value, error) {
	tree, err := r.tree(v, hookpoints.MaxResultDepth)
	if err != nil {
		if r.meter.Spent() {
			return tree, err
		}
		return tree, fmt.Errorf("%s: argument %s: %w", fn, param, err)
	}
	return tree, nil
}
