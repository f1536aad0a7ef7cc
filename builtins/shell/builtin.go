package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// runBuiltin is what a builtin does to the shell, and what it runs. Its command was made already.
type runBuiltin func(w *walker, inv *invocation, st *state) (succ, fail *state)

// specialBuiltins come before functions in dash, and assignments before them can stay.
var specialBuiltins = names(": . break continue eval exec exit export readonly return set shift times trap unset")

// quietBuiltins do nothing that matters here, whatever their arguments.
var quietBuiltins = names(": true false pwd exit return break continue type times umask ulimit bg fg kill suspend logout caller dirs disown help")

var bashBuiltins = names(`. : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown echo enable eval exec
	exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly return set shift shopt source
	suspend test times trap true type typeset ulimit umask unalias unset wait`)

var dashBuiltins = names(`. : [ alias bg break cd chdir command continue echo eval exec exit export false fg getopts hash jobs kill local printf pwd read readonly
	return set shift test times trap true type ulimit umask unalias unset wait`)

// builtin finds what a builtin does.
func (w *walker) builtin(name string) (runBuiltin, bool) {
	set := bashBuiltins
	if w.dialect == Dash {
		set = dashBuiltins
	}
	if !set[name] {
		return nil, false
	}
	if quietBuiltins[name] {
		return quiet, true
	}
	switch name {
	case "echo":
		return echo, true
	case "cd", "chdir", "pushd", "popd":
		return changeDir, true
	case "eval":
		return eval, true
	case "exec":
		return exec, true
	case "command":
		return command, true
	case "builtin":
		return builtinOf, true
	case ".", "source":
		return source_, true
	case "alias":
		return func(w *walker, inv *invocation, st *state) (*state, *state) { w.setAlias(inv, st); return st, st }, true
	case "unalias":
		return func(w *walker, _ *invocation, st *state) (*state, *state) { w.doubtAliases(st); return st, st }, true
	case "export", "readonly", "local", "declare", "typeset":
		return declareBuiltin, true
	case "test", "[":
		return testBuiltin, true
	case "read", "getopts", "mapfile", "readarray", "printf", "unset", "wait":
		return assigningBuiltin, true
	case "let":
		return letBuiltin, true
	case "set":
		return setBuiltin, true
	case "shift":
		return shiftBuiltin, true
	case "shopt":
		return shopt, true
	case "trap":
		return trap, true
	case "hash":
		return hash, true
	case "jobs":
		return jobs, true
	}
	return func(w *walker, inv *invocation, st *state) (*state, *state) { // bind, complete, enable, fc, history ...
		if len(inv.fields) > 1 || name == "fc" {
			w.doubt(inv, name+" can run or load code")
		}
		return st, st
	}, true
}

func quiet(_ *walker, _ *invocation, st *state) (succ, fail *state) { return st, st }

func changeDir(w *walker, inv *invocation, st *state) (succ, fail *state) {
	fail = st.fork()
	to := field{}
	operands := 0
	for i, f := range inv.args() {
		if f.known && (f.text == "-L" || f.text == "-e" || f.text == "--" || f.text == "-n") && operands == 0 {
			continue
		}
		if operands++; operands == 1 {
			to = f
		}
		if f.many || f.known && len(f.text) > 0 && (f.text[0] == '-' || f.text[0] == '+') || operands > 1 && i > 0 {
			to = field{}
		}
	}
	if inv.fields[0].text == "popd" || operands == 0 && inv.fields[0].text == "pushd" {
		to = field{}
	} else if operands == 0 && !st.homeless {
		to = field{path: "~", pathKnown: true}
	}
	if _, set := st.vars.get("CDPATH"); set || st.lost {
		to = field{}
	}
	for _, name := range []string{"PWD", "OLDPWD"} {
		if _, set := st.vars.get(name); set {
			w.assignValue(st, name, value{})
		}
	}
	st.enter(to)
	return st, fail
}

// joined is the text of fields with blanks between.
func joined(list []field) (string, bool) {
	texts, ok := constants(list)
	return strings.Join(texts, " "), ok
}

