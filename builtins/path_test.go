package builtins

import (
	"path"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// reallyInside resolves both names from a folder so deep that no steps up leave it, and whose
// elements no name can spell, and asks the library for the way from one to the other.
func reallyInside(base, name string) bool {
	if base == "" || name == "" || strings.ContainsRune(name, 0) {
		return false
	}
	deep := "/" + strings.Repeat("\x00/", max(strings.Count(base, ".."), strings.Count(name, ".."))+1)
	at := func(p string) string {
		if path.IsAbs(p) {
			return path.Clean(p)
		}
		return path.Join(deep, p)
	}
	if path.IsAbs(base) != path.IsAbs(name) {
		return false
	}
	way, err := filepath.Rel(at(base), at(name))
	return err == nil && way != ".." && !strings.HasPrefix(way, "../")
}

func TestPathInsideAgreesWithTheWayBetween(t *testing.T) {
	element := rapid.SampledFrom([]string{"a", "ab", "b", ".", "..", "..a", "", "...", "a b"})
	spelled := rapid.Custom(func(t *rapid.T) string {
		p := strings.Join(rapid.SliceOfN(element, 0, 5).Draw(t, "elements"), "/")
		return rapid.SampledFrom([]string{"", "", "/"}).Draw(t, "root") + p
	})
	rapid.Check(t, func(t *rapid.T) {
		base, name := spelled.Draw(t, "base"), spelled.Draw(t, "name")
		if got, want := pathInside(base, name), reallyInside(base, name); got != want {
			t.Fatalf("inside(%q, %q) is %v, want %v", base, name, got, want)
		}
	})
}

func FuzzPathInside(f *testing.F) {
	for _, p := range [][2]string{{"/a", "/a/b"}, {"/a", "/ab"}, {"/", "/x"}, {".", "../x"}, {"..", "x"}, {"", "a"}, {"a/", "./a//b/.."}, {"../../x", "../x"}, {"/a", "/a\x00/../b"}} {
		f.Add(p[0], p[1])
	}
	f.Fuzz(func(t *testing.T, base, name string) {
		if strings.ContainsRune(base, 0) || len(base)+len(name) > 4000 {
			t.Skip("the deep folder is spelled with NUL")
		}
		if got, want := pathInside(base, name), reallyInside(base, name); got != want {
			t.Errorf("inside(%q, %q) is %v, want %v", base, name, got, want)
		}
		if !pathInside(base, name) {
			return
		}
		if !pathInside(base, name+"/./x/..") {
			t.Errorf("%q is inside %q, but not with a detour", name, base)
		}
	})
}
