package shell

import (
	"path"
	"slices"
	"strings"
)

// effects are what one command does to files.
type effects struct {
	writes  []string
	deletes []string
	vague   string // why these aren't all, "" if they are
	own     string // why they aren't all: the program isn't followed. Who allows it allows that
	open    bool   // what its arguments mean isn't known, so that they may name a program that it starts
	links   bool   // it can put links where other paths of the line lead through
}

// write notes that a command writes a file.
func (w *walker) write(index int, f field, st *state) { w.touch(index, f, st, false) }

// remove notes that a command removes a file or a folder.
func (w *walker) remove(index int, f field, st *state) { w.touch(index, f, st, true) }

func (w *walker) touch(index int, f field, st *state, removes bool) {
	e := &w.out.Commands[index].effects
	if f.below != "" {
		f.path, f.pathKnown = f.below, true
	}
	if !f.pathKnown {
		e.doubt("a file that is only known at run time is written or removed")
		if !removes {
			w.gitTouched = w.gitTouched || w.out.Commands[index].Program != "git"
			w.homeTouched = true
		}
		return
	}
	p := tidy(f.path)
	if !removes && w.out.Commands[index].Program != "git" {
		w.consequences(p)
	}
	if f.path == "" || device(p) {
		return
	}
	if p[0] != '/' && p[0] != '~' {
		switch {
		case !st.dirKnown:
			p = ""
		case st.dir != "":
			p = tidy(st.dir + "/" + p)
		}
	}
	if !st.dirKnown || st.moved {
		e.doubt("after a change of the folder, which can be a link, paths can lead anywhere")
	}
	if p == "" || !w.spend(1+len(p)/16) {
		return
	}
	if removes {
		e.deletes = append(e.deletes, p)
	} else {
		e.writes = append(e.writes, p)
	}
	if !removes && st.dir != "" && w.out.Commands[index].Program != "git" {
		w.consequences(p)
	}
}

// consequences of a change for programs that the line starts.
func (w *walker) consequences(p string) {
	switch path.Base(p) {
	case ".profile", ".bash_profile", ".bash_login", ".bash_logout", ".bashrc", "profile", "profile.d", "bash.bashrc", ".", "..", "~", "etc", "home":
		w.homeTouched = true
	}
	w.homeTouched = w.homeTouched || strings.Contains(p, "profile.d/")
	for _, name := range strings.Split(p, "/") {
		if strings.HasPrefix(name, ".git") || name == "git" && strings.Contains(p, ".config") {
			w.gitTouched = true
		}
	}
	if clean := path.Clean(p); path.IsAbs(clean) && (programFolders[clean] || programFolders[path.Dir(clean)] || hasPrefix(clean+"/", []string{"/lib", "/usr/lib", "/etc/ld"})) {
		w.unknown("a program of the system is changed")
	}
}

func (e *effects) doubt(why string) {
	if e.vague == "" {
		e.vague = short(why)
	}
}

// vague notes that it can't be told what a command writes.
func (w *walker) vague(inv *invocation, why string) {
	w.out.Commands[inv.index].effects.doubt(why)
}

// tidy drops what changes nothing. It keeps "..", which leads elsewhere if the folder before it is a link.
func tidy(p string) string {
	parts := strings.Split(p, "/")
	out := parts[:0]
	for _, part := range parts {
		if part != "" && part != "." {
			out = append(out, part)
		}
	}
	tidied := strings.Join(out, "/")
	switch {
	case strings.HasPrefix(p, "/"):
		return "/" + tidied
	case tidied == "":
		return "."
	case strings.HasPrefix(tidied, "~") && !strings.HasPrefix(p, "~"):
		return "./" + tidied
	}
	return tidied
}

// device tells whether writing to a path leaves nothing behind.
func device(p string) bool {
	switch p {
	case "/dev/null", "/dev/zero", "/dev/full", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty":
		return true
	}
	fd, ok := strings.CutPrefix(p, "/dev/fd/")
	return ok && fd != "" && strings.Trim(fd, "0123456789") == ""
}

// Writes tells what files a script would change.
func Writes(s Script) Effects {
	out := Effects{Known: true}
	doubt := func(why string) {
		out.Known = false
		if !slices.Contains(out.Reasons, why) && len(out.Reasons) < maxReasons {
			out.Reasons = append(out.Reasons, why)
		}
	}
	if !s.Known {
		out.Known = false
		out.Reasons = slices.Clone(s.Reasons)
	}
	for i := range s.Commands {
		e := &s.Commands[i].effects
		out.Writes = append(out.Writes, e.writes...)
		out.Deletes = append(out.Deletes, e.deletes...)
		if e.vague != "" {
			doubt(e.vague)
		}
		if e.own != "" {
			doubt(e.own)
		}
	}
	if why := linked(s); why != "" {
		doubt(why)
	}
	return out
}

// linked tells whether a command can put a link where a path of another command leads through.
func linked(s Script) string {
	maker, loose := -1, false
	for i := range s.Commands {
		c := &s.Commands[i]
		if maker >= 0 && (len(c.effects.writes)+len(c.effects.deletes) > 0) {
			return "a link may have been put where a later path leads through"
		}
		if c.effects.links && maker < 0 {
			maker = i
		}
		loose = loose || c.effects.links && slices.ContainsFunc(c.Chain, unordered)
	}
	if loose {
		for i := range s.Commands {
			if e := &s.Commands[i].effects; i != maker && len(e.writes)+len(e.deletes) > 0 {
				return "a link may have been put where another path leads through"
			}
		}
	}
	return ""
}

// unordered tells whether what is reached by a step can run before or while other commands do.
func unordered(step string) bool {
	return step == "loop" || step == "background" || step == "pipe" || step == "trap" || strings.HasPrefix(step, "function ") || step == "xargs" || step == "find" || step == "process substitution"
}
