package shell

import "strings"

// gitOption looks for options that run something or write a file. Git takes the beginnings of long ones.
func (w *walker) gitOption(inv *invocation, command string, f field, args []field, i int, st *state) {
	name, text, attached := strings.Cut(f.text, "=")
	if !strings.HasPrefix(name, "--") {
		w.gitShort(inv, command, f.text, args, i, st)
		return
	}
	for _, long := range gitRuns {
		if len(name) > 2 && strings.HasPrefix(long, name) && !gitPlain(command, name) {
			program := field{known: f.known, text: text}
			if long == "--open-files-in-pager" && attached && f.known && command == "grep" {
				w.gitPager(inv, program, st)
				return
			}
			w.doubt(inv, "the option "+name+" of git "+command+" can run something")
			return
		}
	}
	if len(name) > 4 && (strings.HasPrefix("--output", name) || strings.HasPrefix("--output-directory", name)) && !strings.HasPrefix(name, "--output-indicator") {
		switch {
		case attached && f.known:
			w.write(inv.index, literal(text), st)
		case i+1 < len(args):
			w.write(inv.index, args[i+1], st)
		}
	}
}

// gitPlain are options that begin like one that runs something, but are others.
func gitPlain(command, name string) bool {
	return name == "--text" || name == "--remote" && command != "archive"
}

func (w *walker) gitShort(inv *invocation, command, text string, args []field, i int, st *state) {
	switch {
	case command == "grep" && strings.Contains(text, "O"):
		if text == "-O" {
			w.doubt(inv, "git grep -O runs a pager")
		} else if program, ok := strings.CutPrefix(text, "-O"); ok {
			w.gitPager(inv, literal(program), st)
		} else {
			w.doubt(inv, "git grep -O runs a pager")
		}
	case command == "rebase" && (text[1] == 'x' || text[1] == 'i' || text[1] == 'S'),
		hasWord("commit tag merge cherry-pick revert am commit-tree notes", command) && text[1] == 'S':
		w.doubt(inv, "the option "+text+" of git "+command+" can run something")
	case (command == "format-patch" || command == "archive" || command == "bundle") && strings.HasPrefix(text, "-o"):
		if to := strings.TrimPrefix(text, "-o"); to != "" {
			w.write(inv.index, literal(to), st)
		} else if i+1 < len(args) {
			w.write(inv.index, args[i+1], st)
		}
	}
}

// gitPager starts a pager with the names of files.
func (w *walker) gitPager(inv *invocation, program field, st *state) {
	if program.known && strings.ContainsAny(program.text, " \t\"'\\$`;&|<>()*?[]#~=%\n") {
		w.startProgram([]field{literal("sh"), literal("-c"), literal(program.text + ` "$@"`), program, rest()}, "git", st, inv.cx)
		return
	}
	w.startProgram([]field{program, rest()}, "git", st, inv.cx)
}
