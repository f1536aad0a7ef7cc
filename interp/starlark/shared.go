package starlark

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"agentd/builtins"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// shared adapts a shared builtin: it pays for itself, converting its operands pays for itself too.
func shared(f *builtins.Func) *builtin {
	return newBuiltin(f.Name, steps(1), func(r *run, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		trees, _, err := r.arrange(f.Name, f.Params, false, args, kwargs)
		if err != nil {
			return nil, err
		}
		out, err := f.Call(&r.meter, trees)
		if err != nil {
			return nil, err
		}
		return r.show(out)
	})
}

// decider adapts a decision builtin.
func decider(d *builtins.Decider) *builtin {
	return newBuiltin(d.Name, steps(1), func(r *run, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		trees, fields, err := r.arrange(d.Name, d.Params, d.Open, args, kwargs)
		if err != nil {
			return nil, err
		}
		made, err := d.Make(trees, fields)
		if err != nil {
			return nil, err
		}
		return &decision{made}, r.charge(0, 2*nodeBytes)
	})
}

// arrange puts positional and named operands in the places of a builtin's parameters, converted. Of
// an open one the names that are no parameters become fields, in the order of the call.
func (r *run) arrange(name string, params []builtins.Param, open bool, args starlark.Tuple, kwargs []starlark.Tuple) ([]payload.Value, []payload.Field, error) {
	if len(args) > len(params) {
		if len(params) == 0 && open {
			return nil, nil, fmt.Errorf("%s takes named fields only", name)
		}
		return nil, nil, fmt.Errorf("%s: got %d arguments, want at most %d", name, len(args), len(params))
	}
	trees := make([]payload.Value, len(params))
	for i, a := range args {
		tree, err := r.operand(name, params[i].Name, a)
		if err != nil {
			return nil, nil, err
		}
		trees[i] = tree
	}
	var fields []payload.Field
	seen := names{}
	for _, kv := range kwargs {
		field := string(kv[0].(starlark.String))
		tree, err := r.operand(name, field, kv[1])
		if err != nil {
			return nil, nil, err
		}
		switch i := paramNamed(params, field); {
		case i >= 0 && trees[i].Exists():
			return nil, nil, fmt.Errorf("%s: argument %s is given twice", name, field)
		case i >= 0:
			trees[i] = tree
		case !open:
			return nil, nil, fmt.Errorf("%s: there is no argument %s", name, field)
		case !seen.add(field, fields):
			return nil, nil, fmt.Errorf("%s: field %s is given twice", name, field)
		default:
			if fields == nil {
				fields = make([]payload.Field, 0, len(kwargs))
			}
			fields = append(fields, payload.Field{Name: field, Value: tree})
		}
	}
	return trees, fields, nil
}

// names remembers fields once there are more than a few.
type names map[string]bool

// add reports whether a name is none of those before it.
func (n names) add(name string, before []payload.Field) bool {
	if len(before) < small {
		return !slices.ContainsFunc(before, func(f payload.Field) bool { return f.Name == name })
	}
	if len(n) == 0 {
		for _, f := range before {
			n[f.Name] = true
		}
	}
	known := n[name]
	n[name] = true
	return !known
}

func paramNamed(params []builtins.Param, name string) int {
	for i, p := range params {
		if p.Name == name {
			return i
		}
	}
	return -1
}

// operand converts one operand. A named None is null; a builtin that minds says so.
func (r *run) operand(fn, param string, v starlark.Value) (payload.Value, error) {
	tree, err := r.tree(v, hookpoints.MaxResultDepth)
	if err != nil {
		if r.meter.Spent() {
			return tree, err
		}
		return tree, fmt.Errorf("%s: argument %s: %w", fn, param, err)
	}
	return tree, nil
}
