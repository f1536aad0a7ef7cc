package shell

import (
	"path"
	"slices"
	"strings"
)

// starter follows what a program starts. Its command was made already.
type starter func(w *walker, inv *invocation, st *state, s *spec)

// specials are the programs that the table can't describe.
var specials map[string]starter

func init() { // they start programs, which looks here again
	specials = map[string]starter{
		"env": startEnv, "sudo": startSudo, "su": startSu, "runuser": startSu, "flock": startFlock, "watch": startWatch,
		"script": startScript, "xargs": startXargs, "find": startFind, "busybox": startBusybox, "toybox": startBusybox,
		"ln": startLn, "link": startLn, "dd": startDd, "split": startSplit, "csplit": startSplit, "wget": startWget,
		"awk": startAwk, "gawk": startAwk, "mawk": startAwk, "nawk": startAwk, "original-awk": startAwk, "sed": startSed,
		"tar": startTar, "gtar": startTar, "bsdtar": startTar, "git": startGit, "make": startMake, "gmake": startMake,
		"ssh": startRemote, "scp": startRemote, "sftp": startRemote, "rsync": startRemote,
		"zip": startArchive, "unzip": startArchive,
	}
	for _, name := range strings.Fields("sh bash dash ash rbash csh tcsh fish ksh mksh zsh nu pwsh elvish xonsh") {
		specials[name] = startShell
	}
	for _, name := range strings.Fields("gzip bzip2 xz zstd lz4 lzip lzma compress unxz unlzma bunzip2 bzcat xzcat lzcat") {
		specials[name] = startCompressor
	}
	for _, name := range strings.Fields(`node nodejs deno bun python python2 perl ruby php lua tclsh wish expect osascript Rscript R julia groovy scala kotlin swift
		ghci runghc irb pry ipython psql mysql sqlite3 mongo mongosh redis-cli gdb lldb dc bc m4`) {
		specials[name] = startInterpreter
	}
}

// rest is any number of arguments that aren't known.
func rest() field { return field{many: true, split: true} }

// start follows a program that was named.
func (w *walker) start(inv *invocation, st *state) *state {
	name := canonical(path.Base(inv.fields[0].text))
	s := programs()[name]
	if s == nil {
		e := &w.out.Commands[inv.index].effects
		e.own, e.open = "what "+name+" writes isn't known", true
		return st
	}
	switch s.kind {
	case "any":
		if len(inv.fields) == 1 && name == "cat" && inv.out != nil && inv.stdin != nil {
			*inv.out = *inv.stdin
		}
	case "reads", "writes", "deletes", "copies", "moves":
		w.files(inv, st, s)
	case "runs":
		p := s.parseArgs(w, inv.args(), true)
		w.options(inv, &p, st)
		if name == "nohup" && !slices.ContainsFunc(inv.redirects, func(r Redirect) bool { return r.writes() }) {
			w.write(inv.index, literal("nohup.out"), st) // if it writes to a terminal
		}
		w.wrapped(inv, p, s.number, name, st)
	case "own":
		w.owned(inv, name, s)
	case "unknown":
		w.doubt(inv, name+" "+s.text)
		w.out.Commands[inv.index].effects.own = "what " + name + " writes isn't known"
	case "starts":
		for _, other := range strings.Fields(s.text) {
			next := &invocation{fields: []field{literal(other), rest()}, cx: inv.cx.in(name), plain: true}
			w.emitInvocation(st, next, false, "")
		}
	case "special":
		specials[name](w, inv, st, s)
	}
	return st
}

// wrapped starts the operands from the n-th on.
func (w *walker) wrapped(inv *invocation, p parsed, n int, step string, st *state) {
	for i := range min(n, len(p.operands)) {
		if p.operands[i].many {
			w.doubt(inv, "where the command begins is only known at run time")
			return
		}
	}
	if len(p.operands) > n {
		w.startWith(p.operands[n:], inv.stdin, step, st, inv.cx)
	}
}

// options does what the options of a program say, and reports what can't be told.
func (w *walker) options(inv *invocation, p *parsed, st *state) {
	name := path.Base(inv.fields[0].text)
	if p.problem != "" {
		w.doubt(inv, name+": "+p.problem)
	}
	w.roles(inv, p, st)
}

func (w *walker) roles(inv *invocation, p *parsed, st *state) {
	name := path.Base(inv.fields[0].text)
	for _, g := range p.options {
		if !w.spend(1) {
			return
		}
		if g.opt.unknown {
			w.doubt(inv, "the option "+g.name+" of "+name+" can run or load something")
		}
		if g.opt.vague {
			w.vague(inv, "what the option "+g.name+" of "+name+" writes isn't known")
		}
		if !g.has {
			continue
		}
		switch g.opt.role {
		case "write":
			w.write(inv.index, g.value, st)
		case "delete":
			w.remove(inv.index, g.value, st)
		case "program":
			w.startProgram([]field{g.value, rest()}, name, st, inv.cx)
		case "words":
			w.wordsOf(inv, g.value, name, st)
		case "sh":
			w.startProgram([]field{literal("sh"), literal("-c"), g.value}, name, st, inv.cx)
		case "shell":
			w.userShell(inv, g.value, name, st)
		}
	}
}

