package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// setBuiltin handles set: options, and the positional parameters.
func setBuiltin(w *walker, inv *invocation, st *state) (succ, fail *state) {
	args := inv.args()
	for len(args) > 0 {
		f := args[0]
		if !f.known || f.many {
			break
		}
		t := f.text
		if t == "--" || t == "-" {
			if args = args[1:]; t == "--" || len(args) > 0 {
				st.params, st.given = constants(args)
			}
			return st, st
		}
		if len(t) < 2 || t[0] != '-' && t[0] != '+' {
			break
		}
		args = args[1:]
		if strings.HasSuffix(t, "o") {
			if len(args) == 0 {
				return st, st
			}
			if o := args[0]; !o.known || !quietOptions[o.text] && o.text != "noglob" && o.text != "allexport" {
				w.doubt(inv, "an option of set isn't understood")
			} else {
				w.option(st, o.text, t[0] == '-')
			}
			args = args[1:]
			t = strings.TrimSuffix(t, "o")
		}
		for _, c := range t[1:] {
			switch c {
			case 'f':
				w.option(st, "noglob", t[0] == '-')
			case 'a':
				w.option(st, "allexport", t[0] == '-')
			case 'e', 'u', 'x', 'v', 'n', 'C', 'm', 'b', 'h', 'E', 'T', 'B', 'H', 'I', 'V':
			case 'P': // cd follows links
				st.dirKnown = false
				w.doubt(inv, "set -P changes what cd does")
			default: // k takes assignments anywhere, p resets the user
				w.doubt(inv, "an option of set isn't understood")
			}
		}
	}
	if len(args) > 0 {
		if args[0].option() == Unknown {
			w.doubt(inv, "set gets options that are only known at run time")
			st.noglob, st.allexport = false, true
		}
		st.params, st.given = constants(args)
	}
	return st, st
}

var quietOptions = names("errexit nounset xtrace verbose noexec noclobber monitor notify hashall errtrace functrace braceexpand histexpand pipefail nolog ignoreeof emacs vi")

func (w *walker) option(st *state, name string, on bool) {
	switch name {
	case "noglob":
		st.noglob = on
	case "allexport":
		st.allexport = on
	}
}

func shiftBuiltin(w *walker, inv *invocation, st *state) (succ, fail *state) {
	n := 1
	if args := inv.args(); len(args) > 0 {
		var err error
		if n, err = strconv.Atoi(args[0].text); err != nil || !args[0].known || n < 0 {
			st.params, st.given = nil, false
			return st, st
		}
	}
	if n <= len(st.params) {
		st.params = st.params[n:]
	} else if st.given {
		st.params, st.given = nil, false // an error
	}
	return st, st
}

var quietShellOptions = names("extglob globstar nullglob failglob dotglob nocasematch nocaseglob lastpipe_ inherit_errexit globasciiranges checkwinsize cmdhist histappend huponexit login_shell sourcepath")

func shopt(w *walker, inv *invocation, st *state) (succ, fail *state) {
	on, sets := false, false
	for _, f := range inv.args() {
		switch {
		case !f.known:
			w.doubt(inv, "shopt gets options that are only known at run time")
			st.expands = true
		case f.text == "-s":
			on, sets = true, true
		case f.text == "-u":
			sets = true
		case f.text == "-q", f.text == "-p":
		case strings.HasPrefix(f.text, "-"):
			w.doubt(inv, "an option of shopt isn't understood")
			return st, st
		case !sets:
		case f.text == "expand_aliases":
			st.expands = st.expands || on
			if !on { // whether one is on is then a matter of what ran
				w.doubt(inv, "aliases are switched off again")
			}
		case quietShellOptions[f.text]:
		default:
			w.doubt(inv, "an option of shopt isn't understood")
		}
	}
	return st, st
}

