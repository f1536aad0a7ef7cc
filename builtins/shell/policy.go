package shell

import (
	"slices"
	"strings"
)

// Policy is what may run and be written.
type Policy struct {
	Programs []string            // base names, builtins included
	Flags    map[string][]string // a program's options, for programs that may not have any
	Writes   []string            // folders and files that may be changed; "/" allows all
}

// Allowed tells whether everything in a script is known and allowed, and if not, why. What a program of
// the list does by itself is allowed with it. Where a path leads isn't looked at: it is taken as it
// stands, so that a link which was there before can lead elsewhere.
func Allowed(s Script, p Policy) (ok bool, why string) {
	why = refusal(s, p)
	return why == "", short(why)
}

func refusal(s Script, p Policy) string {
	if !s.Known {
		if len(s.Reasons) > 0 {
			return s.Reasons[0]
		}
		return "not everything is known"
	}
	anywhere := slices.Contains(p.Writes, "/")
	programs := set(p.Programs)
	flags := map[string]map[string]bool{}
	for name, list := range p.Flags {
		flags[name] = set(list)
	}
	for i := range s.Commands {
		c := &s.Commands[i]
		if c.Program == "" && c.Written == "" {
			if len(c.Args) > 0 {
				return "a program without a name"
			}
		} else if !programs[c.Program] {
			return c.Program + " isn't on the list"
		}
		if list, limited := flags[c.Program]; limited {
			if why := flagged(c, list); why != "" {
				return why
			}
		}
		if anywhere {
			continue
		}
		if c.effects.vague != "" {
			return c.effects.vague
		}
		for _, path := range slices.Concat(c.effects.writes, c.effects.deletes) {
			if !slices.ContainsFunc(p.Writes, func(root string) bool { return within(root, path) }) {
				return path + " may not be changed"
			}
		}
		if c.effects.links && c.Program == "ln" {
			return "a link can lead anywhere"
		}
	}
	if anywhere {
		return ""
	}
	return linked(s)
}

func set(list []string) map[string]bool {
	out := make(map[string]bool, len(list))
	for _, s := range list {
		out[s] = true
	}
	return out
}

// flagged tells which option of a command isn't among those that it may have.
func flagged(c *Command, flags map[string]bool) string {
	for i := range c.Args {
		f := &c.fields[i]
		if f.known && f.text == "--" {
			return ""
		}
		switch f.option() {
		case Unknown:
			return "an argument of " + c.Program + " that is only known at run time may be an option"
		case Yes:
			if !f.known || !hasFlag(f.text, flags) {
				return "the option " + f.text + " of " + c.Program + " isn't on the list"
			}
		}
	}
	return ""
}

// hasFlag takes an option as it stands, a long one without its value, and letters that stand together if
// each of them is on the list.
func hasFlag(text string, flags map[string]bool) bool {
	if flags[text] {
		return true
	}
	if strings.HasPrefix(text, "--") {
		name, _, attached := strings.Cut(text, "=")
		return attached && flags[name]
	}
	for _, letter := range text[1:] {
		if !flags["-"+string(letter)] {
			return false
		}
	}
	return true
}

// within tells by the text alone whether a path is root or below it. A path with ".." behind a name isn't:
// the name can be a link.
func within(root, p string) bool {
	root, p = tidy(root), tidy(p)
	if strings.HasPrefix(root, "/") != strings.HasPrefix(p, "/") || strings.HasPrefix(root, "~") != strings.HasPrefix(p, "~") {
		return false
	}
	if root == "." {
		root = ""
	} else if p != root && !strings.HasPrefix(p, root+"/") {
		return false
	}
	rest := strings.TrimPrefix(p[len(root):], "/")
	return !slices.Contains(strings.Split(rest, "/"), "..")
}
