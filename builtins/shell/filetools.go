package shell

import (
	"path"
	"strings"
)

// startLn follows ln and link, whose links make other paths lead elsewhere.
func startLn(w *walker, inv *invocation, st *state, s *spec) {
	p := s.parseArgs(w, inv.args(), false)
	if p.problem != "" {
		w.vague(inv, "ln: "+p.problem)
	}
	w.roles(inv, &p, st)
	e := &w.out.Commands[inv.index].effects
	e.links = true
	if g, ok := p.find("-t", "--target-directory"); ok {
		w.write(inv.index, g.value, st)
		return
	}
	switch n := len(p.operands); n {
	case 0:
	case 1:
		f := p.operands[0]
		if f.known {
			w.write(inv.index, literal(path.Base(f.text)), st)
		} else {
			w.write(inv.index, field{}, st)
		}
	default:
		w.write(inv.index, p.operands[n-1], st)
	}
	for _, f := range p.operands {
		if f.many {
			w.vague(inv, "the operands of ln are only known at run time")
		}
	}
}

func startDd(w *walker, inv *invocation, st *state, _ *spec) {
	for _, f := range inv.args() {
		name, to, ok := strings.Cut(f.text, "=")
		switch {
		case f.known && ok && name == "of":
			w.write(inv.index, literal(to), st)
		case !f.known && (!ok || name == "of"):
			w.write(inv.index, field{}, st)
		}
	}
}

// startSplit follows split and csplit, which write files whose names begin with a prefix.
func startSplit(w *walker, inv *invocation, st *state, s *spec) {
	p := s.parseArgs(w, inv.args(), false)
	w.options(inv, &p, st)
	if !p.has("--filter") {
		w.vague(inv, path.Base(inv.fields[0].text)+" writes files whose names are only known at run time")
	}
}

func startWget(w *walker, inv *invocation, st *state, s *spec) {
	p := s.parseArgs(w, inv.args(), false)
	w.options(inv, &p, st)
	if !p.has("-O", "--output-document", "--spider") {
		w.vague(inv, "wget writes files whose names are only known at run time")
	}
}

// startRemote reports what runs on other machines, and the options that run something on this one.
func startRemote(w *walker, inv *invocation, _ *state, _ *spec) {
	name := path.Base(inv.fields[0].text)
	e := &w.out.Commands[inv.index].effects
	e.own = "what " + name + " writes isn't known"
	texts, _ := constants(inv.args())
	w.foreign(inv, "remote", strings.Join(texts, " "), name+" connects to another machine, and can run commands on both")
}

// startArchive follows zip and unzip.
func startArchive(w *walker, inv *invocation, st *state, _ *spec) {
	name := path.Base(inv.fields[0].text)
	e := &w.out.Commands[inv.index].effects
	var operands []field
	for _, f := range inv.args() {
		switch f.option() {
		case Unknown:
			w.doubt(inv, name+" gets arguments that are only known at run time")
		case Yes:
			if name == "zip" && (!f.known || strings.Contains(f.text, "T") || strings.HasPrefix(f.text, "--u")) {
				w.doubt(inv, "an option of zip can run a command")
			}
		default:
			operands = append(operands, f)
		}
	}
	if name == "unzip" {
		e.links = true
		e.own = "what unzip writes isn't known"
		return
	}
	if len(operands) > 0 {
		w.write(inv.index, operands[0], st)
	}
	w.vague(inv, "what zip writes isn't known")
}

// startCompressor follows gzip and its kin, which put one file in the place of another.
func startCompressor(w *walker, inv *invocation, st *state, _ *spec) {
	name := path.Base(inv.fields[0].text)
	for _, f := range inv.args() {
		switch f.option() {
		case Unknown:
			w.vague(inv, name+" gets arguments that are only known at run time")
		case Yes:
			if f.known && (f.text == "-c" || f.text == "-dc" || f.text == "-t" || f.text == "-l") {
				return
			}
			w.vague(inv, "what "+name+" writes isn't known")
		default:
			if !strings.HasSuffix(name, "cat") {
				w.remove(inv.index, f, st)
				w.vague(inv, "what "+name+" writes isn't known")
			}
		}
	}
}
