package shell

import (
	"path"
	"slices"
	"strings"
)

// startShell follows sh -c, and shells that read their code from a document.
func startShell(w *walker, inv *invocation, st *state, _ *spec) {
	name := path.Base(inv.fields[0].text)
	var d Dialect
	readable := true
	switch name {
	case "bash":
		d = Bash
	case "dash":
		d = Dash
	case "sh":
		d = Sh
	default:
		readable = false
	}
	child := st.child()
	args := inv.args()
	code, fromStdin := false, false
	for len(args) > 0 {
		f := args[0]
		if !f.known || f.many {
			if f.option() != No {
				w.doubt(inv, "the arguments of a shell are only known at run time")
				return
			}
			break
		}
		t := f.text
		if t == "--" || t == "-" {
			args = args[1:]
			break
		}
		if len(t) < 2 || t[0] != '-' && t[0] != '+' {
			break
		}
		args = args[1:]
		if strings.HasPrefix(t, "--") {
			switch t {
			case "--login":
				w.loginRan = true
			case "--norc", "--noprofile", "--verbose", "--noediting", "--restricted":
			case "--version", "--help":
				return
			default:
				w.doubt(inv, "the option "+t+" of "+name+" isn't understood")
				return
			}
			continue
		}
		for _, c := range t[1:] {
			switch c {
			case 'c':
				code = true
			case 's':
				fromStdin = true
			case 'l':
				w.loginRan = true
			case 'e', 'u', 'x', 'v', 'n', 'h', 'm', 'b', 'B', 'C', 'E', 'H', 'T', 'f':
			case 'a':
				child.allexport = true
			case 'o', 'O':
				if len(args) == 0 {
					return
				}
				o := args[0]
				if args = args[1:]; !o.known || !(c == 'o' && (quietOptions[o.text] || o.text == "noglob") || c == 'O' && quietShellOptions[o.text]) {
					w.doubt(inv, "an option of "+name+" isn't understood")
					return
				}
			default: // i reads startup files, r restricts, k and p change what is read
				w.doubt(inv, "the option -"+string(c)+" of "+name+" isn't understood")
				return
			}
		}
	}
	text, language := field{}, name
	params := args
	switch {
	case code && len(args) == 0:
		return // an error
	case code:
		text, params = args[0], args[min(2, len(args)):]
	case fromStdin || len(args) == 0:
		if inv.stdin == nil || !inv.stdin.known {
			w.foreign(inv, "stdin", "", "a shell runs what it reads")
			return
		}
		text = literal(inv.stdin.text)
	default:
		w.foreign(inv, "file", args[0].text, "a shell runs the commands of a file")
		return
	}
	if !readable {
		w.foreign(inv, language, text.text, name+" reads code of its own language")
		return
	}
	if !text.known {
		w.doubt(inv, "a shell runs what is only known at run time")
		return
	}
	child.params, child.given = constants(params)
	if d != Dash && w.dialect != Dash {
		for name, f := range st.funcs.all() {
			if f.exported {
				f.maybe = true
				w.setFunc(child, name, f)
			}
		}
	}
	cx := inv.cx.in(name)
	if fromStdin || !code {
		cx.stdin = stdin{}
	}
	w.shellText(text.text, d, child, cx)
}

// shellText walks the code of a new shell.
func (w *walker) shellText(code string, d Dialect, st *state, cx context) {
	if cx.shells++; cx.shells > maxShells {
		w.unknown("shells start one another too deep")
		return
	}
	cx.frame, cx.inner = nil, false
	if d != Sh {
		w.text(code, d, st, cx)
		return
	}
	from := len(w.out.Commands)
	w.text(code, Bash, st.fork(), cx)
	middle := len(w.out.Commands)
	w.text(code, Dash, st.fork(), cx)
	one, two := w.out.Commands[from:middle], w.out.Commands[middle:]
	if slices.EqualFunc(one, two, sameCommand) {
		w.out.Commands = w.out.Commands[:middle]
	} else if w.out.Known {
		w.unknown("bash and dash don't read it as the same, and sh can be either")
	}
}

// sameCommand tells whether two readings of a command come to the same.
func sameCommand(a, b Command) bool {
	if a.Program != b.Program || a.Written != b.Written || a.Builtin != b.Builtin || a.Known != b.Known || a.Dir != b.Dir || a.DirKnown != b.DirKnown {
		return false
	}
	return slices.Equal(a.Args, b.Args) && slices.Equal(a.Assignments, b.Assignments) && slices.Equal(a.Chain, b.Chain) && slices.Equal(a.effects.writes, b.effects.writes) &&
		slices.Equal(a.effects.deletes, b.effects.deletes) && a.effects.vague == b.effects.vague && a.effects.links == b.effects.links && a.effects.own == b.effects.own
}