// wordsOf starts a program that is given as one text with its arguments.
func (w *walker) wordsOf(inv *invocation, f field, step string, st *state) {
	if !f.known || strings.ContainsAny(f.text, "\"'\\$`*?[]{}()<>|&;~#!\n") {
		w.doubt(inv, step+" runs a command that isn't understood")
		return
	}
	var fields []field
	for _, t := range strings.Fields(f.text) {
		fields = append(fields, literal(t))
	}
	w.startProgram(append(fields, rest()), step, st, inv.cx)
}

// userShell runs code in the shell that the environment names.
func (w *walker) userShell(inv *invocation, code field, step string, st *state) {
	w.doubt(inv, step+" takes the shell that the environment names")
	if code.known {
		w.shellText(code.text, Sh, st.child(), inv.cx.in(step))
	}
}

// files handles programs that read, write and remove what their operands name.
func (w *walker) files(inv *invocation, st *state, s *spec) {
	p := s.parseArgs(w, inv.args(), false)
	name := path.Base(inv.fields[0].text)
	if p.problem != "" {
		if s.starts {
			w.doubt(inv, name+": "+p.problem)
		}
		w.vague(inv, name+": "+p.problem)
	}
	w.roles(inv, &p, st)
	if name == "curl" && slices.ContainsFunc(inv.args(), func(f field) bool { return !f.begins() || strings.Contains(strings.ToLower(f.text), "file:") }) {
		w.vague(inv, "curl can write local files by their addresses")
	}
	e := func() *effects { return &w.out.Commands[inv.index].effects }
	switch s.kind {
	case "writes":
		from := s.number
		if _, ok := p.find("--reference"); ok && (name == "chmod" || name == "chown" || name == "chgrp") {
			from = 0
		}
		if name == "mktemp" && !p.has("-u", "--dry-run") {
			w.vague(inv, "mktemp makes a file whose name is only known at run time")
			return
		}
		for i, f := range p.operands {
			if i >= from || f.many {
				w.write(inv.index, f, st)
			}
			if name == "mkdir" && strings.Contains(f.path, "..") {
				w.vague(inv, "folders on the way are made too")
			}
		}
	case "deletes":
		for _, f := range p.operands {
			if name == "shred" {
				w.write(inv.index, f, st)
			}
			w.remove(inv.index, f, st)
		}
	case "copies", "moves":
		if name == "install" && slices.ContainsFunc(p.operands, func(f field) bool { return strings.Contains(f.path, "..") && strings.Contains(tidy(f.path), "/../") }) {
			w.vague(inv, "folders on the way are made too")
		}
		sources := p.operands
		if g, ok := p.find("-t", "--target-directory"); ok {
			w.write(inv.index, g.value, st)
		} else if name == "install" && p.has("-d", "--directory") {
			for _, f := range sources {
				w.write(inv.index, f, st)
			}
			return
		} else if len(sources) > 0 {
			last := sources[len(sources)-1]
			sources = sources[:len(sources)-1]
			w.write(inv.index, last, st)
			for _, f := range sources {
				if f.many { // perhaps the last one
					w.vague(inv, "which operand of "+name+" is written is only known at run time")
				}
			}
		}
		e().links = s.kind == "moves" || p.has("-a", "-r", "-R", "-P", "-d", "-l", "-s", "--archive", "--recursive", "--no-dereference", "--link", "--symbolic-link")
		if s.kind == "moves" {
			for _, f := range sources {
				w.remove(inv.index, f, st)
			}
		}
	}
}

// owned handles programs whose own files say what they do.
func (w *walker) owned(inv *invocation, name string, s *spec) {
	e := &w.out.Commands[inv.index].effects
	e.own, e.open = "what "+name+" writes isn't known", true
	e.links = true
	for _, f := range inv.args() {
		if !w.spend(1) {
			return
		}
		if !f.known {
			if f.option() != No || f.text == "" {
				w.doubt(inv, name+" gets arguments that are only known at run time")
			}
			continue
		}
		if s.operands[f.text] {
			w.doubt(inv, name+" "+f.text+" can run a command")
		}
		if len(f.text) < 2 || f.text[0] != '-' {
			continue
		}
		option, _, _ := strings.Cut(f.text, "=")
		for long := range s.long {
			if option == long || len(option) > 2 && strings.HasPrefix(option, "--") && strings.HasPrefix(long, option) || !strings.HasPrefix(long, "--") && strings.HasPrefix(option, long) {
				w.doubt(inv, "the option "+long+" of "+name+" can run or load something")
			}
		}
		if _, ok := s.short[f.text[1]]; ok && f.text[1] != '-' {
			w.doubt(inv, "the option "+f.text[:2]+" of "+name+" can run or load something")
		}
	}
}
