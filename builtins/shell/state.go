package shell

import (
	"maps"
	"path"

	"mvdan.cc/sh/v3/syntax"
)

// table is a map that is copied when one of those who share it writes.
type table[V any] struct {
	m      map[string]V
	shared bool
}

func (t *table[V]) fork() *table[V] {
	if t != nil {
		t.shared = true
	}
	return t
}

// own returns a table that can be written, and what it cost to get it.
func (t *table[V]) own() (*table[V], int) {
	switch {
	case t == nil:
		return &table[V]{m: map[string]V{}}, 1
	case t.shared:
		return &table[V]{m: maps.Clone(t.m)}, 1 + len(t.m)
	}
	return t, 1
}

func (t *table[V]) get(name string) (v V, ok bool) {
	if t == nil {
		return v, false
	}
	v, ok = t.m[name]
	return v, ok
}

// function is what a name can call: one of several bodies, or perhaps none.
type function struct {
	bodies   []body
	maybe    bool // it may not be defined
	many     bool // it has more bodies than are kept
	exported bool
}

type body struct {
	src     *source
	stmt    *syntax.Stmt
	dialect Dialect
}

// alias is text that takes the place of a word on later lines.
type alias struct {
	text  string
	known bool
	src   *source
	unit  int
}

// state is what a shell has come to be at one place of the text. A nil state is a place that isn't
// reached. States are forked where ways part and joined where they meet.
type state struct {
	vars    *table[variable]
	funcs   *table[function]
	aliases *table[alias]

	params []string // positional, if known
	given  bool     // params are known
	dash   bool     // it is dash

	dir      string // working directory, relative to where the line starts unless absolute
	dirKnown bool
	moved    bool // it was changed, so the folder may have been a link

	lost      bool   // variables that aren't in vars were changed too: nothing is known of them
	open      bool   // there can be functions that aren't in funcs
	taint     string // why programs may not be what their names say; "" if they are
	noglob    bool
	allexport bool
	expands   bool // aliases are expanded
	homeless  bool // HOME was changed
}

// fresh is the state of a shell that was just started in a folder.
func fresh(dir string, dirKnown, moved bool) *state {
	return &state{dir: dir, dirKnown: dirKnown, moved: moved}
}

// child is the state of a new shell process that this one starts.
func (st *state) child() *state {
	c := fresh(st.dir, st.dirKnown, st.moved)
	c.taint, c.homeless = st.taint, st.homeless
	return c
}

func (st *state) fork() *state {
	if st == nil {
		return nil
	}
	c := *st
	c.vars, c.funcs, c.aliases = st.vars.fork(), st.funcs.fork(), st.aliases.fork()
	return &c
}

// lookup returns a variable. One that the line doesn't set comes from the environment.
func (st *state) lookup(name string) variable {
	if v, ok := st.vars.get(name); ok {
		return v
	}
	if st.lost {
		return variable{}
	}
	switch name {
	case "IFS": // both shells ignore the one in the environment
		return variable{value: known(" \t\n")}
	}
	if st.counted(name) {
		return variable{value: value{kind: number}}
	}
	return variable{}
}

// counted tells whether a variable is a number that the shell itself keeps.
func (st *state) counted(name string) bool {
	switch name {
	case "OPTIND", "PPID":
		return true
	case "RANDOM", "SECONDS", "LINENO", "UID", "EUID":
		return !st.dash
	}
	return false
}

func (w *walker) setVar(st *state, name string, v variable) {
	if len(v.text) > maxValue {
		v.value = value{}
	}
	t, cost := st.vars.own()
	w.spend(cost)
	t.m[name] = v
	st.vars = t
}

func (w *walker) setFunc(st *state, name string, f function) {
	t, cost := st.funcs.own()
	w.spend(cost)
	t.m[name] = f
	st.funcs = t
}

// forget makes everything unknown that a command which isn't known could have changed.
func (st *state) forget() {
	st.vars, st.lost, st.open = nil, true, true
	st.given, st.params = false, nil
	st.dir, st.dirKnown, st.moved = "", false, true
	st.homeless = true
	if st.taint == "" {
		st.taint = "what ran before may have changed which programs are found"
	}
}

// enter changes the working directory, by name as shells do.
func (st *state) enter(to field) {
	st.moved = true
	switch p := to.path; {
	case !to.pathKnown || p == "":
		st.dir, st.dirKnown = "", false
	case path.IsAbs(p) || p[0] == '~':
		st.dir, st.dirKnown = path.Clean(p), true
	case st.dirKnown:
		st.dir = path.Join(st.dir, p)
	}
}