func eval(w *walker, inv *invocation, st *state) (succ, fail *state) {
	args := inv.args()
	if len(args) > 0 && args[0].known && args[0].text == "--" {
		args = args[1:]
	}
	code, ok := joined(args)
	if !ok {
		w.doubt(inv, "eval runs what is only known at run time")
		st.forget()
		return st, st
	}
	return w.text(code, w.dialect, st, inv.cx.in("eval"))
}

func exec(w *walker, inv *invocation, st *state) (succ, fail *state) {
	args := inv.args()
	for len(args) > 0 && args[0].known && strings.HasPrefix(args[0].text, "-") && w.dialect != Dash {
		switch t := args[0].text; {
		case t == "--":
			args = args[1:]
		case strings.Trim(t[1:], "c") == "" && len(t) > 1: // -l makes a shell read its startup files
			args = args[1:]
			continue
		case t == "-a" && len(args) > 1 && args[1].known && !strings.HasPrefix(args[1].text, "-"):
			args = args[2:]
			if len(args) == 0 || !args[0].known || mindsItsName[path.Base(args[0].text)] {
				w.unknown("a program may do something else under another name")
			}
			continue
		default:
			w.doubt(inv, "an option of exec isn't understood")
			return st, st
		}
		break
	}
	if w.dialect == Dash && len(args) > 0 && args[0].known && args[0].text == "--" {
		args = args[1:]
	}
	w.startWith(args, inv.stdin, "exec", st, inv.cx)
	return st, st
}

func command(w *walker, inv *invocation, st *state) (succ, fail *state) {
	args := inv.args()
	for len(args) > 0 {
		f := args[0]
		if !f.known {
			break
		}
		if f.text == "--" {
			args = args[1:]
			break
		}
		if len(f.text) < 2 || f.text[0] != '-' {
			break
		}
		if strings.Trim(f.text[1:], "pvV") != "" {
			w.doubt(inv, "an option of command isn't understood")
			return st, st
		}
		if strings.ContainsAny(f.text, "vV") {
			return st, st // looks the name up
		}
		args = args[1:]
	}
	return w.withoutFunctions(args, "command", inv, st)
}

func builtinOf(w *walker, inv *invocation, st *state) (succ, fail *state) {
	args := inv.args()
	if len(args) > 0 && args[0].known && args[0].text == "--" {
		args = args[1:]
	}
	if len(args) > 0 && args[0].known && !bashBuiltins[args[0].text] {
		return st, st // an error
	}
	return w.withoutFunctions(args, "builtin", inv, st)
}

// withoutFunctions runs a builtin or a program, though a function may have its name.
func (w *walker) withoutFunctions(args []field, step string, inv *invocation, st *state) (succ, fail *state) {
	if len(args) == 0 {
		return st, st
	}
	next := &invocation{fields: args, stdin: inv.stdin, cx: inv.cx.in(step), loose: inv.loose}
	if !w.deeper(&next.cx) {
		return st, st
	}
	if !args[0].known || args[0].many {
		w.emitInvocation(st, next, false, "the name of the program is only known at run time")
		st.forget()
		return st, st
	}
	return w.shellOrProgram(next, st)
}

func source_(w *walker, inv *invocation, st *state) (succ, fail *state) {
	file := ""
	if len(inv.fields) > 1 {
		file = inv.fields[1].text
	}
	w.foreign(inv, "file", file, "the commands of a file are run")
	st.forget()
	return st, st
}

func declareBuiltin(w *walker, inv *invocation, st *state) (succ, fail *state) {
	at := attributes{export: inv.fields[0].text == "export"}
	var list []field
	for _, f := range inv.args() {
		if !at.read(f) {
			list = append(list, f)
		}
	}
	if inv.loose { // shells don't agree on whether an argument of these is split
		for i, f := range list {
			if name, _, has := strings.Cut(f.text, "="); f.known && has {
				list[i] = field{text: name + "="}
			}
		}
	}
	w.declareFields(st, inv.cx, inv.fields[0].text, at, list)
	return st, st
}

