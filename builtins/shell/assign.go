package shell

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// assign gives a variable a value. exported says that programs get to see it.
func (w *walker) assign(st *state, name string, f field, exported bool) {
	v := value{}
	switch {
	case f.known:
		v = known(f.text)
	case f.number && !f.many:
		v = value{kind: number}
	}
	w.assignValue(st, name, v)
	w.sensitive(st, name, f, exported || st.allexport || st.lookup(name).export)
}

func (w *walker) assignValue(st *state, name string, v value) {
	old := st.lookup(name)
	if old.integer && !old.opaque {
		if !v.numeric() {
			w.risky("what is assigned to $" + name)
		}
		v = value{kind: number}
	}
	switch name {
	case "RANDOM", "SECONDS", "LINENO", "UID", "EUID", "PPID", "OPTIND": // what they hold isn't what they were given
		v = either(v, value{kind: number})
	case "BASHPID", "SRANDOM", "EPOCHSECONDS", "GROUPS", "DIRSTACK", "FUNCNAME", "PIPESTATUS", "EPOCHREALTIME", "HISTCMD", "PWD", "OLDPWD", "REPLY", "OPTARG", "OPTERR", "COLUMNS", "LINES", "COMP_WORDBREAKS":
		v = value{}
	}
	if old.fixed {
		v = either(old.value, v)
	}
	old.value = v
	w.setVar(st, name, old)
}

// sensitive notes that a variable was changed which decides what other programs run.
func (w *walker) sensitive(st *state, name string, f field, exported bool) {
	if name == "HOME" {
		st.homeless = true
	}
	if why := dangerous(name, f, exported); why != "" {
		w.unknown(why)
		if st.taint == "" {
			st.taint = why
		}
	}
}

// dangerous tells why a variable can make programs run something else, "" if it can't. Some are in any
// environment already, so that they count even where the line doesn't export them.
func dangerous(name string, f field, exported bool) string {
	if harmlessVariables[name] || hasPrefix(name, harmlessPrefixes) {
		return ""
	}
	if name == "PATH" {
		if f.known && onlySystem(f.text) {
			return ""
		}
		return "PATH decides which programs are found"
	}
	if pagers[name] && f.known && (f.text == "" || f.text == ":") {
		return ""
	}
	if ambientVariables[name] || pagers[name] || hasPrefix(name, ambientPrefixes) {
		return name + " can decide what programs run"
	}
	if exported && (exportedVariables[name] || hasPrefix(name, exportedPrefixes) || hasSuffix(name, exportedSuffixes) || containsAny(name, exportedParts)) {
		return name + " can decide what programs run"
	}
	return ""
}

func onlySystem(list string) bool {
	for dir := range strings.SplitSeq(list, ":") {
		if !programFolders[path.Clean(dir)] || strings.Contains(dir, "..") {
			return false
		}
	}
	return true
}

