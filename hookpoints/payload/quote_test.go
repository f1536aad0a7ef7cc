package payload

import (
	"testing"

	"pgregory.net/rapid"
)

func TestTheLengthOfAQuotedTextIsKnownWithoutQuotingIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "s")
		if got, want := quotedLen(s), len(appendQuote(nil, s)); got != want {
			t.Fatalf("%q: %d, want %d", s, got, want)
		}
	})
}

func TestATextWithEscapesIsReadOnce(t *testing.T) {
	v, err := ParseString(`["a\nb","plain"]`)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := v.At(0).Text() + "|" + v.At(1).Text(); got != "a\nb|plain" {
			t.Errorf("got %q", got)
		}
		if n := v.At(0).TextLen(); n != 3 {
			t.Errorf("length %d", n)
		}
	}
	if allocs := testing.AllocsPerRun(100, func() { _ = v.At(0).Text() }); allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}
