package starlark

import (
	"os"
	"testing"

	"go.starlark.net/starlark"

	"agentd/builtins/meter"
	"agentd/interp"
	"agentd/interp/interptest"
)

func TestIdentityNamesTheVersionThatGoModPins(t *testing.T) {
	required := interptest.Required(t, os.DirFS("../.."), interpreter)
	if required != pinned {
		t.Errorf("pinned is %s, go.mod has %s", pinned, required)
	}
	want := interp.Identity{Language: "starlark", Interpreter: "go.starlark.net@" + required, Dialect: "set"}
	if got := New().Identity(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestNoNameReachesABuiltinOfTheInterpreterItself(t *testing.T) {
	env := New().env
	ours := map[starlark.Value]bool{}
	for name, v := range env.values {
		if b, ok := v.(*starlark.Builtin); ok {
			ours[b] = true
			if theirs, ok := starlark.Universe[b.Name()]; ok && theirs == starlark.Value(b) {
				t.Errorf("%s is the interpreter's own", name)
			}
		}
	}
	for name := range starlark.Universe {
		if !env.has(name) {
			t.Errorf("nothing covers %s", name)
		}
		if !env.declares(name) {
			t.Errorf("%s resolves to the interpreter's own", name)
		}
	}
	// Methods of the interpreter's types are covered by ours.
	for _, v := range []starlark.HasAttrs{starlark.String(""), starlark.Bytes(""), starlark.NewList(nil)} {
		for _, name := range v.AttrNames() {
			if methodsOf(v)[name] == nil {
				t.Errorf("nothing covers %s.%s", v.Type(), name)
			}
		}
	}
	for _, pair := range [][2]starlark.Value{{starlark.NewDict(0), newDict(0)}, {starlark.NewSet(0), newSet()}} {
		for _, name := range pair[0].(starlark.HasAttrs).AttrNames() {
			if methodsOf(pair[1])[name] == nil {
				t.Errorf("%s lacks %s", pair[1].Type(), name)
			}
		}
	}
}

func TestNoBuiltinWithoutItsPrice(t *testing.T) {
	do := func(*run, starlark.Value, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
		return starlark.None, nil
	}
	for name, f := range map[string]func(){
		"price": func() { newBuiltin("x", nil, do) },
		"work":  func() { newBuiltin("x", steps(1), nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a builtin without %s was made", name)
				}
			}()
			f()
		}()
	}
}

func TestABuiltinDoesNotWorkBeforeItIsPaidFor(t *testing.T) {
	worked := false
	b := newBuiltin("x", steps(1000), func(*run, starlark.Value, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
		worked = true
		return starlark.None, nil
	})
	r := newRun(t.Context(), meter.Limits{Fuel: 999, Bytes: 1})
	if _, err := starlark.Call(&r.thread, b.value, nil, nil); err == nil || worked {
		t.Errorf("err %v, worked %v", err, worked)
	}
}

func TestNamesOfOperatorsAreNoIdentifiers(t *testing.T) {
	for _, b := range operators() {
		if isIdentifier(b.name) {
			t.Errorf("a script can say %s", b.name)
		}
	}
}
