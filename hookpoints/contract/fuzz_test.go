package contract_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"agentd/hookpoints"
	"agentd/hookpoints/contract"
	"agentd/hookpoints/payload"
)

// FuzzContracts holds compiled contracts against a schema library that reads the schemas they write:
// contracts of random types, and those of all points. Payloads are valid, nearly valid and neither;
// what a patch is told must be what the patched payload is told.
func FuzzContracts(f *testing.F) {
	for seed := range uint64(150) {
		f.Add(seed)
	}
	points := hookpoints.Standard().All()
	schemas := map[string]*jsonschema.Resolved{}
	for _, p := range points {
		schemas[p.Name] = resolve(f, p.Contract)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := &generator{rand.New(rand.NewPCG(seed, 1)), 8 + int(seed%5)*10}
		if p := points[g.IntN(len(points))]; g.IntN(2) == 0 {
			for range 10 {
				agree(t, g, p.Contract, schemas[p.Name], g.mutated(p))
			}
			return
		}
		k := g.contract()
		schema := resolve(t, k)
		for range 10 {
			agree(t, g, k, schema, g.payload(k))
		}
	})
}

func resolve(t testing.TB, k *contract.Contract) *jsonschema.Resolved {
	var s jsonschema.Schema
	if err := json.Unmarshal(k.Schema(true).JSON(), &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatalf("%s: %v", k.Schema(true), err)
	}
	return r
}

// agree checks a payload, and a patch to it, in both ways.
func agree(t *testing.T, g *generator, k *contract.Contract, schema *jsonschema.Resolved, v payload.Value) {
	err := k.Check(v)
	compare(t, k, schema, v, err)
	if err != nil {
		return
	}
	var patch []payload.Field
	for _, field := range k.Fields() {
		if g.IntN(3) == 0 {
			patch = append(patch, payload.Field{Name: field.Name, Value: g.near(&field.Type)})
		}
	}
	if g.IntN(10) == 0 {
		patch = append(patch, payload.Field{Name: g.pick("more", "A", ""), Value: g.anything()})
	}
	after := v.With(patch...)
	whole, part := k.Check(after), k.CheckPatch(after, patch)
	if (whole == nil) != (part == nil) {
		t.Fatalf("%s becomes %s under %s\nthe whole: %v\nthe patch: %v", v, after, k.Schema(true), whole, part)
	}
	compare(t, k, schema, after, whole)
}

func compare(t *testing.T, k *contract.Contract, schema *jsonschema.Resolved, v payload.Value, ours error) {
	plain, inRange := decode(t, v)
	theirs := schema.Validate(plain)
	if inRange && (ours == nil) != (theirs == nil) || ours == nil && theirs != nil {
		t.Fatalf("%s\nunder %s\nhere: %v\nthe library: %v", v, k.Schema(true), ours, theirs)
	}
}

// decode reads what the library checks. It knows no number that a float64 can't hold, of which a
// contract takes those that may be any number: 1 stands for them.
func decode(t *testing.T, v payload.Value) (plain any, inRange bool) {
	if err := json.Unmarshal(v.JSON(), &plain); err == nil {
		return plain, true
	}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(v.String(), tooLarge, "1")), &plain); err != nil {
		t.Fatalf("%s: %v", v, err)
	}
	return plain, false
}

const tooLarge = "1e400"

// generator makes contracts of the forms that points use, and payloads that fit them but for a mistake
// now and then: one in so many.
type generator struct {
	*rand.Rand
	mistakes int
}

func (g *generator) pick(list ...string) string { return list[g.IntN(len(list))] }
func (g *generator) mistake() bool              { return g.IntN(g.mistakes) == 0 }

func (g *generator) contract() *contract.Contract {
	var fields []contract.Field
	for _, name := range []string{"a", "b", "c", "d"}[:1+g.IntN(4)] {
		fields = append(fields, contract.Field{Name: name, Type: g.typ(3), Required: g.IntN(2) == 0})
	}
	return contract.New(fields)
}

