package facts

import (
	"strings"
	"testing"

	"agentd/builtins"
	"agentd/builtins/meter"
	"agentd/hookpoints/payload"
)

// call runs a builtin as a script would; null is "", false.
func call(t *testing.T, name string, args ...string) (string, bool) {
	t.Helper()
	for _, f := range builtins.All() {
		if f.Name != name {
			continue
		}
		var values []payload.Value
		for _, a := range args {
			values = append(values, payload.NewString(a))
		}
		out, err := f.Call(meter.New(new(uint64), meter.Default), values)
		if err != nil {
			t.Fatal(err)
		}
		return out.Text(), out.Kind() == payload.String
	}
	t.Fatalf("there is no builtin %s", name)
	return "", false
}

// TestReadingsOfTheCorpus takes paths as a shell or a decoder does, with the builtins for it, and
// follows what they give. Variables, braces and patterns belong to the shell reader.
func TestReadingsOfTheCorpus(t *testing.T) {
	root := fixture(t)
	home := root + "/home/dev"
	shell, decoded, others := 0, 0, 0
	for _, c := range corpusPaths(t, root) {
		check := func(how, text string, told bool, want *reading) {
			t.Helper()
			p := Real(t.Context(), text, c.Cwd, Options{Root: root + "/ws"})
			if !told || p.Real != orNone(want.Real) || p.Inside != want.Inside {
				t.Errorf("%s %q is %q by %s (%v), which leads to %+v, want %s", c.ID, c.Path, text, how, told, p, orNone(want.Real))
			}
		}
		expanded, told := call(t, "path.home", c.Path, home)
		switch {
		case c.Shell != nil && c.Kind == "tilde":
			shell++
			check("path.home", expanded, told, c.Shell)
		case !told || expanded != c.Path:
			t.Errorf("%s: path.home makes %q of %q (%v)", c.ID, expanded, c.Path, told)
		case c.Shell != nil:
			others++
		}
		address, isAddress := call(t, "path.from_uri", c.Path)
		plain, isText := call(t, "path.decode", c.Path)
		switch {
		case c.Decoded == nil:
			if isAddress || isText != !strings.ContainsRune(c.Path, 0) || isText && plain != c.Path {
				t.Errorf("%s: %q is read as the address %q, decoded as %q", c.ID, c.Path, address, plain)
			}
		case isAddress:
			decoded++
			check("path.from_uri", address, isAddress, c.Decoded)
		default:
			decoded++
			check("path.decode", plain, isText, c.Decoded)
		}
	}
	if shell == 0 || decoded == 0 {
		t.Error("the corpus has no such lines")
	}
	t.Logf("readings: %d by a shell's ~, %d decoded; %d are left to the shell reader", shell, decoded, others)
}

// TestOtherSystemsReadingsOfTheCorpus holds that what is another file here, and the same elsewhere,
// is known to be so.
func TestOtherSystemsReadingsOfTheCorpus(t *testing.T) {
	root := fixture(t)
	for _, c := range []struct{ path, twin string }{
		{"A.TXT", "a.txt"}, {"SUB/b.txt", "sub/b.txt"}, {root + "/WS/upper.txt", root + "/ws/upper.txt"}, {"cafe\u0301.txt", "caf\u00e9.txt"}, {"a\u200b.txt", "a.txt"},
	} {
		a, b := Real(t.Context(), c.path, root+"/ws", Options{}), Real(t.Context(), c.twin, root+"/ws", Options{})
		if a.Real == b.Real {
			t.Errorf("%q and %q are one file", c.path, c.twin)
		}
		one, _ := call(t, "path.fold", a.Real)
		other, _ := call(t, "path.fold", b.Real)
		if one != other {
			t.Errorf("%q and %q fold to %q and %q", c.path, c.twin, one, other)
		}
	}
	for _, c := range corpusPaths(t, root) {
		if c.Kind != "backslash" {
			continue
		}
		turned, _ := call(t, "path.slashes", c.Path)
		if p := Real(t.Context(), turned, c.Cwd, Options{Root: root + "/ws"}); p.Inside {
			t.Errorf("%q is %q with slashes, and %+v", c.Path, turned, p)
		}
	}
}
