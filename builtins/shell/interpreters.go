package shell

import (
	"path"
	"strings"
)

// inline are the options with which interpreters take code, and those that are known to do nothing.
var inline = map[string]struct{ language, code, quiet string }{
	"python": {"python", "-c", "-V --version -h --help"}, "python2": {"python", "-c", "-V --version"},
	"perl": {"perl", "-e -E", "-v --version"}, "ruby": {"ruby", "-e", "-v --version"}, "php": {"php", "-r -R -B -E", "-v --version"},
	"node": {"javascript", "-e -p --eval --print -pe", "-v --version -h --help"}, "nodejs": {"javascript", "-e -p --eval --print -pe", "-v --version"},
	"deno": {"javascript", "", "-V --version"}, "bun": {"javascript", "-e", "-v --version"}, "lua": {"lua", "-e", "-v"}, "R": {"r", "-e", "--version"}, "Rscript": {"r", "-e", "--version"},
	"tclsh": {"tcl", "", ""}, "wish": {"tcl", "", ""}, "expect": {"expect", "-c", "-v"}, "osascript": {"applescript", "-e", ""}, "julia": {"julia", "-e -E", "-v --version"},
	"groovy": {"groovy", "-e", "-v --version"}, "scala": {"scala", "-e", "-version --version"}, "kotlin": {"kotlin", "-e", "-version"}, "swift": {"swift", "", "--version"},
	"ghci": {"haskell", "-e", "--version"}, "runghc": {"haskell", "", "--version"}, "irb": {"ruby", "", "--version"}, "pry": {"ruby", "-e", "--version"}, "ipython": {"python", "-c", "--version"},
	"psql": {"sql", "-c --command", "-V --version"}, "mysql": {"sql", "-e --execute", "-V --version"}, "sqlite3": {"sql", "", "-version --version"},
	"mongo": {"javascript", "--eval", "--version"}, "mongosh": {"javascript", "--eval", "--version"}, "redis-cli": {"redis", "", "-v --version"},
	"gdb": {"gdb", "-ex -eval-command --eval-command", "--version -v"}, "lldb": {"lldb", "-o", "--version -v"}, "dc": {"dc", "-e --expression", "-V --version"}, "bc": {"bc", "", "-v --version"},
	"m4": {"m4", "", "--version"},
}

// startInterpreter reports code of other languages. It can do anything.
func startInterpreter(w *walker, inv *invocation, st *state, _ *spec) {
	name := path.Base(inv.fields[0].text)
	how, ok := inline[canonical(name)]
	if !ok {
		w.doubt(inv, name+" runs code of another language")
		return
	}
	args := inv.args()
	if len(args) == 1 && args[0].known && hasWord(how.quiet, args[0].text) {
		return
	}
	reason := name + " runs code of another language"
	for i, f := range args {
		if !f.known {
			continue
		}
		if hasWord(how.code, f.text) && i+1 < len(args) {
			w.foreign(inv, how.language, args[i+1].text, reason)
			return
		}
		for _, option := range strings.Fields(how.code) { // glued together, alone or with other letters
			if len(option) != 2 || len(f.text) < 3 || f.text[0] != '-' || f.text[1] == '-' {
				continue
			}
			at := strings.IndexByte(f.text[1:], option[1])
			if at < 0 {
				continue
			}
			if code := f.text[at+2:]; code != "" {
				w.foreign(inv, how.language, code, reason)
				return
			}
			if i+1 < len(args) {
				w.foreign(inv, how.language, args[i+1].text, reason)
				return
			}
		}
	}
	if len(args) == 0 && inv.stdin != nil && inv.stdin.known {
		w.foreign(inv, how.language, inv.stdin.text, reason)
		return
	}
	for _, f := range args {
		if f.known && f.text != "" && f.text[0] != '-' {
			w.foreign(inv, "file", f.text, name+" runs the code of a file")
			return
		}
	}
	w.doubt(inv, reason)
}

func hasWord(list, word string) bool {
	for w := range strings.FieldsSeq(list) {
		if w == word {
			return true
		}
	}
	return false
}
