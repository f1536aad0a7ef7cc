package payload_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"agentd/hookpoints/payload"
)

func TestTextLenIsTheLengthOfTheText(t *testing.T) {
	for _, text := range []string{
		`""`, `"plain"`, `"a\nb\\c\"d\/"`, `"\u0041\u00e9\u20ac\u20AC"`, `"\ud83d\ude00 after"`, `"\uD83D\uDE00"`, `"é€😀"`,
		`12.50`, `true`, `null`, `["a"]`, `{}`,
	} {
		v, err := payload.ParseString(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := v.TextLen(), len(v.Text()); got != want {
			t.Errorf("TextLen of %s is %d, want %d", text, got, want)
		}
	}
	if n := (payload.Value{}).TextLen(); n != 0 {
		t.Errorf("TextLen of an absent value is %d", n)
	}
}

func TestTextLenDoesNotDependOnTheForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		raw, err := json.Marshal(s) // escapes <, > and U+2028, so that both forms are drawn
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := payload.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got, built := parsed.TextLen(), payload.NewString(s).TextLen(); got != len(s) || built != len(s) {
			t.Fatalf("TextLen of %q is %d parsed and %d built, want %d", s, got, built, len(s))
		}
	})
}
