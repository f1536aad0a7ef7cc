package shell

import (
	"path"
	"strings"
)

// startAwk reads the program of awk far enough to tell whether it runs or writes something.
func startAwk(w *walker, inv *invocation, st *state, _ *spec) {
	name := path.Base(inv.fields[0].text)
	args := inv.args()
	for len(args) > 0 {
		f := args[0]
		if !f.known || f.many {
			if f.option() != No {
				w.doubt(inv, name+" gets arguments that are only known at run time")
				return
			}
			break
		}
		t := f.text
		if t == "--" {
			args = args[1:]
			break
		}
		if len(t) < 2 || t[0] != '-' {
			break
		}
		args = args[1:]
		switch {
		case t == "-F" || t == "-v":
			if len(args) == 0 {
				return
			}
			if args[0].many {
				w.doubt(inv, name+" gets arguments that are only known at run time")
				return
			}
			args = args[1:]
		case strings.HasPrefix(t, "-F"), strings.HasPrefix(t, "-v"), t == "--posix", t == "--traditional", t == "--re-interval", t == "--characters-as-bytes":
		case t == "--version", t == "-V", t == "--help":
			return
		case strings.HasPrefix(t, "-f"):
			w.foreign(inv, "file", "", name+" runs the code of a file")
			return
		default:
			w.doubt(inv, "the option "+t+" of "+name+" isn't understood")
			return
		}
	}
	if len(args) == 0 {
		return
	}
	code := args[0]
	if !code.known {
		w.doubt(inv, name+" runs code that is only known at run time")
		return
	}
	writes, ok := awkProgram(code.text)
	if !ok {
		w.foreign(inv, "awk", code.text, name+" runs code of another language")
		return
	}
	for _, f := range writes {
		w.write(inv.index, f, st)
	}
}

// What a slash is depends on what stands before it.
const (
	awkRegular = iota // a regular expression begins where a value is expected
	awkDivide         // after a value it divides
	awkUnsure
)

// awkProgram tells whether an awk program can't run anything, and which files it writes. It knows the
// letters of the language, not its grammar: what it isn't sure of it refuses.
func awkProgram(code string) (writes []field, ok bool) {
	prints, printed := false, 0 // within a print statement, and how deep in brackets it began
	var brackets []bool         // open ones: whether a statement follows the closing one
	condition := false          // if, while or for was the last word
	slash := awkRegular
	for i := 0; i < len(code); {
		was := condition
		condition = false
		switch c := code[i]; {
		case c == ' ' || c == '\t' || c == '\r':
			condition = was
			i++
		case c == '\n' || c == ';' || c == '}' || c == '{':
			prints, slash = false, awkRegular
			i++
		case c == '\\' && i+1 < len(code) && code[i+1] == '\n':
			i += 2
		case c == '#':
			for i < len(code) && code[i] != '\n' {
				i++
			}
		case c == '"':
			end := awkString(code, i)
			if end < 0 {
				return nil, false
			}
			i, slash = end, awkDivide
		case c == '/' && slash == awkUnsure:
			return nil, false
		case c == '/' && slash == awkRegular:
			end := awkRegex(code, i)
			if end < 0 {
				return nil, false
			}
			i, slash = end, awkDivide
		case c == '|':
			if i+1 >= len(code) || code[i+1] != '|' {
				return nil, false // a pipe
			}
			i, slash = i+2, awkRegular
		case c == '>' && prints && len(brackets) == printed:
			f, end := awkTarget(code, i)
			writes = append(writes, f)
			i, slash = end, awkRegular
		case isLetter(c):
			end := i
			for end < len(code) && (isLetter(code[end]) || code[end] >= '0' && code[end] <= '9') {
				end++
			}
			slash = awkDivide
			switch code[i:end] {
			case "system", "getline":
				return nil, false
			case "print", "printf":
				prints, printed, slash = true, len(brackets), awkRegular
			case "return", "else", "do", "case":
				slash = awkRegular
			case "if", "while", "for", "switch":
				condition = true
			case "in", "exit", "delete", "next", "nextfile", "break", "continue", "func", "function", "BEGIN", "END", "default":
				slash = awkUnsure
			}
			i = end
		case c >= '0' && c <= '9' || c == '.' || c == ']':
			i, slash = i+1, awkDivide
		case c == '$':
			i, slash = i+1, awkUnsure
		case c == '(':
			brackets = append(brackets, was)
			i, slash = i+1, awkRegular
		case c == ')':
			slash = awkDivide
			if n := len(brackets); n > 0 {
				if brackets[n-1] {
					slash = awkRegular
				}
				brackets = brackets[:n-1]
			}
			i++
		case c == '+' || c == '-':
			slash = awkRegular
			if i > 0 && code[i-1] == c {
				slash = awkUnsure // x++ / 2
			}
			i++
		case strings.IndexByte(",!~&=<>*%^?:[/", c) >= 0:
			i, slash = i+1, awkRegular
		default: // @, quotes, anything new
			return nil, false
		}
	}
	return writes, true
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

func awkString(code string, i int) int {
	for i++; i < len(code); i++ {
		switch code[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		case '\n':
			return -1
		}
	}
	return -1
}

// awkRegex finds the end of a regular expression. Awks don't agree on what a slash in brackets is.
func awkRegex(code string, i int) int {
	bracket := false
	for i++; i < len(code); i++ {
		switch code[i] {
		case '\\':
			i++
		case '[':
			bracket = true
		case ']':
			bracket = false
		case '/':
			if bracket {
				return -1
			}
			return i + 1
		case '\n':
			return -1
		}
	}
	return -1
}

// awkTarget reads what print writes to: a plain text, or what isn't known.
func awkTarget(code string, i int) (field, int) {
	for i < len(code) && code[i] == '>' {
		i++
	}
	for i < len(code) && code[i] == ' ' {
		i++
	}
	if i >= len(code) || code[i] != '"' {
		return field{}, i
	}
	end := awkString(code, i)
	if end < 0 {
		return field{}, i
	}
	text := code[i+1 : end-1]
	after := strings.TrimLeft(code[end:], " \t")
	if strings.Contains(text, `\`) || after != "" && strings.IndexByte(";}\n", after[0]) < 0 {
		return field{}, end
	}
	return literal(text), end
}
