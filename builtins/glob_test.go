package builtins

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"agentd/builtins/meter"
	"agentd/hookpoints/payload"
)

// globs draws glob patterns; nearly all are valid.
func globs() *rapid.Generator[string] {
	piece := rapid.SampledFrom([]string{
		"a", "b", "é", ".", "/", "/", "*", "**", "**/", "/**", "?", "[ab]", "[!a]", "[a-é]", "[+-9]", "{a,b}", "{a/,**/}b", "{,a}", `\*`, "{a,{b,**}}", "***",
	})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 7).Draw(t, "pieces"), "")
	})
}

func names() *rapid.Generator[string] {
	piece := rapid.SampledFrom([]string{"a", "b", "é", ".", "/", "*", "\n", "5", "ab/", "\xff"})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, "pieces"), "")
	})
}

// slowGlob is the definition of a glob, tried out one way after the other. start says that an
// element of the path starts at the pattern's beginning.
func slowGlob(pattern, name string, start bool) bool {
	if pattern == "" {
		return name == ""
	}
	next := func() (rune, string) {
		c, width := utf8.DecodeRuneInString(name)
		return c, name[width:]
	}
	switch pattern[0] {
	case '{':
		end, parts := braces(pattern)
		for _, part := range parts {
			// What follows a brace is never the start of an element, whatever the brace ended with.
			if slowGlob(part+"\x00"+pattern[end:], name, start) {
				return true
			}
		}
		return false
	case 0:
		return slowGlob(pattern[1:], name, false)
	case '*':
		rest := strings.TrimLeft(pattern, "*")
		switch {
		case len(pattern)-len(rest) == 1:
			for i := 0; ; i++ {
				if slowGlob(rest, name[i:], false) {
					return true
				}
				if i == len(name) || name[i] == '/' {
					return false
				}
			}
		case start && strings.HasPrefix(rest, "/"):
			for i := 0; i <= len(name); i++ {
				if (i == 0 || name[i-1] == '/') && slowGlob(rest[1:], name[i:], true) {
					return true
				}
			}
			return false
		}
		for i := 0; i <= len(name); i++ {
			if slowGlob(rest, name[i:], false) {
				return true
			}
		}
		return false
	}
	if name == "" {
		return false
	}
	c, tail := next()
	switch {
	case pattern[0] == '?':
		return c != '/' && slowGlob(pattern[1:], tail, false)
	case pattern[0] == '[':
		end := strings.IndexByte(pattern, ']') + 1
		in := map[string]bool{"[ab]": c == 'a' || c == 'b', "[!a]": c != 'a', "[a-é]": 'a' <= c && c <= 'é', "[+-9]": '+' <= c && c <= '9'}
		return c != '/' && in[pattern[:end]] && slowGlob(pattern[end:], tail, false)
	}
	if pattern[0] == '\\' {
		pattern = pattern[1:]
	}
	want, width := utf8.DecodeRuneInString(pattern)
	return c == want && slowGlob(pattern[width:], tail, c == '/')
}

// braces splits the leading {a,b} of a pattern into its alternatives.
func braces(pattern string) (end int, parts []string) {
	depth, from := 0, 1
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1, append(parts, pattern[from:i])
			}
		case ',':
			if depth == 1 {
				parts, from = append(parts, pattern[from:i]), i+1
			}
		}
	}
	panic("unclosed brace in " + pattern)
}

func TestGlobMatchesByItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern, name := globs().Draw(t, "pattern"), names().Draw(t, "name")
		p, err := compileGlob(pattern)
		if err != nil {
			t.Fatalf("%q: %v", pattern, err)
		}
		if got, want := p.re.MatchString(name), slowGlob(pattern, name, true); got != want {
			t.Fatalf("glob %q on %q is %v, want %v (expression %s)", pattern, name, got, want, p.re)
		}
	})
}

func FuzzGlob(f *testing.F) {
	for _, pattern := range []string{"*.go", "**/x", "a/**", "[!a-z]", "{a,b{c,d}}", `\*`, "[", "{", "a**b?", "[]-]"} {
		f.Add(pattern, "a/b.go")
	}
	match := find(f, "glob.match")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		args := []payload.Value{payload.NewString(pattern), payload.NewString(name)}
		cost := match.cost(args)
		got, err := match.Call(meter.New(new(uint64), meter.Default), args)
		if err != nil {
			return
		}
		if cost.Fuel < int64(len(name))/2 {
			t.Errorf("%q on %q charges %+v", pattern, name, cost)
		}
		if !strings.ContainsAny(pattern, `*?[]{}\`) && got.IsTrue() != (pattern == name) && utf8.ValidString(name) {
			t.Errorf("the plain glob %q on %q is %v", pattern, name, got)
		}
		if !strings.Contains(pattern, "**") && got.IsTrue() && strings.Count(name, "/") > strings.Count(pattern, "/") {
			t.Errorf("%q matches %q across elements", pattern, name)
		}
		if quoted := globQuote(name); utf8.ValidString(name) && len(name) < 1000 {
			self, err := match.Call(meter.New(new(uint64), meter.Default), []payload.Value{payload.NewString(quoted), payload.NewString(name)})
			if !errors.Is(err, meter.ErrSpent) && !self.IsTrue() {
				t.Errorf("the quoted glob %q on %q is %v, %v", quoted, name, self, err)
			}
		}
	})
}

func globQuote(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`).Replace(name)
}