func (g *generator) typ(depth int) contract.Type {
	forms := 8
	if depth > 0 {
		forms = 12
	}
	var out contract.Type
	switch g.IntN(forms) {
	case 0:
		return contract.Any
	case 1:
		out = contract.Type{Kinds: payload.String, MinLength: g.IntN(4)}
	case 2:
		out = contract.Bool
	case 3:
		out = g.bounds(contract.Int)
	case 4:
		out = g.bounds(contract.Num)
	case 5:
		out = contract.OneOf([][]string{{"a"}, {"a", "bb"}, {"", "é"}, {"null", "a", "1"}}[g.IntN(4)]...)
	case 6:
		out = contract.Only(g.pick("a", "é", "assistant"))
	case 7: // what applies to one kind says nothing about the others
		out = contract.Type{Kinds: payload.Kind(g.IntN(int(payload.Any) + 1)), MinLength: g.IntN(2), MinItems: g.IntN(2)}
	case 8, 9:
		item := g.typ(depth - 1)
		out = contract.Type{Kinds: payload.Array, MinItems: g.IntN(3), Items: &item}
	default:
		out = contract.Type{Kinds: payload.Object, Closed: g.IntN(2) == 0}
		for _, name := range []string{"a", "b", "c"} {
			if g.IntN(2) == 0 {
				out.Members = append(out.Members, contract.Field{Name: name, Type: g.typ(depth - 1)})
			}
			if g.IntN(4) == 0 {
				out.Required = append(out.Required, name)
			}
		}
		if out.Closed && out.Members == nil {
			out.Members = []contract.Field{{Name: "a"}}
		}
	}
	if g.IntN(4) == 0 && out.Kinds != 0 {
		out = out.Nullable()
	}
	return out
}

func (g *generator) bounds(in contract.Type) contract.Type {
	least := []float64{-2, -1, 0, 1, 0.5, 1 << 53}[g.IntN(6)]
	switch g.IntN(5) {
	case 0:
		return in.AtLeast(least)
	case 1:
		return in.Above(least)
	case 2:
		return in.AtLeast(least).AtMost(least + 1)
	case 3:
		return in.AtMost(least)
	}
	return in
}

func (g *generator) payload(k *contract.Contract) payload.Value {
	var members []payload.Field
	for _, field := range k.Fields() {
		if field.Required && !g.mistake() || !field.Required && g.IntN(2) == 0 {
			members = append(members, payload.Field{Name: field.Name, Value: g.near(&field.Type)})
		}
	}
	g.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	if one, other := g.mistake(), g.mistake(); one && other {
		return g.anything()
	}
	return g.source(g.more(payload.NewObject(members...)))
}

// mutated is a payload of a point, from its example or made anew.
func (g *generator) mutated(p *hookpoints.Point) payload.Value {
	if g.IntN(3) == 0 {
		return g.payload(p.Contract)
	}
	v := p.Example
	for range 1 + g.IntN(3) {
		field := p.Contract.Fields()[g.IntN(len(p.Contract.Fields()))]
		switch g.IntN(8) {
		case 0:
			v = v.Without(field.Name)
		case 1:
			v = g.more(v)
		case 2:
			v = v.With(payload.Field{Name: field.Name, Value: g.anything()})
		default:
			v = v.With(payload.Field{Name: field.Name, Value: g.near(&field.Type)})
		}
	}
	return g.source(v)
}

// source is v as text that was parsed, now and then.
func (g *generator) source(v payload.Value) payload.Value {
	if g.IntN(2) == 0 {
		return v
	}
	out, err := payload.Parse(v.JSON())
	if err != nil {
		panic(err)
	}
	return out
}

