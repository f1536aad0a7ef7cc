package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// define defines a function.
func (w *walker) define(d *syntax.FuncDecl, st *state, cx context) {
	if d.Name == nil || d.Body == nil {
		w.unknown("a function isn't understood")
		return
	}
	// The parser takes what is joined to a definition for the function's body.
	if _, joined := d.Body.Cmd.(*syntax.BinaryCmd); joined || d.Body.Negated || d.Body.Background {
		w.unknown("a function's definition is joined to something else")
	}
	name := w.src.plain(d.Name.Value)
	if strings.ContainsAny(name, "\\'\"$`") {
		w.unknown("the name of a function isn't understood")
		return
	}
	b := body{w.src, d.Body, w.dialect}
	f := function{bodies: []body{b}}
	if w.dialect != Dash && st.allexport {
		f.exported = true
	}
	w.setFunc(st, name, f)
	w.remember(name, f)
	if name == "command_not_found_handle" && w.dialect != Dash {
		w.postpone(deferred{stmt: d.Body, src: w.src, st: st, cx: cx.in("function " + name), at: w.dialect})
	}
}

// remember keeps every function for code that runs at a time that isn't known.
func (w *walker) remember(name string, f function) {
	w.redefined(name)
	f.maybe = true
	if old, ok := w.ever[name]; ok {
		f = eitherFunction(old, f, true)
	}
	if w.ever == nil {
		w.ever = map[string]function{}
	}
	w.ever[name] = f
}

// callFunction walks the bodies that a name may have. The state that it returns is st, or a join.
func (w *walker) callFunction(name string, f function, inv *invocation, st *state) *state {
	cx := inv.cx
	if cx.frame != nil && cx.frame.depth >= maxCalls {
		w.unknown("functions call one another too deep")
		st.forget()
		return st
	}
	if len(inv.redirects) > 0 {
		w.emit(st, cx, Command{Redirects: inv.redirects, Assignments: inv.assigned, Builtin: true, Known: true})
	}
	temps := w.temporary(inv, st)
	params, given := st.params, st.given
	cx = cx.in("function " + name)
	cx.inner = true
	depth := 1
	if cx.frame != nil {
		depth = cx.frame.depth + 1
	}
	if f.many {
		w.unknown("the function " + name + " is defined in too many ways")
	}
	var after *state
	for _, b := range f.bodies {
		in := st.fork()
		cx.frame = &frame{depth: depth, locals: map[string]variable{}}
		in.params, in.given = constants(inv.args())
		src, unit, dialect := w.src, w.unit, w.dialect
		w.src, w.dialect = b.src, b.dialect
		out := w.join(w.stmt(b.stmt, in, cx))
		w.src, w.unit, w.dialect = src, unit, dialect
		out = out.fork()
		out.params, out.given = params, given
		out.noglob = out.noglob && st.noglob // local - takes options back
		out.allexport = out.allexport || st.allexport
		for name, v := range cx.frame.locals {
			w.setVar(out, name, eitherVariable(v, out.lookup(name)))
		}
		after = w.join(after, out)
		if w.spent {
			break
		}
	}
	if after == nil {
		after = st
	}
	temps.restore(w, after, true)
	return after
}

// constants are the texts of fields, if all are known.
func constants(list []field) ([]string, bool) {
	out := make([]string, len(list))
	for i, f := range list {
		if !f.known || f.many {
			return nil, false
		}
		out[i] = f.text
	}
	return out, true
}

// postpone keeps code for the end. What the line does until then can change all but the functions.
func (w *walker) postpone(d deferred) {
	if len(w.later) >= MaxCommands {
		w.unknown("the line has too many traps")
		return
	}
	w.later = append(w.later, d)
}

// runLater walks what was deferred.
func (w *walker) runLater() {
	for i := 0; i < len(w.later) && !w.spent; i++ {
		d := w.later[i]
		st := d.st.fork()
		st.forget()
		st.taint, st.open = d.st.taint, false
		w.spend(len(w.ever))
		fns := make(map[string]function, len(w.ever))
		for name, f := range w.ever {
			fns[name] = f
		}
		st.funcs = &table[function]{m: fns}
		if len(w.aliased) > 0 {
			st.expands = true
			st.aliases = &table[alias]{m: make(map[string]alias, len(w.aliased))}
			for name := range w.aliased {
				w.spend(1)
				st.aliases.m[name] = alias{}
			}
		}
		if d.stmt == nil {
			w.text(d.text, d.at, st, d.cx)
			continue
		}
		w.src, w.dialect = d.src, d.at
		w.stmt(d.stmt, st, d.cx)
	}
}
