package builtins

import (
	"path"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

// TestFoldTakesEveryCharacterForItsOtherCases holds the table of long folds against Unicode's: what
// is one letter there, or one form of a letter, folds alike.
func TestFoldTakesEveryCharacterForItsOtherCases(t *testing.T) {
	full := cases.Fold()
	for r := rune(1); r <= unicode.MaxRune; r++ {
		if r == '/' || 0xD800 <= r && r <= 0xDFFF || 0x20000 <= r && r < 0x2F800 || 0x30000 <= r && r < 0xE0000 || r > 0xE0FFF {
			continue // no character, or one of planes without case and forms
		}
		c := "x" + string(r) // behind a letter, as marks stand
		folded := foldName(c)
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			if got := foldName("x" + string(next)); got != folded {
				t.Errorf("%q folds to %+q, its other case %q to %+q", c, folded, string(next), got)
			}
		}
		if other := full.String(c); foldName(other) != folded {
			t.Errorf("%q folds to %+q, its full fold %q to %+q", c, folded, other, foldName(other))
		}
		if apart := norm.NFD.String(c); foldName(apart) != folded {
			t.Errorf("%q folds to %+q, decomposed to %+q", c, folded, foldName(apart))
		}
		if again := foldName(folded); again != folded {
			t.Errorf("%q folds to %+q, and that to %+q", c, folded, again)
		}
	}
}

func spelledNames() *rapid.Generator[string] {
	part := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		".", "..", "/", "\u200b", "\u00ad", "e\u0301", "\u0344", "\u0345", "ΐ", "ᾳ", "ß", "ŉ", "ǰ", "\u034f", "가", "ᄀ", "ᅡ", "Ꭰ", "ꭰ", "\u1e9e",
		strings.Repeat("\u0301", 40), strings.Repeat("\u0323\u0301", 20),
	}))
	return rapid.Map(rapid.SliceOfN(part, 0, 6), func(s []string) string { return strings.Join(s, "") })
}

func TestFoldSettlesAndKeepsTheStepsOfAPath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := strings.ToValidUTF8(spelledNames().Draw(t, "name"), "\ufffd")
		folded := foldPath(name)
		if again := foldPath(folded); again != folded {
			t.Fatalf("%+q folds to %+q, and that to %+q", name, folded, again)
		}
		if len(folded) > foldGrowth*len(name) {
			t.Fatalf("%+q folds to %d bytes, more than is charged", name, len(folded))
		}
		before, after := strings.Split(name, "/"), strings.Split(folded, "/")
		if len(before) != len(after) {
			t.Fatalf("%+q folds to %+q, which has other elements", name, folded)
		}
		for i, e := range after {
			if (e == "" || e == "." || e == "..") && e != before[i] {
				t.Fatalf("%+q folds to %+q: element %d became a step", name, folded, i)
			}
		}
		if name != "" && !samePath(name, path.Clean(name)) {
			t.Fatalf("%+q isn't the same as its clean form", name)
		}
	})
}

func FuzzPathFromURI(f *testing.F) {
	for _, s := range []string{"file:///a", "FILE://localhost/%2e%2e", "file:a", "file:////", "file:///%00", "file://h/x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := pathFromURI(s)
		if !ok {
			return
		}
		if !path.IsAbs(got) || strings.ContainsRune(got, 0) {
			t.Errorf("%q stands for %q, which is no absolute path", s, got)
		}
		if len(got) > len(s) {
			t.Errorf("%q stands for the longer %q", s, got)
		}
	})
}
