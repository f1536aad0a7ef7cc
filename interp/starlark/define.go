package starlark

import (
	"errors"

	"go.starlark.net/starlark"

	"agentd/hookpoints"
	"agentd/interp"
)

// definer reads the arguments of one call of hook.
type definer struct {
	*interp.Draft
	r     *run
	run   *starlark.Function
	facts *starlark.Function
}

// defineHook is hook(...).
func defineHook(r *run, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	l := r.loading
	if l == nil {
		return nil, interp.ErrDefinesLate
	}
	cost, err := l.Define()
	if err != nil {
		return nil, err
	}
	if len(args) > 0 {
		return nil, errors.New("hook takes named arguments only")
	}
	if err := r.meter.Charge(cost); err != nil {
		return nil, err
	}
	line := int(r.thread.CallFrame(r.thread.CallStackDepth() - 1).Pos.Line)
	d := &definer{Draft: interp.NewDraft(l.Main, line), r: r}
	err = d.read(kwargs)
	if err == nil {
		err = d.Check(l.Defs)
	}
	if err != nil {
		l.Refused = idOf(kwargs)
		return nil, err
	}
	d.Hook = newHook(l, d.run, d.facts)
	l.Defs = append(l.Defs, d.Definition)
	return starlark.None, nil
}

// idOf finds the id that a call of hook gives, "" if there is none.
func idOf(kwargs []starlark.Tuple) string {
	for _, kv := range kwargs {
		if id, ok := kv[1].(starlark.String); ok && kv[0] == starlark.String("id") {
			return string(id)
		}
	}
	return ""
}

func (d *definer) read(kwargs []starlark.Tuple) error {
	for _, kv := range kwargs {
		name := string(kv[0].(starlark.String))
		if err := d.Known(name); err != nil {
			return err
		}
		if kv[1] == starlark.None {
			continue
		}
		if err := d.argument(name, kv[1]); err != nil {
			return err
		}
	}
	return nil
}

// argument reads one argument. Functions are the language's own, everything else is a JSON value.
func (d *definer) argument(name string, v starlark.Value) (err error) {
	_, callable := v.(starlark.Callable)
	switch {
	case name == interp.RunArgument:
		d.run, err = hookFunction(v)
	case name == interp.FactsArgument && callable:
		d.facts, err = hookFunction(v)
	default:
		tree, terr := d.r.tree(v, hookpoints.MaxResultDepth)
		if terr == nil {
			return d.Set(name, tree)
		}
		err = terr
	}
	if err != nil {
		if d.r.meter.Spent() {
			return err
		}
		return interp.Wrong(name, err)
	}
	d.Given(name)
	return nil
}
