package lua

import (
	"errors"
	"fmt"

	lua "github.com/yuin/gopher-lua"

	"agentd/hookpoints"
	"agentd/interp"
)

// defineHook is hook{...}.
func defineHook(r *run, L *lua.LState) (int, error) {
	l := r.loading
	if l == nil {
		return 0, interp.ErrDefinesLate
	}
	cost, err := l.Define()
	if err != nil {
		return 0, err
	}
	t, ok := L.Get(1).(*lua.LTable)
	if !ok || L.GetTop() != 1 {
		return 0, errors.New("hook takes one table with named arguments, as in hook{id = ..., version = ..., run = ...}")
	}
	if err := r.meter.Charge(cost); err != nil {
		return 0, err
	}
	d := definer{Draft: interp.NewDraft(l.Main, lineOf(L)), r: r}
	err = d.read(t)
	if err == nil {
		err = d.Check(l.Defs)
	}
	if err != nil {
		if id, ok := t.RawGetString("id").(lua.LString); ok {
			l.Refused = string(id)
		}
		return 0, err
	}
	d.Hook = newHook(l, d.HookID, d.run, d.facts)
	l.Defs = append(l.Defs, d.Definition)
	return 0, nil
}

// lineOf is the line of the Lua code that called a builtin.
func lineOf(L *lua.LState) int {
	if frames := scriptFrames(L); len(frames) > 0 {
		return frames[0].line
	}
	return 0
}

// definer reads the arguments of one call of hook.
type definer struct {
	*interp.Draft
	r          *run
	run, facts *lua.LFunction
}

func (d *definer) read(t *lua.LTable) error {
	k, v, err := d.r.next(t, lua.LNil)
	for ; k != lua.LNil && err == nil; k, v, err = d.r.next(t, k) {
		name, ok := k.(lua.LString)
		if !ok {
			return fmt.Errorf("hook takes named arguments only, and its table has a key that is a %s", typeName(k))
		}
		if err := d.argument(string(name), v); err != nil {
			return err
		}
	}
	return err
}

func (d *definer) argument(name string, v lua.LValue) error {
	if err := d.Known(name); err != nil {
		return err
	}
	if fn, ok := v.(*lua.LFunction); ok {
		return d.function(name, fn)
	}
	tree, err := d.r.tree(v, hookpoints.MaxResultDepth)
	if err != nil {
		if d.r.meter.Spent() {
			return err
		}
		return interp.Wrong(name, err)
	}
	if err := d.Set(name, tree); err != nil {
		return betterList(err, errors.Is(err, interp.ErrWantsList), tree)
	}
	return nil
}

func (d *definer) function(name string, fn *lua.LFunction) error {
	to := &d.run
	switch {
	case fn.IsG:
		return interp.Wrong(name, errors.New("it is a function of the library, want one of the script"))
	case name == interp.FactsArgument:
		to = &d.facts
	case name != interp.RunArgument:
		return interp.Wrong(name, errors.New("it is a function"))
	}
	*to = fn
	d.Given(name)
	return nil
}