func (g *generator) near(in *contract.Type) payload.Value {
	if in == nil || in.Kinds == 0 || g.mistake() {
		return g.anything()
	}
	var kinds []payload.Kind
	for k := payload.Null; k <= payload.Object; k <<= 1 {
		if in.Kinds&k != 0 {
			kinds = append(kinds, k)
		}
	}
	switch kinds[g.IntN(len(kinds))] {
	case payload.String:
		return payload.NewString(g.text(in))
	case payload.Number:
		return payload.NewNumber(g.number(in))
	case payload.Array:
		items := make([]payload.Value, in.MinItems+g.IntN(3))
		if len(items) > 0 && g.mistake() {
			items = items[1:]
		}
		for i := range items {
			items[i] = g.near(in.Items)
		}
		return payload.NewArray(items)
	case payload.Object:
		return g.more(g.object(in))
	case payload.Bool:
		return payload.NewBool(g.IntN(2) == 0)
	}
	return payload.NewNull()
}

func (g *generator) text(in *contract.Type) string {
	switch {
	case in.Const != "" && !g.mistake():
		return in.Const
	case in.Enum != nil && !g.mistake():
		return g.pick(in.Enum...)
	case in.MinLength > 0 && !g.mistake():
		return strings.Repeat(g.pick("a", "é", "😀", "e\u0301"), in.MinLength-1+g.IntN(2)) + g.pick("", "a")
	}
	return g.pick("a", "bb", "é", "", "long enough", "1", "null", "A", "\u2028", "\x00")
}

func (g *generator) number(in *contract.Type) string {
	switch {
	case g.mistake():
		return g.pick("0", "1", "-1", "-2", "2", "1.0", "0.5", "-0", "-0.0", "1e2", "1E-2", "9007199254740993", "1e-400", tooLarge, "-"+tooLarge, "123456789012345678901234567890", "0.1")
	case in.HasMin && g.IntN(2) == 0:
		return fmt.Sprint(int(in.Min) + g.IntN(3))
	case in.HasMax && g.IntN(2) == 0:
		return fmt.Sprint(int(in.Max) - g.IntN(3))
	case in.Integer:
		return g.pick("0", "1", "2", "-1", "2.0", "1e2", "10e-1")
	}
	return g.pick("0", "1", "0.5", "-0", "1.50", "2.0", "1e-9", "-1", "9007199254740992", "9007199254740993")
}

func (g *generator) object(in *contract.Type) payload.Value {
	var fields []payload.Field
	for i := range in.Members {
		m := &in.Members[i]
		if g.IntN(4) > 0 || slices.Contains(in.Required, m.Name) {
			fields = append(fields, payload.Field{Name: m.Name, Value: g.near(&m.Type)})
		}
	}
	for _, name := range in.Required {
		if !payload.NewObject(fields...).Get(name).Exists() {
			fields = append(fields, payload.Field{Name: name, Value: g.anything()})
		}
	}
	out := payload.NewObject(fields...)
	if len(in.Required) > 0 && g.mistake() {
		out = out.Without(g.pick(in.Required...))
	}
	return out
}

func (g *generator) more(v payload.Value) payload.Value {
	if g.mistake() {
		v = v.With(payload.Field{Name: g.pick("more", "a", "A", "role", ""), Value: g.anything()})
	}
	return v
}

func (g *generator) anything() payload.Value {
	out, err := payload.ParseString(g.pick(`null`, `true`, `false`, `"a"`, `""`, `"\u0061"`, `0`, `-1`, `1.5`, `3.0`, `[]`, `{}`, `["a"]`, `[0]`, `[null]`, `[[0.5]]`, `{"a":1}`, `{"a":"a","b":null}`,
		`{"role":"user"}`, `[{"role":"user"}]`, `[{"role":null,"content":[]}]`, `[{"index":0,"text":"a"}]`, `[{"index":0,"text":""}]`, `[{"index":1.0,"text":"a","more":1}]`, tooLarge, `["`+tooLarge+`"]`,
		`"assistant"`, `"succeeded"`, `[{"id":1,"name":2}]`, `{"\u0061":1}`))
	if err != nil {
		panic(err)
	}
	return out
}