// testBuiltin looks for -v, which evaluates subscripts. In bash an argument that isn't known may be it.
func testBuiltin(w *walker, inv *invocation, st *state) (succ, fail *state) {
	if w.dialect == Dash {
		return st, st
	}
	args := inv.args()
	operator := func(i int) bool {
		return i >= 0 && i < len(args) && args[i].known && !args[i].many && testOperators[args[i].text]
	}
	for i, f := range args {
		switch {
		case f.known && (f.text == "-v" || f.text == "-R"):
			if i+1 < len(args) && !(args[i+1].known && (syntax.ValidName(args[i+1].text) || args[i+1].text == "]")) {
				w.doubt(inv, "test "+f.text+" evaluates what it is given")
			}
		case f.known || f.number && !f.many:
		case f.split || f.many:
			w.doubt(inv, "test gets arguments that are only known at run time")
		case len(args) > 2 && !operator(i-1) && !operator(i+1):
			w.doubt(inv, "test gets an operator that is only known at run time")
		}
	}
	return st, st
}

var testOperators = names(`= == != < > -eq -ne -lt -le -gt -ge -nt -ot -ef -a -e -f -d -c -b -p -S -L -h -k -g -u -G -O -N -r -w -x -s -t -z -n ( )`)

func letBuiltin(w *walker, inv *invocation, st *state) (succ, fail *state) {
	for _, f := range inv.args() {
		if !f.number && !(f.known && isNumber(f.text)) {
			w.doubt(inv, "let evaluates what it is given")
		}
	}
	return st, st
}

func jobs(w *walker, inv *invocation, st *state) (succ, fail *state) {
	args := inv.args()
	if len(args) > 0 && !(args[0].known && args[0].text != "-x") {
		w.doubt(inv, "jobs -x runs a command")
	}
	return st, st
}

func hash(w *walker, inv *invocation, st *state) (succ, fail *state) {
	for _, f := range inv.args() {
		if !f.known || f.option() == Yes && f.text != "-r" {
			w.doubt(inv, "hash can give a program another place")
			st.taint = "hash can give a program another place"
		}
	}
	return st, st
}

// mindsItsName are programs that do something else when they are started under another name.
var mindsItsName = map[string]bool{"bash": true, "rbash": true, "sh": true, "dash": true, "busybox": true}

// pseudoSignals are sent by the shell itself, between commands.
var pseudoSignals = map[string]bool{"DEBUG": true, "ERR": true, "RETURN": true}

func trap(w *walker, inv *invocation, st *state) (succ, fail *state) {
	args := inv.args()
	if len(args) > 0 && args[0].known && args[0].text == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return st, st
	}
	switch f := args[0]; {
	case !f.known || f.many:
		w.doubt(inv, "trap runs what is only known at run time")
	case f.text == "-p", f.text == "-l", f.text == "-", f.text == "", len(args) == 1:
	default:
		cx := inv.cx.in("trap")
		cx.stdin = stdin{}
		w.postpone(deferred{text: f.text, st: st.fork(), cx: cx, at: w.dialect})
		for _, when := range args[1:] {
			switch name := strings.TrimPrefix(strings.ToUpper(when.text), "SIG"); {
			case when.known && (name == "EXIT" || name == "0"):
			case !when.known || pseudoSignals[name] || !w.changesNothing(f.text, st):
				w.unknown("trap runs something between the commands")
			}
		}
	}
	return st, st
}

// leaving are builtins after which a shell is as it was, or gone.
var leaving = names(": echo exit false kill true wait")

// changesNothing tells whether a trap's action leaves the shell as it is, so that it doesn't matter
// when it runs: nothing but programs and a few builtins, all of them plain words.
func (w *walker) changesNothing(action string, st *state) bool {
	for _, c := range strings.FieldsFunc(action, func(r rune) bool { return r == ';' || r == '\n' }) {
		words := strings.Fields(c)
		if len(words) == 0 {
			continue
		}
		name := words[0]
		if _, ok := w.builtin(name); !plainWords(strings.Join(words, " ")) || ok && !leaving[name] || st.open {
			return false
		}
		if _, ok := w.ever[name]; ok {
			return false
		}
		if _, ok := st.aliases.get(name); ok {
			return false
		}
		w.trapped = append(w.trapped, name)
	}
	return true
}

// redefined notes a name that means something else from now on.
func (w *walker) redefined(name string) {
	if slices.Contains(w.trapped, name) {
		w.unknown("trap runs something between the commands")
	}
}
