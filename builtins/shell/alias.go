package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// unalias replaces the first word of a command if it is an alias. Aliases replace words while the text
// is read, which happens a line at a time, so they work on later lines only. Bash needs to be asked for
// them, dash always has them.
func (w *walker) unalias(word *syntax.Word, st *state, cx context) ([]field, bool) {
	if st.aliases.len() == 0 || !st.expands && w.dialect != Dash {
		return nil, false
	}
	name := w.src.plain(word.Lit())
	a, ok := st.aliases.get(name)
	if !ok || len(word.Parts) != 1 {
		return nil, false
	}
	if a.src == w.src && a.unit == w.unit {
		return nil, false
	}
	if a.src != w.src {
		w.unknown("the alias " + name + " was defined in another text")
		return nil, false
	}
	if !a.known || cx.inner || !plainWords(a.text) {
		w.unknown("the alias " + name + " stands for more than words")
		return nil, false
	}
	words := strings.Fields(a.text)
	if _, again := st.aliases.get(words[0]); again && words[0] != name {
		w.unknown("the alias " + name + " stands for another one")
		return nil, false
	}
	var out []field
	for _, t := range words {
		out = append(out, literal(t))
	}
	return out, true
}

// plainWords tells whether a text is read as nothing but words, by any shell.
func plainWords(text string) bool {
	for i := range len(text) {
		c := text[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_-./,:@%+ ", c) >= 0) {
			return false
		}
	}
	words := strings.Fields(text)
	return len(words) > 0 && !syntax.IsKeyword(words[0]) && !strings.HasSuffix(text, " ")
}

// setAlias handles the arguments of alias.
func (w *walker) setAlias(inv *invocation, st *state) {
	for _, f := range inv.args() {
		name, text, has := strings.Cut(f.text, "=")
		if f.known && !has {
			continue
		}
		if !f.known || syntax.IsKeyword(name) || declares[name] || !plainWords(name) {
			if w.dialect == Dash || st.expands {
				w.unknown("an alias is defined that isn't understood")
			}
			if !f.known {
				continue
			}
		}
		w.redefined(name)
		if w.aliased == nil {
			w.aliased = map[string]bool{}
		}
		w.aliased[name] = true
		t, cost := st.aliases.own()
		w.spend(cost)
		t.m[name] = alias{text, true, w.src, w.unit}
		st.aliases = t
	}
}

// declares are names that the parser treats like keywords.
var declares = names("declare local export readonly typeset nameref let")

// doubtAliases leaves aliases that may be gone.
func (w *walker) doubtAliases(st *state) {
	if st.aliases.len() == 0 {
		return
	}
	t := &table[alias]{m: map[string]alias{}}
	for name, a := range st.aliases.all() {
		w.spend(1)
		a.known = false
		t.m[name] = a
	}
	st.aliases = t
}
