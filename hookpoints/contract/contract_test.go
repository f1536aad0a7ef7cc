package contract_test

import (
	"errors"
	"strings"
	"testing"

	"agentd/hookpoints/contract"
	"agentd/hookpoints/payload"
)

func req(name string, t contract.Type) contract.Field {
	return contract.Field{Name: name, Type: t, Required: true}
}

func parse(t interface{ Fatal(...any) }, text string) payload.Value {
	v, err := payload.ParseString(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestEachTypeTakesAndRefuses(t *testing.T) {
	item := contract.Type{Kinds: payload.Object, Required: []string{"index"}, Closed: true,
		Members: []contract.Field{{Name: "index", Type: contract.Int.AtLeast(0)}, {Name: "text", Type: contract.Type{Kinds: payload.String, MinLength: 2}}}}
	for name, c := range map[string]struct {
		t       contract.Type
		takes   []string
		refuses map[string]string // value: what the fault says
	}{
		"any":      {contract.Any, []string{`null`, `1e400`, `[]`, `{"a":1}`}, nil},
		"string":   {contract.Str, []string{`""`, `"é"`}, map[string]string{`null`: "null, want string", `1`: "number, want string", `{}`: "object"}},
		"bool":     {contract.Bool, []string{`true`, `false`}, map[string]string{`0`: "number, want boolean", `"true"`: "string"}},
		"nullable": {contract.Str.Nullable(), []string{`null`, `"a"`}, map[string]string{`false`: "boolean, want null or string"}},
		"integer":  {contract.Int, []string{`0`, `-7`, `3.0`, `1e2`, `123456789012345678901234567890`}, map[string]string{`1.5`: "no integer", `"1"`: "want integer", `1e400`: "out of range", `null`: "want integer"}},
		"bounded":  {contract.Num.AtLeast(0).AtMost(2), []string{`0`, `-0`, `2`, `1.99`}, map[string]string{`-0.1`: "below", `2.01`: "above", `-1e400`: "range"}},
		"above":    {contract.Num.Above(0).AtMost(1), []string{`1e-9`, `1`}, map[string]string{`0`: "below", `-1`: "below", `1.1`: "above"}},
		"number":   {contract.Num, []string{`1e400`, `-0.0`}, map[string]string{`true`: "boolean, want number"}},
		"one of":   {contract.OneOf("a", "b"), []string{`"a"`, `"\u0062"`}, map[string]string{`"c"`: "none of a, b", `null`: "want string"}},
		"only":     {contract.Only("x"), []string{`"x"`}, map[string]string{`"y"`: `not "x"`, `""`: `not "x"`}},
		"list":     {contract.ListOf(contract.ListOf(contract.Num)), []string{`[]`, `[[]]`, `[[1],[2,3]]`}, map[string]string{`[1]`: "item 0 is number", `[[],["a"]]`: "item 1 item 0 is string"}},
		"few":      {contract.Type{Kinds: payload.Array, MinItems: 2}, []string{`[1,2]`}, map[string]string{`[1]`: "fewer than 2"}},
		"having":   {contract.Having("role"), []string{`{"role":1,"x":2}`}, map[string]string{`{}`: `lacks "role"`, `[]`: "array, want object"}},
		"closed":   {item, []string{`{"index":0}`, `{"text":"éé","index":1}`}, map[string]string{`{"index":-1}`: `member "index" is below`, `{"index":1,"text":"é"}`: `"text" is shorter than 2`, `{"index":1,"more":1}`: `unknown member "more"`}},
	} {
		k := contract.New([]contract.Field{req("f", c.t)})
		for _, text := range c.takes {
			if err := k.Check(parse(t, `{"f":`+text+`}`)); err != nil {
				t.Errorf("%s refuses %s: %v", name, text, err)
			}
		}
		for text, says := range c.refuses {
			v := parse(t, `{"f":`+text+`}`)
			whole, patch := k.Check(v), k.CheckPatch(v, []payload.Field{{Name: "f", Value: v.Get("f")}})
			var fault *contract.Fault
			switch {
			case whole == nil || patch == nil:
				t.Errorf("%s takes %s (%v, as a patch %v)", name, text, whole, patch)
			case !errors.As(whole, &fault) || fault.Field != "f" || !strings.Contains(fault.Message, says):
				t.Errorf("%s refuses %s with %q, want %q", name, text, whole, says)
			case patch.Error() != whole.Error():
				t.Errorf("%s: a patch to %s is refused with %q, the whole with %q", name, text, patch, whole)
			}
		}
	}
}

func TestAPayloadIsAClosedObject(t *testing.T) {
	k := contract.New([]contract.Field{req("a", contract.Any), {Name: "b", Type: contract.Str}})
	for text, want := range map[string]string{
		`{"a":null}`:       "",
		`{"b":"x","a":1}`:  "",
		`{}`:               `field "a" is missing`,
		`{"a":1,"c":1}`:    `field "c" is not part of this point`,
		`{"a":1,"b":null}`: `field "b" is null, want string`,
		`[]`:               `the payload is not an object`,
		`null`:             `the payload is not an object`,
	} {
		got := ""
		if err := k.Check(parse(t, text)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if err := k.Check(payload.Value{}); err == nil {
		t.Error("an absent payload is taken")
	}
	if err := k.CheckPatch(parse(t, `{"a":1,"c":1}`), []payload.Field{{Name: "c", Value: payload.NewInt(1)}}); err == nil {
		t.Error("a patch adds a field")
	}
	defer func() {
		if recover() == nil {
			t.Error("a field is declared twice")
		}
	}()
	contract.New([]contract.Field{req("a", contract.Any), req("a", contract.Any)})
}

func TestARuleIsAskedWhenAFieldItLooksAtChanges(t *testing.T) {
	asked := 0
	k := contract.New([]contract.Field{req("a", contract.Int), req("b", contract.Int), req("c", contract.Int)},
		contract.Rule{Over: []string{"a", "b"}, Check: func(v payload.Value) string {
			asked++
			if v.Get("a").Text() == v.Get("b").Text() {
				return "equals b"
			}
			return ""
		}})
	v := parse(t, `{"a":1,"b":2,"c":3}`)
	for _, c := range []struct {
		field, value string
		asked        int
		ok           bool
	}{{"c", "2", 0, true}, {"b", "3", 1, true}, {"b", "1", 1, false}, {"a", "2", 1, false}} {
		asked = 0
		f := payload.Field{Name: c.field, Value: payload.NewNumber(c.value)}
		err := k.CheckPatch(v.With(f), []payload.Field{f})
		if asked != c.asked || (err == nil) != c.ok {
			t.Errorf("%s = %s: %v, the rule was asked %d times", c.field, c.value, err, asked)
		}
	}
	if err := k.Check(parse(t, `{"a":1,"b":1,"c":1}`)); err == nil || !strings.Contains(err.Error(), `field "a" equals b`) {
		t.Errorf("the whole payload: %v", err)
	}
}
