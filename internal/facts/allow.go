package facts

import (
	"fmt"
	"path"
	"strings"

	"agentd/builtins"
)

// open are the kinds whose keys name something of the host's: a pattern allows them only if it spells
// the kind out, so that no "*" opens files or the environment by accident.
var open = []string{"file", "stat", "real", "files", "env", "trail"}

// CheckPattern says what is wrong with an entry of facts.allow, or nil.
//
// An entry is a key, or a glob as the scripts' glob.match takes it over whole keys: * stands for
// anything but /, ** for anything. So "git.*" is all of git, "file:*" the files at the top of the
// workspace, "file:**" all of them. Keys of file, stat, real, files, env and trail are allowed only
// by entries that begin with that word and its colon, and env only by its very key.
func CheckPattern(pattern string) error {
	if pattern == "" {
		return fmt.Errorf("an entry of facts.allow is empty: write a fact's key, like git.head or file:AGENTS.md")
	}
	if name, rest, ok := strings.Cut(pattern, ":"); ok && name == "env" {
		if rest == "" || strings.ContainsAny(rest, `*?[]{}\`) {
			return fmt.Errorf("facts.allow: %s is refused, since the environment holds secrets: write the whole name of each variable", pattern)
		}
		return nil
	}
	if _, err := builtins.Glob(pattern); err != nil {
		return fmt.Errorf("facts.allow: %s: %w", pattern, err)
	}
	return nil
}

// allowed tells whether an entry allows a key. Entries that CheckPattern refuses allow nothing.
func (s *source) allowed(key string) bool {
	if !s.asked && s.opts.Allow != nil {
		s.patterns, s.asked = s.opts.Allow(s.head), true
	}
	prefix := ""
	for _, name := range open {
		if strings.HasPrefix(key, name+":") {
			prefix = name + ":"
		}
	}
	for _, p := range s.patterns {
		switch {
		case p == "" || !strings.HasPrefix(p, prefix):
		case p == key:
			return true
		case prefix == "env:":
		case s.glob(p)(key):
			return true
		}
	}
	return false
}

// glob compiles a pattern or finds it. There are as many as configuration has.
func (r *Reader) glob(pattern string) func(string) bool {
	if f, ok := r.globs.Load(pattern); ok {
		return f.(func(string) bool)
	}
	f, err := builtins.Glob(pattern)
	if err != nil {
		f = func(string) bool { return false }
	}
	r.globs.Store(pattern, f)
	return f
}

// allowedPath is allowed for a path that isn't opened: as it is written, and without its dots, so
// that "docs/**" isn't a way to ../..
func (s *source) allowedPath(kind, written string) error {
	for _, p := range []string{written, path.Clean(written)} {
		if !s.allowed(kind + ":" + p) {
			return notAllowed(kind + ":" + p)
		}
	}
	return nil
}

func notAllowed(key string) error {
	return absent("facts.allow doesn't include %s", cut(key, 200))
}

// cut bounds a text that a reason quotes.
func cut(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "..."
	}
	return text
}
