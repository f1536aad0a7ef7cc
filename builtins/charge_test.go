package builtins

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agentd/builtins/meter"
	"agentd/hookpoints/payload"
)

// arguments draws values that fit a builtin's parameters.
func arguments(f *Func) *rapid.Generator[[]payload.Value] {
	return rapid.Custom(func(t *rapid.T) []payload.Value {
		text := rapid.OneOf(rapid.String(), subjects())
		args := make([]payload.Value, len(f.Params))
		for i, p := range f.Params {
			if p.Optional && rapid.Bool().Draw(t, "absent") {
				continue
			}
			switch {
			case f.Name == "json.encode":
				args[i] = trees(3).Draw(t, p.Name)
			case f.Name == "json.decode":
				args[i] = payload.NewString(trees(3).Draw(t, p.Name).String())
			case p.Name == "pattern" && strings.HasPrefix(f.Name, "re."):
				args[i] = payload.NewString(expressions().Draw(t, p.Name))
			case p.Name == "pattern":
				args[i] = payload.NewString(globs().Draw(t, p.Name))
			case p.Name == "call":
				args[i] = calls().Draw(t, p.Name)
			case p.Name == "with":
				args[i] = payload.NewString(rapid.SampledFrom([]string{"", "long replacement", "$0$0$1", "${n}"}).Draw(t, p.Name))
			case p.Kinds == payload.Number:
				args[i] = payload.NewInt(rapid.Int64Range(1, 20).Draw(t, p.Name))
			case p.Kinds == payload.Array:
				args[i] = payload.NewStrings(rapid.SliceOfN(text, 0, 6).Draw(t, p.Name))
			default:
				args[i] = payload.NewString(text.Draw(t, p.Name))
			}
		}
		return args
	})
}

// calls are of tools with arguments of the names that are read, and others.
func calls() *rapid.Generator[payload.Value] {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"bash", "-lc", "it's", "pwsh", "-Command", "*** Begin Patch\n*** Move to: x\n*** Move to: y\n*** Move to: z\n",
		"--- a\n+++ b\n--- c\n+++ d\n--- e\n+++ f\n--- g\n+++ h\n--- i\n+++ j\n--- k\n+++ l\n--- m\n+++ n\n--- o\n+++ p\n--- q\n+++ r\n--- s\n+++ t\n"}))
	value := func(t *rapid.T) payload.Value {
		switch rapid.IntRange(0, 3).Draw(t, "shape") {
		case 0:
			return payload.NewStrings(rapid.SliceOfN(text, 0, 4).Draw(t, "list"))
		case 1:
			return payload.NewArray([]payload.Value{payload.NewObject(payload.Field{Name: "path", Value: payload.NewString(text.Draw(t, "path"))},
				payload.Field{Name: "command", Value: payload.NewStrings(rapid.SliceOfN(text, 0, 3).Draw(t, "words"))})})
		case 2:
			return trees(2).Draw(t, "tree")
		}
		return payload.NewString(text.Draw(t, "text"))
	}
	return rapid.Custom(func(t *rapid.T) payload.Value {
		var in []payload.Field
		for _, name := range slices.Concat([]string{"", "other", "input", "chars", "path", "file_path", "patch"}, commandNames, pathLists) {
			if rapid.Bool().Draw(t, name) {
				in = append(in, payload.Field{Name: name, Value: value(t)})
			}
		}
		object := payload.NewObject(in...)
		names := rapid.SampledFrom([]string{"Bash", "shell", "x", "powershell", "apply_patch", "write_bash", "write_stdin"})
		for range rapid.IntRange(0, 2).Draw(t, "calls around it") {
			nested := payload.NewObject(payload.Field{Name: "tool", Value: payload.NewString(names.Draw(t, "tool"))}, payload.Field{Name: "parameters", Value: object})
			object = payload.NewObject(payload.Field{Name: "tool_calls", Value: payload.NewArray([]payload.Value{value(t), nested, nested})}, payload.Field{Name: "command", Value: value(t)})
		}
		return payload.NewObject(payload.Field{Name: "name", Value: payload.NewString(names.Draw(t, "name"))}, payload.Field{Name: "arguments", Value: object})
	})
}