// join is the state after either of two ways. It may return one of its arguments, and changes neither.
func (w *walker) join(a, b *state) *state {
	if a == nil || a == b {
		return b
	}
	if b == nil {
		return a
	}
	j := *a
	j.vars = w.joinVars(a, b)
	j.funcs = w.joinFuncs(a.funcs, b.funcs)
	j.aliases = w.joinAliases(a.aliases, b.aliases)
	if !a.given || !b.given || !same(a.params, b.params) {
		j.params, j.given = nil, false
	}
	if a.dir != b.dir || !b.dirKnown {
		j.dir, j.dirKnown = "", false
	}
	j.lost = a.lost || b.lost
	j.open = a.open || b.open
	j.moved = a.moved || b.moved
	if j.taint == "" {
		j.taint = b.taint
	}
	j.noglob = a.noglob && b.noglob
	j.allexport = a.allexport || b.allexport
	j.expands = a.expands || b.expands
	j.homeless = a.homeless || b.homeless
	return &j
}

func (w *walker) joinVars(a, b *state) *table[variable] {
	if a.vars == b.vars && a.lost == b.lost {
		return a.vars.fork()
	}
	out := map[string]variable{}
	w.spend(1 + a.vars.len() + b.vars.len())
	for name, v := range a.vars.all() {
		out[name] = eitherVariable(v, b.lookup(name))
	}
	for name, v := range b.vars.all() {
		if _, ok := out[name]; !ok {
			out[name] = eitherVariable(a.lookup(name), v)
		}
	}
	return &table[variable]{m: out}
}

func (w *walker) joinFuncs(a, b *table[function]) *table[function] {
	if a == b {
		return a.fork()
	}
	out := map[string]function{}
	w.spend(1 + a.len() + b.len())
	for name, f := range a.all() {
		g, ok := b.get(name)
		out[name] = eitherFunction(f, g, ok)
	}
	for name, g := range b.all() {
		if _, ok := out[name]; !ok {
			out[name] = eitherFunction(g, function{}, false)
		}
	}
	return &table[function]{m: out}
}

func eitherFunction(f, g function, both bool) function {
	if !both {
		f.maybe = true
		return f
	}
	f.maybe = f.maybe || g.maybe
	f.exported = f.exported || g.exported
	f.bodies = f.bodies[:len(f.bodies):len(f.bodies)]
	f.many = f.many || g.many
	for _, b := range g.bodies {
		if !hasBody(f.bodies, b) {
			if len(f.bodies) >= maxBodies {
				f.many = true
				break
			}
			f.bodies = append(f.bodies, b)
		}
	}
	return f
}

func hasBody(list []body, b body) bool {
	for _, x := range list {
		if x.stmt == b.stmt {
			return true
		}
	}
	return false
}

func (w *walker) joinAliases(a, b *table[alias]) *table[alias] {
	if a == b {
		return a.fork()
	}
	out := map[string]alias{}
	w.spend(1 + a.len() + b.len())
	for name, x := range a.all() {
		if y, ok := b.get(name); !ok || x != y {
			x.known = false
		}
		out[name] = x
	}
	for name, y := range b.all() {
		if _, ok := out[name]; !ok {
			y.known = false
			out[name] = y
		}
	}
	return &table[alias]{m: out}
}

func (t *table[V]) len() int { return len(t.all()) }

func (t *table[V]) all() map[string]V {
	if t == nil {
		return nil
	}
	return t.m
}

func same(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// covers tells whether a state knows no more than another one, so that a walk from it has seen all
// that a walk from the other would.
func covers(a, b *state) bool {
	if a == b || b == nil {
		return true
	}
	if a == nil || a.lost != b.lost && !a.lost || a.open != b.open && !a.open || a.moved != b.moved && !a.moved || a.taint == "" && b.taint != "" ||
		a.noglob != b.noglob && a.noglob || a.allexport != b.allexport && !a.allexport || a.expands != b.expands && !a.expands ||
		a.homeless != b.homeless && !a.homeless {
		return false
	}
	if a.given && (!b.given || !same(a.params, b.params)) || a.dirKnown && (!b.dirKnown || a.dir != b.dir) {
		return false
	}
	if a.vars != b.vars {
		for name, v := range a.vars.all() {
			if eitherVariable(v, b.lookup(name)) != v {
				return false
			}
		}
		for name, v := range b.vars.all() {
			if x := a.lookup(name); eitherVariable(x, v) != x {
				return false
			}
		}
	}
	if a.funcs != b.funcs {
		for name, f := range b.funcs.all() {
			g, ok := a.funcs.get(name)
			if !ok || f.maybe && !g.maybe || f.exported && !g.exported {
				return false
			}
			for _, x := range f.bodies {
				if !hasBody(g.bodies, x) {
					return false
				}
			}
		}
		for name, g := range a.funcs.all() {
			if _, ok := b.funcs.get(name); !ok && !g.maybe {
				return false
			}
		}
	}
	if a.aliases != b.aliases {
		for name, y := range b.aliases.all() {
			if x, ok := a.aliases.get(name); !ok || x.known && x != y {
				return false
			}
		}
		for name, x := range a.aliases.all() {
			if y, ok := b.aliases.get(name); x.known && (!ok || x != y) {
				return false
			}
		}
	}
	return true
}
