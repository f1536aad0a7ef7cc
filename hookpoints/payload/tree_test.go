package payload_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentd/hookpoints/payload"
)

func parse(t interface{ Fatal(...any) }, text string) payload.Value {
	v, err := payload.ParseString(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func field(name string, v payload.Value) payload.Field { return payload.Field{Name: name, Value: v} }

func TestWithReplacesInPlaceAndAppendsTheRest(t *testing.T) {
	one, two := payload.NewInt(1), payload.NewString("two")
	for _, c := range []struct {
		name, was, want string
		fields          []payload.Field
	}{
		{"in place, in the order of the document", `{"a":1.50,"b":2,"c":3}`, `{"a":1.50,"b":"two","c":3}`, []payload.Field{field("b", two)}},
		{"new ones last", `{"a": 1}`, `{"a":1,"x":1,"y":"two"}`, []payload.Field{field("x", one), field("y", two)}},
		{"the later of two wins", `{}`, `{"x":"two"}`, []payload.Field{field("x", one), field("x", two)}},
		{"the later of two wins in place", `{"x":0,"y":0}`, `{"x":"two","y":0}`, []payload.Field{field("x", one), field("x", two)}},
		{"absent values change nothing", `{"x":0}`, `{"x":0}`, []payload.Field{field("x", payload.Value{}), field("y", payload.Value{})}},
		{"null is a value", `{"x":0}`, `{"x":null}`, []payload.Field{field("x", payload.NewNull())}},
		{"no object counts as empty", `[1]`, `{"x":1}`, []payload.Field{field("x", one)}},
		{"large objects too", `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1}`, `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":"two","j":1,"k":1}`,
			[]payload.Field{field("k", one), field("i", two)}},
		{"names are escaped", `{}`, `{"\"\\\n":1}`, []payload.Field{field("\"\\\n", one)}},
	} {
		was := parse(t, c.was)
		if got := was.With(c.fields...).String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if was.String() != c.was {
			t.Errorf("%s: the original became %s", c.name, was)
		}
	}
}

func TestWithoutLeavesOutWhatIsNamed(t *testing.T) {
	v := parse(t, `{"a":1, "b":2,"c":[ 3 ]}`)
	for want, names := range map[string][]string{`{"a":1,"b":2,"c":[ 3 ]}`: nil, `{"b":2}`: {"a", "c", "x"}, `{}`: {"c", "b", "a"}} {
		if got := v.Without(names...).String(); got != want {
			t.Errorf("without %v: %s, want %s", names, got, want)
		}
	}
	if got := payload.NewInt(1).Without("a").String(); got != `{}` {
		t.Errorf("a number without a member is %s", got)
	}
}

// A patch shares what it doesn't name: the very nodes, so neither is their text written anew nor are
// they indexed again.
func TestAPatchSharesWhatItDoesNotName(t *testing.T) {
	var count payload.Counter
	v, err := payload.ParseCounted([]byte(`{"big":{"deep": [1.0, {"x":1e400}] },"n":1}`), &count)
	if err != nil {
		t.Fatal(err)
	}
	patched := v.With(field("n", payload.NewInt(2)))
	if patched.Get("big") != v.Get("big") || !patched.Get("big").IsSource() {
		t.Error("the member that wasn't named is another node")
	}
	if got, want := patched.String(), `{"big":{"deep": [1.0, {"x":1e400}] },"n":2}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if n := count.Nodes(); n != 2 {
		t.Errorf("%d nodes were indexed, want the 2 of the top", n)
	}
	if patched.IsSource() || patched.Get("n").Text() != "2" || v.Get("n").Text() != "1" {
		t.Error("the patch isn't apart from its original")
	}
}

func TestWithAgreesWithAMapThatKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := parse(t, `{"a":0,"b":0,"c":0}`)
		names, values := []string{"a", "b", "c"}, map[string]string{"a": "0", "b": "0", "c": "0"}
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "drop") {
				drop := rapid.SliceOfN(rapid.StringMatching(`[a-f]`), 0, 2).Draw(t, "names")
				v = v.Without(drop...)
				names = slices.DeleteFunc(names, func(n string) bool { return slices.Contains(drop, n) })
				continue
			}
			var fields []payload.Field
			for range rapid.IntRange(0, 4).Draw(t, "fields") {
				name, value := rapid.StringMatching(`[a-l]`).Draw(t, "name"), rapid.StringMatching(`[1-9]`).Draw(t, "value")
				fields = append(fields, field(name, payload.NewNumber(value)))
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
				values[name] = value
			}
			v = v.With(fields...)
		}
		var parts []string
		for _, n := range names {
			parts = append(parts, fmt.Sprintf("%q:%s", n, values[n]))
		}
		if got, want := v.String(), "{"+strings.Join(parts, ",")+"}"; got != want {
			t.Fatalf("%s, want %s", got, want)
		}
		for i, n := range names {
			if v.Get(n) != v.At(i) || v.Get(n).Text() != values[n] {
				t.Fatalf("member %s of %s", n, v)
			}
		}
	})
}

// built draws a tree that mixes source text with built nodes.
func built() *rapid.Generator[payload.Value] {
	return rapid.Custom(func(t *rapid.T) payload.Value { return draw(t, 3) })
}

func draw(t *rapid.T, depth int) payload.Value {
	forms := []string{"source", "string", "int", "scalar", "array", "object"}
	if depth == 0 {
		forms = forms[:4]
	}
	switch rapid.SampledFrom(forms).Draw(t, "form") {
	case "source":
		return parse(t, jsonText(min(depth, 2)).Draw(t, "json"))
	case "string":
		return payload.NewString(text().Draw(t, "text"))
	case "int":
		return payload.NewInt(rapid.Int64().Draw(t, "int"))
	case "scalar":
		return rapid.SampledFrom([]payload.Value{payload.NewNull(), payload.NewBool(true), payload.NewBool(false), payload.NewNumber("1.50")}).Draw(t, "scalar")
	case "array":
		var items []payload.Value
		for range rapid.IntRange(0, 4).Draw(t, "items") {
			items = append(items, draw(t, depth-1))
		}
		return payload.NewArray(items)
	}
	var fields []payload.Field
	for i := range rapid.IntRange(0, 11).Draw(t, "fields") {
		fields = append(fields, field(fmt.Sprint(text().Draw(t, "name"), i), draw(t, depth-1)))
	}
	return payload.NewObject(fields...)
}

func TestSizeDepthAndDigestAreThoseOfTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := built().Draw(t, "tree")
		text := v.JSON()
		for range 2 { // measured, and remembered
			if v.Size() != len(text) {
				t.Fatalf("Size of %s is %d, want %d", text, v.Size(), len(text))
			}
		}
		if got := v.AppendJSON([]byte("x")); string(got) != "x"+string(text) {
			t.Fatalf("AppendJSON gives %s", got)
		}
		again := parse(t, string(text))
		sum := sha256.Sum256(text)
		if v.Digest() != hex.EncodeToString(sum[:]) || again.Digest() != v.Digest() {
			t.Fatalf("Digest of %s", text)
		}
		want := levels(decoder(text))
		limit := rapid.IntRange(0, 8).Draw(t, "limit")
		for _, form := range []payload.Value{v, again} {
			if got := form.Depth(limit); got != min(want, limit+1) {
				t.Fatalf("Depth(%d) of %s is %d, it has %d levels", limit, text, got, want)
			}
			if got := form.Depth(100); got != want {
				t.Fatalf("Depth of %s is %d, want %d", text, got, want)
			}
		}
		if err := same(v, decoder(text)); err != nil {
			t.Fatal(err)
		}
	})
}

func levels(dec *json.Decoder) int {
	depth, deepest := 0, 0
	for {
		tok, err := dec.Token()
		if err != nil {
			return deepest
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			depth++
			deepest = max(deepest, depth)
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
}

func TestSharedNodesAreMeasuredOnce(t *testing.T) {
	v := payload.NewString("x")
	for range 60 { // 2^60 leaves, were anybody to walk them
		v = payload.NewArray([]payload.Value{v, v})
	}
	if got := v.Depth(64); got != 60 {
		t.Errorf("Depth is %d", got)
	}
	if got := v.Size(); got != 1<<29 {
		t.Errorf("Size is %d, want the half gigabyte where it ends", got)
	}
}

func TestScalarsReadAsTheyAre(t *testing.T) {
	type reading struct {
		Kind  payload.Kind
		Text  string
		Int   int64
		IsInt bool
		Float float64
		IsNum bool
		True  bool
		Len   int
	}
	read := func(v payload.Value) reading {
		r := reading{Kind: v.Kind(), Text: v.Text(), True: v.IsTrue(), Len: v.Len()}
		r.Int, r.IsInt = v.Int64()
		r.Float, r.IsNum = v.Float64()
		return r
	}
	big := "9223372036854775808"
	for text, want := range map[string]reading{
		`null`:          {Kind: payload.Null},
		`true`:          {Kind: payload.Bool, Text: "true", True: true},
		`false`:         {Kind: payload.Bool, Text: "false"},
		`"a\tb\u00e9"`:  {Kind: payload.String, Text: "a\tbé"},
		`"7"`:           {Kind: payload.String, Text: "7"},
		`7`:             {Kind: payload.Number, Text: "7", Int: 7, IsInt: true, Float: 7, IsNum: true},
		`-0`:            {Kind: payload.Number, Text: "-0", IsInt: true, IsNum: true},
		`1.50`:          {Kind: payload.Number, Text: "1.50", Float: 1.5, IsNum: true},
		`1e2`:           {Kind: payload.Number, Text: "1e2", Float: 100, IsNum: true},
		big:             {Kind: payload.Number, Text: big, Int: 0, Float: 9223372036854775808, IsNum: true},
		`[1,"two",[3]]`: {Kind: payload.Array, Len: 3},
		`{"a":{"b":1}}`: {Kind: payload.Object, Len: 1},
	} {
		got := read(parse(t, text))
		if !got.IsInt {
			got.Int = 0
		}
		if diff := cmp.Diff(want, got, cmp.Transformer("neg", func(f float64) string { return fmt.Sprint(f + 0) })); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	if _, ok := parse(t, `1e400`).Float64(); ok {
		t.Error("1e400 is a float64")
	}
	absent := payload.Value{}
	if absent.Exists() || absent.Kind() != 0 || absent.String() != "null" || absent.Size() != 4 || absent.Get("a").Exists() || absent.Kind().String() != "absent" {
		t.Error("an absent value isn't absent")
	}
	if got := parse(t, `["a",1,"b",null]`).Strings(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("Strings gives %q", got)
	}
	if got := (payload.String | payload.Null).String(); got != "null or string" {
		t.Errorf("kinds are called %q", got)
	}
}

func TestBuiltTextThatIsNoUnicodeBecomesReplacementCharacters(t *testing.T) {
	v := payload.NewObject(field("a\xff", payload.NewString("b\xed\xa0\x80")))
	if _, err := payload.Parse(v.JSON()); err != nil || v.Size() != len(v.JSON()) {
		t.Errorf("%s: %v, size %d", v.JSON(), err, v.Size())
	}
}

func TestWalksEndWhenTheyAreTold(t *testing.T) {
	v, n := parse(t, `{"a":[1,2,3],"b":1}`), 0
	for range v.Members() {
		n++
		break
	}
	for range v.Get("a").Items() {
		n++
		break
	}
	for range v.Items() { // an object has no items
		n += 10
	}
	for range v.Get("a").Members() {
		n += 10
	}
	if n != 2 {
		t.Errorf("%d steps, want 2", n)
	}
}

// Many readers share one lazy tree; the race detector looks on.
func TestReadersShareATree(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"list":[`)
	for i := range 200 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"n":%d,"s":"\u00e9%d","in":{"a":[%d]}}`, i, i, i)
	}
	b.WriteString(`]}`)
	v := parse(t, b.String())
	want := v.Digest()
	var wg sync.WaitGroup
	texts := make([][]byte, 8)
	for g := range texts {
		wg.Go(func() {
			shared := v.With(field("extra", payload.NewObject(field("list", v.Get("list")))))
			sum := 0
			for item := range shared.Get("extra").Get("list").Items() {
				n, _ := item.Get("in").Get("a").At(0).Int64()
				sum += int(n) + item.Get("s").TextLen() + item.Depth(9)
			}
			texts[g] = fmt.Appendf(nil, "%d %d %s", sum, shared.Size(), shared.Get("extra").Digest())
		})
	}
	wg.Wait()
	for _, got := range texts {
		if !bytes.Equal(got, texts[0]) {
			t.Errorf("%s, another reader saw %s", got, texts[0])
		}
	}
	if v.Digest() != want {
		t.Error("reading changed the tree")
	}
}
