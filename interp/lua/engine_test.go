package lua

import (
	"os"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"

	"agentd/builtins/meter"
	"agentd/interp"
	"agentd/interp/interptest"
)

func TestIdentityNamesTheVersionThatGoModPins(t *testing.T) {
	required := interptest.Required(t, os.DirFS("../.."), interpreter)
	if required != pinned {
		t.Errorf("pinned is %s, go.mod has %s", pinned, required)
	}
	want := interp.Identity{Language: "lua", Interpreter: "github.com/yuin/gopher-lua@" + required, Dialect: "5.1 hooks"}
	if got := New().Identity(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestNoBuiltinWithoutItsPrice(t *testing.T) {
	do := func(*run, *lua.LState) (int, error) { return 0, nil }
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
	b := newBuiltin("x", steps(1000), func(*run, *lua.LState) (int, error) {
		worked = true
		return 0, nil
	})
	r := newRun(t.Context(), meter.Limits{Fuel: 999, Bytes: 1})
	if _, err := r.invoke(New().states, b.value); err == nil || worked {
		t.Errorf("err %v, worked %v", err, worked)
	}
}

func TestNamesOfOperatorsAreNoIdentifiers(t *testing.T) {
	for _, b := range operators() {
		if !strings.HasPrefix(b.name, "@") {
			t.Errorf("a script can say %s", b.name)
		}
	}
}