func hasPrefix(s string, list []string) bool {
	for _, p := range list {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

func hasSuffix(s string, list []string) bool {
	for _, p := range list {
		if strings.HasSuffix(s, p) {
			return true
		}
	}
	return false
}

func containsAny(s string, list []string) bool {
	for _, p := range list {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

// assignElements handles NAME=(...) and NAME[subscript]=value.
func (w *walker) assignElements(st *state, a *syntax.Assign, cx context) {
	if a.Name == nil {
		w.unknown("an assignment isn't understood")
		return
	}
	v := st.lookup(a.Name.Value)
	if a.Index != nil {
		if w.dialect == Dash {
			w.unknown("dash has no arrays")
		}
		w.index(a.Index, v, st, cx)
		if f := w.assigned(a.Value, st, cx); v.integer && !f.number && !(f.known && isNumber(f.text)) {
			w.risky("what is assigned to an element")
		}
	}
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			if !w.spend(1) {
				break
			}
			if e.Index != nil {
				w.index(e.Index, v, st, cx)
			}
			if e.Value == nil {
				continue
			}
			for _, f := range w.words([]*syntax.Word{e.Value}, st, cx) {
				if v.integer && !f.number && !(f.known && isNumber(f.text)) {
					w.risky("what is assigned to an element")
				}
			}
		}
	}
	v.opaque, v.value = true, value{}
	w.setVar(st, a.Name.Value, v)
	w.sensitive(st, a.Name.Value, field{}, v.export)
}

// attributes are the options of declare and the like.
type attributes struct {
	array, keys, integer, changes, export, functions, print, global, fixed bool
}

// declClause walks export, local, declare and so on, which the parser knows by name.
func (w *walker) declClause(d *syntax.DeclClause, redirs []*syntax.Redirect, st *state, cx context) (succ, fail *state) {
	name := d.Variant.Value
	if name == "nameref" { // a keyword of another shell
		w.unknown("nameref isn't understood")
		return st, st
	}
	if f, ok := st.funcs.get(name); ok {
		w.unknown(name + " is a function here")
		_ = f
	}
	inv := &invocation{cx: cx, fields: []field{literal(name)}}
	var names []*syntax.Assign
	at := attributes{export: name == "export"}
	var pending []field
	for _, a := range d.Args {
		if !w.spend(1) {
			break
		}
		if a.Name == nil {
			for _, f := range w.words([]*syntax.Word{a.Value}, st, cx) {
				inv.fields = append(inv.fields, f)
				if !at.read(f) {
					pending = append(pending, f)
				}
			}
			continue
		}
		names = append(names, a)
	}
	values := make([]field, len(names))
	for i, a := range names {
		f := literal(a.Name.Value)
		switch {
		case a.Array != nil || a.Index != nil:
			f = field{text: a.Name.Value}
		case a.Value != nil || !a.Naked:
			values[i] = w.assigned(a.Value, st, cx)
			f = field{text: a.Name.Value + "=" + values[i].text, known: values[i].known}
		}
		inv.fields = append(inv.fields, f)
	}
	inv.redirects, inv.stdin = w.redirects(redirs, st, cx)
	w.emitInvocation(st, inv, true, "")
	for i, a := range names {
		if !w.spend(1) {
			break
		}
		if a.Array != nil || a.Index != nil {
			if word, ok := a.Index.(*syntax.Word); a.Index != nil && (!ok || !plainWord(word)) {
				w.unknown("a subscript among the arguments of " + name + " may be more than that")
			}
			w.declare(st, cx, name, at, a.Name.Value, field{}, false)
			w.assignElements(st, a, cx)
			continue
		}
		v := values[i]
		if a.Append {
			v = w.appended(st, a.Name.Value, v)
		}
		w.declare(st, cx, name, at, a.Name.Value, v, !a.Naked)
	}
	w.declareFields(st, cx, name, at, pending)
	return st, st
}

// read takes an option, and tells whether it was one.
func (at *attributes) read(f field) bool {
	if !f.known || len(f.text) < 2 || f.text[0] != '-' && f.text[0] != '+' {
		return false
	}
	for _, c := range f.text[1:] {
		switch c {
		case 'a':
			at.array = true
		case 'A':
			at.keys = true
		case 'i':
			at.integer = true
		case 'x':
			at.export = at.export || f.text[0] == '-'
		case 'f', 'F':
			at.functions = true
		case 'p':
			at.print = true
		case 'g':
			at.global = true
		case 'r':
			at.fixed = true
		case 't', '-':
		default: // n makes a reference, l, u and c change the letters, I inherits
			at.changes = true
		}
	}
	return true
}

// declareFields declares what only expansion made a name.
func (w *walker) declareFields(st *state, cx context, command string, at attributes, list []field) {
	for _, f := range list {
		if !w.spend(1) {
			return
		}
		name, text, has := strings.Cut(f.text, "=")
		switch {
		case at.functions:
			w.exportFunction(st, f, at)
		case f.known && syntax.ValidName(name):
			w.declare(st, cx, command, at, name, literal(text), has)
		case has && syntax.ValidName(name): // the name is known, the value isn't
			v := field{}
			if f.many {
				w.unknown(command + " takes variables that are only known at run time")
			}
			w.declare(st, cx, command, at, name, v, true)
		case f.known && w.dialect == Dash:
		default:
			w.unknown(command + " takes a variable that is only known at run time, or an element of an array")
			st.vars, st.lost = nil, true
		}
	}
}

func (w *walker) exportFunction(st *state, f field, at attributes) {
	if !at.export {
		return
	}
	if fn, ok := st.funcs.get(f.text); ok && f.known {
		fn.exported = true
		w.setFunc(st, f.text, fn)
	} else if !f.known {
		w.unknown("a function that is only known at run time is exported")
	}
}

// declare gives a variable its attributes and, if it has one, its value.
func (w *walker) declare(st *state, cx context, command string, at attributes, name string, f field, has bool) {
	if at.functions {
		if at.fixed || command == "readonly" {
			w.unknown(command + " fixes a function")
		}
		w.exportFunction(st, literal(name), at)
		return
	}
	if at.print && !has {
		return
	}
	old := st.lookup(name)
	v := old
	local := command == "local" || (command == "declare" || command == "typeset") && cx.frame != nil && !at.global
	if local && (cx.frame == nil || old.fixed) { // then it fails
		w.unknown(command + " of " + name + " may fail")
	}
	if local && cx.frame != nil {
		if _, ok := cx.frame.locals[name]; !ok {
			cx.frame.locals[name] = old
		}
		v = variable{}
	}
	v.integer = v.integer || at.integer
	v.keys = v.keys || at.keys
	v.export = v.export || at.export || command == "export"
	v.opaque = v.opaque || at.array || at.keys || at.changes
	if at.changes {
		w.unknown(command + " makes " + name + " something else than plain text")
	}
	if v.integer && !old.integer && !has && !v.numeric() {
		v.value = value{}
	}
	if v != old {
		w.setVar(st, name, v)
	}
	if has {
		w.assign(st, name, f, false)
	} else if at.export || command == "export" {
		w.exported(st, name, v)
	}
	if at.fixed || command == "readonly" {
		v = st.lookup(name)
		v.fixed = true
		w.setVar(st, name, v)
	}
}

// exported notes that a variable of the shell reaches the programs that it starts from now on.
func (w *walker) exported(st *state, name string, v variable) {
	f := field{}
	if v.kind == constant && !v.opaque {
		f = literal(v.text)
	}
	if _, set := st.vars.get(name); set {
		w.sensitive(st, name, f, true)
	}
}
