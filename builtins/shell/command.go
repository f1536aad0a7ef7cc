package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// invocation is a simple command after expansion.
type invocation struct {
	fields    []field // the program and its arguments
	assigned  []Assignment
	values    []field // of assigned
	redirects []Redirect
	stdin     *stdin // what is redirected to it, nil if nothing is
	out       *stdin // takes what it prints, nil if nobody does
	cx        context
	loose     bool // its fields are the result of expansions
	plain     bool // no functions and builtins: what a program starts
	index     int  // of the command that was made of it
}

// args are the fields after the program.
func (c *invocation) args() []field { return c.fields[1:] }

// call walks a simple command.
func (w *walker) call(c *syntax.CallExpr, redirs []*syntax.Redirect, st *state, cx context) (succ, fail *state) {
	inv := &invocation{out: cx.out}
	around := cx.stdin
	cx.out, cx.stdin = nil, stdin{}
	inv.cx = cx
	words := c.Args
	if len(words) > 0 {
		if fields, ok := w.unalias(words[0], st, cx); ok {
			inv.fields, words = fields, words[1:]
		}
	}
	inv.loose = slices.ContainsFunc(words, func(word *syntax.Word) bool { return !plainWord(word) })
	if fields := w.words(words, st, cx); inv.fields == nil {
		inv.fields = fields
	} else {
		inv.fields = append(inv.fields, fields...)
	}
	inv.redirects, inv.stdin = w.redirects(redirs, st, cx)
	if inv.stdin == nil && around.known {
		inv.stdin = &stdin{true, around.text}
	}
	if len(redirs) > 0 && inv.out != nil && slices.ContainsFunc(inv.redirects, func(r Redirect) bool { return r.Kind == "duplicate" || r.writes() }) {
		inv.out = nil
	}
	for _, a := range c.Assigns {
		if !w.spend(1) {
			break
		}
		w.prefix(inv, a, len(inv.fields) > 0, st, cx)
	}
	if len(inv.fields) == 0 {
		w.emit(st, cx, Command{Assignments: inv.assigned, Redirects: inv.redirects, Builtin: true, Known: true})
		return st, st
	}
	return w.invoke(inv, st)
}

// plainWord tells whether a word is nothing but letters.
func plainWord(word *syntax.Word) bool {
	for _, p := range word.Parts {
		switch p.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
		default:
			return false
		}
	}
	return true
}

// prefix handles an assignment before a command, or one that stands alone.
func (w *walker) prefix(inv *invocation, a *syntax.Assign, before bool, st *state, cx context) {
	if a.Array != nil || a.Index != nil || a.Name == nil {
		w.assignElements(st, a, cx)
		return
	}
	v := w.assigned(a.Value, st, cx)
	name := a.Name.Value
	if a.Append {
		v = w.appended(st, name, v)
	}
	w.spend(itemCost + (len(name)+len(v.text))/16)
	inv.assigned = append(inv.assigned, Assignment{Name: name, Value: v.text, Known: v.known})
	inv.values = append(inv.values, v)
	if !before {
		w.assign(st, name, v, false)
	}
}

// appended is NAME+=value.
func (w *walker) appended(st *state, name string, v field) field {
	old := st.lookup(name)
	switch {
	case old.opaque || old.integer:
		return field{}
	case old.kind == constant && v.known && len(old.text)+len(v.text) <= maxValue:
		w.spend(1 + (len(old.text)+len(v.text))/16)
		return literal(old.text + v.text)
	case old.kind == unset:
		return v
	}
	return field{}
}

// invoke runs a simple command: a function, a builtin or a program.
func (w *walker) invoke(inv *invocation, st *state) (succ, fail *state) {
	if !w.deeper(&inv.cx) {
		w.emitInvocation(st, inv, false, "the line isn't followed any further")
		return st, st
	}
	head := inv.fields[0]
	if !head.known || head.many {
		w.emitInvocation(st, inv, false, "the name of the program is only known at run time")
		st.forget()
		return st, st
	}
	name := head.text
	if inv.plain {
		return w.program(inv, st), st
	}
	if f, ok := st.funcs.get(name); ok && !(w.dialect == Dash && specialBuiltins[name]) {
		if !f.maybe {
			end := w.callFunction(name, f, inv, st)
			return end, end
		}
		end := w.callFunction(name, f, inv, st.fork())
		succ, fail = w.shellOrProgram(inv, st)
		return w.join(succ, end), w.join(fail, end.fork())
	}
	if st.open && !strings.Contains(name, "/") {
		w.unknown("a function that isn't known may have the name of a program")
	}
	return w.shellOrProgram(inv, st)
}

func (w *walker) shellOrProgram(inv *invocation, st *state) (succ, fail *state) {
	name := inv.fields[0].text
	if run, ok := w.builtin(name); ok {
		w.emitInvocation(st, inv, true, "")
		temps := w.temporary(inv, st)
		succ, fail = run(w, inv, st)
		temps.restore(w, succ, specialBuiltins[name])
		if fail != succ {
			temps.restore(w, fail, specialBuiltins[name])
		}
		return succ, fail
	}
	end := w.program(inv, st)
	return end, end
}

// temporaries are variables that an assignment before a builtin or a function changed for its time.
type temporaries map[string]struct{ old, temp variable }

