package payload_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agentd/hookpoints/payload"
)

func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func TestParseRefusesWhatIsNotOneWholeJSONValue(t *testing.T) {
	for _, c := range []struct{ text, says string }{
		{``, "no text"},
		{" \n\t", "no text"},
		{`{"a":1,"a":2}`, "duplicate"},
		{`{"a":1,"\u0061":2}`, "duplicate"},
		{`{"x":{"a":1,"b":2,"a":3}}`, "duplicate"},
		{`"\ud800"`, "surrogate"},
		{`"\udc00\ud800"`, "surrogate"},
		{`"\ud800x"`, "surrogate"},
		{`{"\udfff":1}`, "surrogate"},
		{"\"\xff\"", "UTF-8"},
		{"\"\xed\xa0\x80\"", "UTF-8"},
		{nested(payload.MaxDepth + 1), "deeper"},
		{nested(20_000), "depth"},
		{`{"a":1} {"b":2}`, "byte"},
		{`[1,]`, "byte"},
		{`[1`, "too early"},
		{`"a`, "too early"},
		{`01`, "byte"},
		{`1.`, "too early"},
		{`+1`, "byte"},
		{`NaN`, "byte"},
		{`nul`, "too early"},
		{`{a:1}`, "byte"},
		{`'a'`, "byte"},
		{"\"a\nb\"", "byte"},
		{"\ufeff1", "byte"},
		{"1\x00", "byte"},
	} {
		name := c.text
		if len(name) > 40 {
			name = name[:40]
		}
		_, err := payload.ParseString(c.text)
		if !errors.Is(err, payload.ErrNotJSON) {
			t.Errorf("%q: %v, want ErrNotJSON", name, err)
		} else if !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(c.says)) {
			t.Errorf("%q: %q doesn't say %q", name, err, c.says)
		}
	}
}

func TestParseTakesWhatOthersTripOver(t *testing.T) {
	for _, text := range []string{
		nested(payload.MaxDepth), `1e400`, `-0`, `-0.0e-0`, `123456789012345678901234567890`, `"\ud83d\ude00"`, `"\u0000"`, `"\/"`,
		`{"":1," ":2}`, `{"A":1,"a":2}`, "\t[ ]\r\n", `{"a":{"a":{"a":1}}}`, "\"\u2028\"",
	} {
		v, err := payload.ParseString(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := v.String(); got != strings.TrimSpace(text) {
			t.Errorf("%s comes back as %s", text, got)
		}
	}
}

func TestParseReadsWhatEncodingJSONReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := jsonText(4).Draw(t, "json")
		v, err := payload.ParseString(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if err := same(v, decoder([]byte(text))); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := v.String(); got != strings.Trim(text, " \t\r\n") {
			t.Fatalf("%s comes back as %s", text, got)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.50,"\ud83d\ude00",null,true]}`, `{"a":1,"\u0061":2}`, `"\ud800"`, `[[[]]]`, ` 1e400 `, `{"":{"":""}}`, `"\\u"`, "\"\xff\"", nested(payload.MaxDepth), nested(payload.MaxDepth + 1)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := payload.Parse(text)
		if want := acceptable(text); (err == nil) != want {
			t.Fatalf("%q: %v, but encoding/json, Unicode and uniqueness say %v", text, err, want)
		}
		if err != nil {
			if !errors.Is(err, payload.ErrNotJSON) {
				t.Fatalf("%q: %v is no ErrNotJSON", text, err)
			}
			return
		}
		if err := same(v, decoder(text)); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if v.Size() != len(v.JSON()) {
			t.Fatalf("%q: Size %d, JSON has %d", text, v.Size(), len(v.JSON()))
		}
	})
}

func TestFromSortsMapsAndEscapesNothingForHTML(t *testing.T) {
	v, err := payload.From(map[string]any{"b": "<&>", "a": 1.5})
	if err != nil || v.String() != `{"a":1.5,"b":"<&>"}` {
		t.Fatalf("%s %v", v, err)
	}
	for _, bad := range []any{func() {}, map[string]any{"a": make(chan int)}} {
		if _, err := payload.From(bad); err == nil {
			t.Errorf("%T became a payload", bad)
		}
	}
}

func TestValuesStandInStructs(t *testing.T) {
	type box struct {
		A payload.Value `json:"a"`
		B payload.Value `json:"b,omitzero"`
	}
	var got box
	in := `{"a":{"x": 1.50, "k":[1,2]}}`
	if err := json.Unmarshal([]byte(in), &got); err != nil {
		t.Fatal(err)
	}
	if got.B.Exists() || got.A.Get("x").Text() != "1.50" {
		t.Errorf("read %s and %s", got.A, got.B)
	}
	out, err := json.Marshal(got)
	if err != nil || string(out) != `{"a":{"x":1.50,"k":[1,2]}}` { // encoding/json compacts what it is given
		t.Errorf("%s %v", out, err)
	}
	var null box
	if err := json.Unmarshal([]byte(`{"a":null}`), &null); err != nil || null.A.Kind() != payload.Null {
		t.Errorf("null is read as %s %v", null.A.Kind(), err)
	}
	if err := json.Unmarshal([]byte(`{"a":{"x":1,"x":2}}`), &null); !errors.Is(err, payload.ErrNotJSON) {
		t.Errorf("a duplicate key is read: %v", err)
	}
}

// Whoever goes down a deep payload looks at its text a few times, not once a level.
func TestTheWayDownCostsAFewTimesTheText(t *testing.T) {
	long := `"` + strings.Repeat("x", 100_000) + `"`
	many := strings.TrimSuffix(strings.Repeat(`{"a": [1, "]"]}, `, 6000), ", ")
	for name, c := range map[string]struct {
		open, inner, shut string
		down              func(payload.Value) payload.Value
	}{
		"lists":                    {"[", long, "]", func(v payload.Value) payload.Value { return v.At(0) }},
		"objects":                  {`{"\"[{" : `, long, " } ", func(v payload.Value) payload.Value { return v.Get(`"[{`) }},
		"much beside the way down": {"[ " + many[:600*17-2] + ", ", long, "]", func(v payload.Value) payload.Value { return v.At(v.Len() - 1) }},
		"many at the bottom":       {"[[1], ", "[" + many + "]", ", {}]", func(v payload.Value) payload.Value { return v.At(1) }},
	} {
		var count payload.Counter
		text := strings.Repeat(c.open, 200) + c.inner + strings.Repeat(c.shut, 200)
		v, err := payload.ParseCounted([]byte(text), &count)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for range 200 {
			v = c.down(v)
		}
		if got := v.String(); got != c.inner {
			t.Errorf("%s: at the bottom is %.100s", name, got)
		}
		if n := count.Bytes(); n > 6*int64(len(text)) {
			t.Errorf("%s: %d bytes were looked at of a text of %d", name, n, len(text))
		}
	}
}
