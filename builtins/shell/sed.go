package shell

import "strings"

// startSed reads sed's script: GNU sed runs what follows the command e.
func startSed(w *walker, inv *invocation, st *state, _ *spec) {
	var scripts []field
	var operands []field
	inPlace, suffix := false, ""
	args := inv.args()
	for i := 0; i < len(args); i++ {
		f := args[i]
		switch f.option() {
		case Unknown:
			w.doubt(inv, "sed gets arguments that are only known at run time")
			return
		case No:
			operands = append(operands, f)
			continue
		}
		t := f.text
		switch {
		case !f.known:
			w.doubt(inv, "sed gets options that are only known at run time")
			return
		case t == "--":
			operands = append(operands, args[i+1:]...)
			i = len(args)
			continue
		case strings.HasPrefix(t, "--expression="):
			scripts = append(scripts, literal(strings.TrimPrefix(t, "--expression=")))
			continue
		case t == "--in-place" || strings.HasPrefix(t, "--in-place="):
			inPlace = true
			_, suffix, _ = strings.Cut(t, "=")
			continue
		case hasWord("--quiet --silent --regexp-extended --separate --unbuffered --null-data --zero-terminated --posix --sandbox --follow-symlinks --version --help", t):
			continue
		case strings.HasPrefix(t, "--"):
			w.doubt(inv, "the option "+t+" of sed isn't understood")
			return
		}
	cluster:
		for j := 1; j < len(t); j++ {
			switch t[j] {
			case 'n', 'E', 'r', 's', 'u', 'z':
			case 'i':
				inPlace, suffix = true, t[j+1:]
				break cluster
			case 'e':
				code := literal(t[j+1:])
				if code.text == "" && i+1 < len(args) {
					i++
					code = args[i]
				}
				scripts = append(scripts, code)
				break cluster
			default:
				w.doubt(inv, "the option -"+t[j:j+1]+" of sed isn't understood")
				return
			}
		}
	}
	if len(scripts) == 0 && len(operands) > 0 {
		scripts, operands = operands[:1], operands[1:]
	}
	code, ok := constants(scripts)
	if !ok {
		w.doubt(inv, "sed runs a script that is only known at run time")
		return
	}
	w.sedScript(inv, strings.Join(code, "\n"), st)
	if inPlace {
		for _, f := range operands {
			w.write(inv.index, f, st)
			if suffix == "" || !f.pathKnown {
				continue
			}
			if strings.ContainsAny(suffix, "*/") {
				w.vague(inv, "sed keeps copies under other names")
				continue
			}
			f.path += suffix
			w.write(inv.index, f, st)
		}
	}
}

// sedScript reads the commands of a script.
func (w *walker) sedScript(inv *invocation, code string, st *state) {
	s := &sedReader{code: code}
	for w.spend(1) {
		s.skip(" \t\r\n;")
		if s.done() {
			return
		}
		if !s.address() {
			break
		}
		c := s.next()
		switch {
		case strings.IndexByte("{}=dDgGhHnNpPxzF", c) >= 0:
		case strings.IndexByte("qQlL", c) >= 0:
			s.skip(" \t0123456789")
		case strings.IndexByte(":btTv", c) >= 0:
			s.until("\n;}")
		case c == '#':
			s.until("\n")
		case c == 'a' || c == 'i' || c == 'c':
			s.text()
		case c == 'r' || c == 'R':
			s.until("\n")
		case c == 'w' || c == 'W':
			w.sedWrites(inv, s.until("\n"), st)
		case c == 'e':
			command := strings.TrimLeft(s.until("\n"), " \t")
			if command == "" || strings.HasSuffix(command, "\\") {
				w.foreign(inv, "sed", code, "sed runs what it reads")
				return
			}
			w.startProgram([]field{literal("sh"), literal("-c"), literal(command)}, "sed", st, inv.cx)
		case c == 'y':
			if !s.delimited(2) {
				w.foreign(inv, "sed", code, "sed runs a script that isn't understood")
				return
			}
		case c == 's':
			if !s.delimited(2) {
				w.foreign(inv, "sed", code, "sed runs a script that isn't understood")
				return
			}
			for !s.done() && strings.IndexByte("gpiImM0123456789", s.peek()) >= 0 {
				s.next()
			}
			switch s.peek() {
			case 'w':
				s.next()
				w.sedWrites(inv, s.until("\n"), st)
			case 'e':
				w.foreign(inv, "sed", code, "sed runs what a substitution gives")
				return
			}
		default:
			w.foreign(inv, "sed", code, "sed runs a script that isn't understood")
			return
		}
		s.skip(" \t")
		if !s.done() && strings.IndexByte("\n;}{#", s.peek()) < 0 && c != '{' && c != '}' {
			break
		}
	}
	w.foreign(inv, "sed", code, "sed runs a script that isn't understood")
}

func (w *walker) sedWrites(inv *invocation, name string, st *state) {
	if name = strings.TrimLeft(name, " \t"); name != "" {
		w.write(inv.index, literal(name), st)
	}
}

// sedReader reads the letters of a script.
type sedReader struct {
	code string
	at   int
}

func (s *sedReader) done() bool { return s.at >= len(s.code) }

func (s *sedReader) peek() byte {
	if s.done() {
		return 0
	}
	return s.code[s.at]
}

func (s *sedReader) next() byte {
	c := s.peek()
	s.at++
	return c
}

func (s *sedReader) skip(letters string) {
	for !s.done() && strings.IndexByte(letters, s.code[s.at]) >= 0 {
		s.at++
	}
}

func (s *sedReader) until(letters string) string {
	from := min(s.at, len(s.code))
	for !s.done() && strings.IndexByte(letters, s.code[s.at]) < 0 {
		s.at++
	}
	return s.code[from:s.at]
}

// text skips the text of a, i and c, which goes on where a line ends with a backslash.
func (s *sedReader) text() {
	for !s.done() {
		line := s.until("\n")
		if !strings.HasSuffix(line, `\`) {
			return
		}
		s.at++
	}
}

// address skips the addresses before a command.
func (s *sedReader) address() bool {
	for n := 0; ; n++ {
		switch c := s.peek(); {
		case c >= '0' && c <= '9' || c == '+' && n > 0 || c == '~' && n > 0:
			s.at++
			s.skip("0123456789~")
		case c == '$':
			s.at++
		case c == '/':
			if !s.delimited(1) {
				return false
			}
			s.skip("IM")
		case c == '\\':
			s.at++
			if !s.delimited(1) {
				return false
			}
			s.skip("IM")
		default:
			if n > 0 {
				return false // a comma without an address
			}
		}
		s.skip(" \t")
		if s.peek() != ',' || n > 1 {
			break
		}
		s.at++
		s.skip(" \t")
	}
	s.skip("! \t")
	return true
}

// delimited skips so many parts after a delimiter. Seds don't agree on what the delimiter in brackets is.
func (s *sedReader) delimited(parts int) bool {
	d := s.next()
	if d == '\n' || d == '\\' || d == 0 || d >= 0x80 {
		return false
	}
	for range parts {
		bracket := false
		for {
			if s.done() {
				return false
			}
			c := s.next()
			switch {
			case c == '\\':
				s.at++
				continue
			case c == d:
				if bracket {
					return false
				}
			case c == '\n' && parts == 1:
				return false
			case c == '[':
				bracket = true
				continue
			case c == ']':
				bracket = false
				continue
			default:
				continue
			}
			break
		}
	}
	return true
}