func (w *walker) temporary(inv *invocation, st *state) temporaries {
	if len(inv.assigned) == 0 {
		return nil
	}
	t := temporaries{}
	for i, a := range inv.assigned {
		x, again := t[a.Name]
		if !again {
			x.old = st.lookup(a.Name)
		}
		w.assign(st, a.Name, inv.values[i], true)
		x.temp = st.lookup(a.Name)
		t[a.Name] = x
	}
	return t
}

// restore takes them back. In some shells and before some builtins they stay, and what the command
// itself assigned may stay too.
func (t temporaries) restore(w *walker, st *state, stays bool) {
	for name, x := range t {
		v := x.old
		if now := st.lookup(name); stays || now != x.temp {
			v = eitherVariable(v, now)
		}
		w.setVar(st, name, v)
	}
}

// programFolders are where programs of the system are.
var programFolders = map[string]bool{
	"/bin": true, "/sbin": true, "/usr/bin": true, "/usr/sbin": true, "/usr/local/bin": true, "/usr/local/sbin": true,
}

// system tells whether a name with a folder is a program of the system.
func system(name string) bool {
	clean := path.Clean(name)
	if !programFolders[path.Dir(clean)] {
		return false
	}
	// Where a folder is a link, .. leads elsewhere than the text says; those in /usr are none.
	return !strings.Contains(name, "..") || strings.HasPrefix(name, "/usr/") && strings.Count(name, "..") == 1 && clean[:5] == "/usr/"
}

// program starts a program.
func (w *walker) program(inv *invocation, st *state) *state {
	name := inv.fields[0].text
	reason := ""
	switch {
	case name == "":
		reason = ""
	case strings.Contains(name, "/"):
		if !system(name) {
			reason = name + " is a file of its own, which can hold anything"
		}
	case st.taint != "":
		reason = st.taint
	}
	for i, a := range inv.assigned {
		if why := dangerous(a.Name, inv.values[i], true); why != "" && reason == "" {
			reason = why
		}
	}
	w.emitInvocation(st, inv, false, reason)
	if name == "" || w.spent {
		return st
	}
	return w.start(inv, st)
}

// startProgram walks a program that another one starts: a wrapper, or an option.
func (w *walker) startProgram(fields []field, step string, st *state, cx context) {
	w.startWith(fields, nil, step, st, cx)
}

// startWith is startProgram with input.
func (w *walker) startWith(fields []field, in *stdin, step string, st *state, cx context) {
	if len(fields) == 0 || !w.deeper(&cx) {
		return
	}
	w.invoke(&invocation{fields: fields, stdin: in, cx: cx.in(step), plain: true}, st.fork())
}

// emitInvocation makes the command of an invocation. A reason makes it, and the script, unknown.
func (w *walker) emitInvocation(st *state, inv *invocation, isBuiltin bool, reason string) {
	c := Command{Builtin: isBuiltin, Assignments: inv.assigned, Redirects: inv.redirects, Known: reason == "", Reason: reason}
	if head := inv.fields[0]; head.known && !head.many {
		c.Program, c.Written = path.Base(head.text), head.text
		if head.text == "" {
			c.Program = ""
		}
	}
	c.Args = make([]Arg, 0, len(inv.fields)-1)
	for i := range inv.fields {
		if i > 0 {
			c.Args = append(c.Args, inv.fields[i].arg())
		}
		if !w.spend(1 + len(inv.fields[i].text)/16) {
			c.Known, c.Reason = false, "the line isn't followed any further"
			break
		}
	}
	c.fields = inv.args()[:len(c.Args)]
	inv.index = w.emit(st, inv.cx, c)
	if reason != "" {
		w.unknown(reason)
	}
}

// emit adds a command and returns its index.
func (w *walker) emit(st *state, cx context, c Command) int {
	if w.spent {
		w.extra++
	}
	if len(w.out.Commands) >= MaxCommands || w.extra > maxExtra {
		w.unknown("the line has too many commands")
		w.spent = true
		return len(w.out.Commands) - 1
	}
	c.Reason = short(c.Reason)
	c.Chain = cx.steps()
	c.Dir, c.DirKnown = st.dir, st.dirKnown
	cost := commandCost + (len(c.Dir)+len(c.Reason))/16
	if cx.chain != nil {
		cost += cx.chain.weight
	}
	w.spend(cost)
	w.out.Commands = append(w.out.Commands, c)
	i := len(w.out.Commands) - 1
	for _, r := range c.Redirects {
		if r.writes() {
			w.write(i, r.field, st)
		}
	}
	return i
}

// doubt makes a command unknown that was taken for known.
func (w *walker) doubt(inv *invocation, reason string) {
	c := &w.out.Commands[inv.index]
	if c.Known {
		c.Known, c.Reason = false, short(reason)
		w.spend(len(c.Reason) / 16)
	}
	w.unknown(reason)
}

// foreign makes a command unknown because of the code that it runs.
func (w *walker) foreign(inv *invocation, language, text, reason string) {
	c := &w.out.Commands[inv.index]
	if c.Code == nil {
		c.Code = &Code{Language: language, Text: text}
		w.spend(itemCost + len(text)/16)
	}
	w.doubt(inv, reason)
}