// assigning describes builtins that assign to variables which are named by arguments.
var assigning = map[string]struct {
	takes string // options with a value
	flags string
	skip  int    // arguments before the names
	names string // options whose value is a name
}{
	"read":      {takes: "dinNptu", flags: "ers", names: "a"},
	"getopts":   {skip: 1},
	"mapfile":   {takes: "dnOsu", flags: "t"},
	"readarray": {takes: "dnOsu", flags: "t"},
	"printf":    {names: "v"},
	"unset":     {flags: "vfn"},
	"wait":      {flags: "nf", names: "p"},
}

func assigningBuiltin(w *walker, inv *invocation, st *state) (succ, fail *state) {
	command := inv.fields[0].text
	how := assigning[command]
	args := inv.args()
	var targets []field
	functions := false
	for len(args) > 0 {
		f := args[0]
		if !f.known || f.many {
			if f.option() == Unknown && (command != "printf" || len(args) > 1) && w.dialect != Dash {
				w.doubt(inv, command+" gets options that are only known at run time")
			}
			break
		}
		if f.text == "--" {
			args = args[1:]
			break
		}
		if len(f.text) < 2 || f.text[0] != '-' || command == "getopts" {
			break
		}
		if command == "printf" && !strings.HasPrefix(f.text, "-v") {
			break
		}
		args = args[1:]
	cluster:
		for i := 1; i < len(f.text); i++ {
			c := f.text[i : i+1]
			switch {
			case strings.Contains(how.flags, c):
				functions = functions || command == "unset" && c == "f"
			case strings.Contains(how.takes, c), strings.Contains(how.names, c):
				v := literal(f.text[i+1:])
				if v.text == "" && len(args) > 0 {
					v, args = args[0], args[1:]
				}
				if strings.Contains(how.names, c) {
					targets = append(targets, v)
				} else if v.many {
					w.doubt(inv, command+" gets options that are only known at run time")
				}
				break cluster
			default: // mapfile -C runs code
				w.doubt(inv, "an option of "+command+" isn't understood")
				break cluster
			}
		}
	}
	if command == "printf" && inv.out != nil && len(targets) == 0 {
		inv.out.text, inv.out.known = formatted(args)
	}
	if command != "printf" && command != "wait" && len(args) > how.skip {
		rest := args[how.skip:]
		if command == "getopts" {
			rest = rest[:1]
		}
		targets = append(targets, rest...)
	}
	for i := range args[:min(how.skip, len(args))] {
		if args[i].many {
			w.doubt(inv, command+" gets arguments that are only known at run time")
		}
	}
	for _, name := range map[string][]string{"read": {"REPLY"}, "getopts": {"OPTARG", "OPTIND"}, "mapfile": {"MAPFILE"}, "readarray": {"MAPFILE"}}[command] {
		if _, set := st.vars.get(name); set {
			w.assignValue(st, name, value{})
		}
	}
	for _, f := range targets {
		w.assignTarget(inv, f, command, functions, st)
	}
	return st, st
}

// assignTarget assigns what isn't known to a variable that an argument names.
func (w *walker) assignTarget(inv *invocation, f field, command string, functions bool, st *state) {
	switch {
	case command == "unset" && functions && f.known:
		w.undefine(st, f.text)
		return
	case f.known && f.text == "" || f.known && w.dialect == Dash && !syntax.ValidName(f.text):
		return
	case !f.known || f.many || !syntax.ValidName(f.text):
		w.doubt(inv, command+" takes a variable that is only known at run time, or an element of an array")
		st.vars, st.lost, st.open = nil, true, true
		return
	}
	if command == "unset" {
		if _, ok := st.funcs.get(f.text); ok {
			w.undefine(st, f.text)
		}
		v := st.lookup(f.text) // if it is read-only it stays
		v.value = value{}
		w.setVar(st, f.text, v)
		w.sensitive(st, f.text, field{}, v.export)
		return
	}
	w.assign(st, f.text, field{many: true}, false)
	if command == "mapfile" || command == "readarray" {
		w.setVar(st, f.text, variable{opaque: true})
	}
}

// undefine leaves a function that may be gone.
func (w *walker) undefine(st *state, name string) {
	if f, ok := st.funcs.get(name); ok {
		f.maybe = true
		w.setFunc(st, name, f)
	}
}