func trees(depth int) *rapid.Generator[payload.Value] {
	scalar := rapid.OneOf(
		rapid.Map(rapid.String(), payload.NewString),
		rapid.Map(rapid.Int64(), payload.NewInt),
		rapid.SampledFrom([]payload.Value{payload.NewNull(), payload.NewBool(true), payload.NewNumber("1.50")}),
	)
	if depth == 0 {
		return scalar
	}
	return rapid.OneOf(scalar,
		rapid.Map(rapid.SliceOfN(trees(depth-1), 0, 4), payload.NewArray),
		rapid.Map(rapid.MapOfN(rapid.String(), trees(depth-1), 0, 4), func(m map[string]payload.Value) payload.Value {
			var fields []payload.Field
			for name, v := range m {
				fields = append(fields, payload.Field{Name: name, Value: v})
			}
			return payload.NewObject(fields...)
		}))
}

func TestChargeCoversTheResult(t *testing.T) {
	for _, f := range All() {
		t.Run(f.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				args := arguments(f).Draw(t, "args")
				cost := f.cost(args)
				if cost.Fuel <= 0 || cost.Bytes < 0 {
					t.Fatalf("charge of %v is %+v", args, cost)
				}
				if again := f.cost(args); again != cost {
					t.Fatalf("charge of %v is %+v, then %+v", args, cost, again)
				}
				got, err := f.Call(roomy(), args)
				if err != nil {
					t.Skip(err)
				}
				size := weight(got)
				if f.Name == "json.decode" { // the tree is read on demand, and charged there
					size = int64(got.Size())
				}
				if cost.Bytes < size {
					t.Fatalf("%s %v: charged %d bytes for a result of %d", f.Name, args, cost.Bytes, size)
				}
			})
		})
	}
}

func TestChargeGrowsWithTheArguments(t *testing.T) {
	for _, f := range All() {
		t.Run(f.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				args := arguments(f).Draw(t, "args")
				if _, err := f.Call(roomy(), args); err != nil && strings.Contains(err.Error(), "bad ") {
					t.Skip(err)
				}
				before := f.cost(args)
				larger := append([]payload.Value(nil), args...)
				grown := false
				for i, p := range f.Params {
					switch v := args[i]; {
					case p.Name == "pattern" || p.Name == "limit" || p.Name == "bytes" || !v.Exists():
					case v.Kind() == payload.String:
						larger[i] = payload.NewString(v.Text() + strings.Repeat(v.Text()+"ab", 500))
						grown = true
					case v.Kind() == payload.Array:
						items := make([]payload.Value, 0, v.Len()+100)
						for item := range v.Items() {
							items = append(items, item)
						}
						for range 100 {
							items = append(items, payload.NewString("more"))
						}
						larger[i] = payload.NewArray(items)
						grown = true
					case p.Name == "call":
						in := v.Get("arguments")
						larger[i] = v.With(payload.Field{Name: "arguments", Value: in.With(payload.Field{Name: "command", Value: payload.NewString(in.String() + strings.Repeat("ab", 5000))})})
						grown = true
					}
				}
				if !grown {
					t.Skip("a scalar without text")
				}
				if after := f.cost(larger); units(after) <= units(before) || after.Bytes < before.Bytes {
					t.Fatalf("%s: charge is %+v, and %+v for larger arguments", f.Name, before, after)
				}
			})
		})
	}
}

// units is the fuel of a cost, that for its bytes included.
func units(c meter.Cost) int64 { return c.Fuel + c.Bytes/meter.BytesPerFuel }

// An endless text times a large program must not wrap around into a small charge.
func TestChargeSaturates(t *testing.T) {
	p, err := compilePattern("(a?){100}.*")
	if err != nil {
		t.Fatal(err)
	}
	huge := reach{span: math.MaxInt64 / 8, matches: math.MaxInt64 / 8}
	cost := p.searchCost("", huge)
	if cost.Fuel > 0 && cost.Fuel < math.MaxInt64/8 {
		t.Errorf("charge of an endless text is %+v", cost)
	}
	m := meter.New(new(uint64), meter.Limits{Fuel: math.MaxInt64 / 64, Bytes: math.MaxInt64 / 64})
	if err := m.Charge(cost); err == nil {
		t.Errorf("%+v was affordable", cost)
	}
}
