package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// startEnv follows env: options, assignments, and a program.
func startEnv(w *walker, inv *invocation, st *state, s *spec) {
	args := inv.args()
	for i, f := range args { // -S splits a text into more arguments
		if !f.known {
			break
		}
		text, ok := strings.CutPrefix(f.text, "-S")
		long, isLong := strings.CutPrefix(f.text, "--split-string=")
		var words field
		tail := args[i+1:]
		switch {
		case isLong:
			words = literal(long)
		case ok && text != "":
			words = literal(text)
		case (ok || f.text == "--split-string") && len(tail) > 0:
			words, tail = tail[0], tail[1:]
		default:
			if len(f.text) < 2 || f.text[0] != '-' {
				break
			}
			continue
		}
		if !ok && !isLong && f.text != "--split-string" {
			break
		}
		if !words.known || strings.ContainsAny(words.text, "\"'\\$#\v\f\r\n") {
			w.doubt(inv, "env -S splits what isn't understood")
			return
		}
		args = slices.Clone(args[:i])
		for _, t := range strings.Fields(words.text) {
			args = append(args, literal(t))
		}
		args = append(args, tail...)
		break
	}
	p := s.parseArgs(w, args, true)
	w.options(inv, &p, st)
	st = w.enterOption(&p, st, "-C", "--chdir")
	list := p.operands
	if len(list) > 0 && list[0].known && list[0].text == "-" {
		list = list[1:]
	}
	list = w.environment(inv, list, "env")
	w.startWith(list, inv.stdin, "env", st, inv.cx)
}

// environment takes assignments off the front of arguments.
func (w *walker) environment(inv *invocation, list []field, who string) []field {
	for len(list) > 0 {
		f := list[0]
		name, text, ok := strings.Cut(f.text, "=")
		if !ok {
			break
		}
		if f.many {
			w.doubt(inv, who+" gets arguments that are only known at run time")
		}
		v := literal(text)
		v.known = f.known
		if why := dangerous(name, v, true); why != "" || !syntax.ValidName(name) {
			w.doubt(inv, who+" sets "+name+", which can decide what programs run")
		}
		list = list[1:]
	}
	return list
}

// enterOption is the state in the folder that an option names.
func (w *walker) enterOption(p *parsed, st *state, names ...string) *state {
	g, ok := p.find(names...)
	if !ok {
		return st
	}
	st = st.fork()
	st.enter(g.value)
	return st
}

func startSudo(w *walker, inv *invocation, st *state, s *spec) {
	p := s.parseArgs(w, inv.args(), true)
	w.options(inv, &p, st)
	st = w.enterOption(&p, st, "-D", "--chdir")
	list := w.environment(inv, p.operands, "sudo")
	w.startWith(list, inv.stdin, "sudo", st, inv.cx)
}

// startSu follows su -c CODE, whose shell is that of the user.
func startSu(w *walker, inv *invocation, st *state, s *spec) {
	p := s.parseArgs(w, inv.args(), false)
	w.options(inv, &p, st)
	if _, ok := p.find("-c", "--command"); !ok {
		w.doubt(inv, "su starts a shell")
	}
}

func startFlock(w *walker, inv *invocation, st *state, s *spec) {
	p := s.parseArgs(w, inv.args(), true)
	w.options(inv, &p, st)
	if len(p.operands) == 0 {
		return
	}
	if f := p.operands[0]; !(f.known && strings.Trim(f.text, "0123456789") == "") {
		w.write(inv.index, f, st)
	}
	list := p.operands[1:]
	if len(list) > 1 && list[0].known && (list[0].text == "-c" || list[0].text == "--command") {
		w.userShell(inv, list[1], "flock", st)
		return
	}
	w.wrapped(inv, p, 1, "flock", st)
}

func startWatch(w *walker, inv *invocation, st *state, s *spec) {
	p := s.parseArgs(w, inv.args(), true)
	w.options(inv, &p, st)
	if len(p.operands) == 0 {
		w.doubt(inv, "watch runs nothing that is given")
		return
	}
	if p.has("-x", "--exec") {
		w.startProgram(p.operands, "watch", st, inv.cx)
		return
	}
	code, ok := joined(p.operands)
	if !ok {
		w.doubt(inv, "watch runs what is only known at run time")
		return
	}
	w.startProgram([]field{literal("sh"), literal("-c"), literal(code)}, "watch", st, inv.cx)
}

// startScript follows script, which records a session in a file.
func startScript(w *walker, inv *invocation, st *state, s *spec) {
	p := s.parseArgs(w, inv.args(), false)
	w.options(inv, &p, st)
	if len(p.operands) > 0 {
		w.write(inv.index, p.operands[0], st)
	} else {
		w.write(inv.index, literal("typescript"), st)
	}
	if code, ok := p.find("-c", "--command"); ok {
		w.userShell(inv, code.value, "script", st)
	} else {
		w.doubt(inv, "script starts a shell")
	}
}

// startXargs follows xargs, which adds arguments that it reads.
func startXargs(w *walker, inv *invocation, st *state, s *spec) {
	p := s.parseArgs(w, inv.args(), true)
	w.options(inv, &p, st)
	list := p.operands
	if len(list) == 0 {
		list = []field{literal("echo")}
	}
	mark := ""
	for _, name := range []string{"-I", "-i", "--replace"} {
		if g, ok := p.find(name); ok {
			mark = "{}"
			if g.has {
				if !g.value.known {
					w.doubt(inv, "xargs: the value of "+name+" is only known at run time")
					return
				}
				mark = g.value.text
			}
		}
	}
	if mark == "" {
		list = append(slices.Clone(list), rest())
	} else if list = replaced(list, mark); !list[0].known {
		w.doubt(inv, "xargs reads the name of the program")
		return
	}
	if p.problem != "" {
		return
	}
	w.startWith(list, &stdin{}, "xargs", st, inv.cx)
}

// replaced puts what isn't known in the place of a mark.
func replaced(list []field, mark string) []field {
	out := slices.Clone(list)
	for i, f := range out {
		if before, _, ok := strings.Cut(f.text, mark); ok && mark != "" {
			out[i] = field{text: before, many: f.many, split: f.split}
		}
	}
	return out
}

// startBusybox follows busybox, which does itself what the program of its first argument would do.
func startBusybox(w *walker, inv *invocation, st *state, _ *spec) {
	args := inv.args()
	if len(args) == 0 {
		return
	}
	if f := args[0]; f.known && strings.HasPrefix(f.text, "-") || f.known && f.text == "busybox" {
		w.doubt(inv, "an option of busybox isn't understood")
		return
	}
	if args[0].known && (args[0].text == "sh" || args[0].text == "ash" || args[0].text == "hush") {
		w.foreign(inv, "ash", "", "busybox starts a shell of its own")
		return
	}
	w.startWith(args, inv.stdin, "busybox", st, inv.cx)
}

// startMake gives up: what make runs stands in a file.
func startMake(w *walker, inv *invocation, _ *state, _ *spec) {
	targets, _ := joined(inv.args())
	w.foreign(inv, "make", targets, "make runs the commands of a file")
}
