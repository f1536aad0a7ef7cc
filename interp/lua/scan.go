package lua

import (
	"bytes"
	"fmt"

	"agentd/interp"
)

// scan refuses text that is too long, or nests deeper than the compiler should be asked to look. It
// counts brackets, blocks and operators that stand before their operand.
func scan(src interp.Source) error {
	if n := len(src.Text); n > interp.MaxSource {
		return fmt.Errorf("the file has %d bytes, at most %d are allowed", n, interp.MaxSource)
	}
	s := scanner{text: src.Text, line: 1}
	for s.at < len(s.text) {
		s.token()
		if s.depth+s.prefix > interp.MaxNesting {
			return &lineError{s.line, fmt.Sprintf("nested deeper than %d levels", interp.MaxNesting)}
		}
		if s.chain > maxSpine {
			return &lineError{s.line, fmt.Sprintf("more than %d operators follow one another", maxSpine)}
		}
	}
	return nil
}

type scanner struct {
	text   []byte
	at     int
	line   int
	depth  int
	prefix int // operators before an operand that hasn't come yet
	chain  int // operators that the parser takes from the right: it keeps all of them until the last
	outer  []int
}

func (s *scanner) open() {
	s.depth++
	s.outer, s.chain = append(s.outer, s.chain), 0
}

func (s *scanner) shut() {
	s.depth = max(s.depth-1, 0)
	s.chain = 0
	if n := len(s.outer); n > 0 {
		s.outer, s.chain = s.outer[:n-1], s.outer[n-1]
	}
}

func (s *scanner) token() {
	switch c := s.text[s.at]; {
	case c == '\n':
		s.line++
		s.at++
	case c == ' ' || c == '\t' || c == '\r':
		s.at++
	case c == '-' && bytes.HasPrefix(s.text[s.at:], []byte("--")):
		s.comment()
	case c == '-' || c == '#':
		s.prefix++
		s.at++
	case c == '"' || c == '\'':
		s.quoted(c)
	case c == '[' && s.long() > 0:
		s.skip(s.long())
	case c == '(' || c == '{' || c == '[':
		s.open()
		s.prefix = 0
		s.at++
	case c == ')' || c == '}' || c == ']':
		s.shut()
		s.prefix = 0
		s.at++
	case letter(c):
		s.word()
	case c == '.' && bytes.HasPrefix(s.text[s.at:], []byte("...")):
		s.prefix = 0
		s.at += 3
	case c == '^' || c == '.' && bytes.HasPrefix(s.text[s.at:], []byte("..")):
		s.prefix = 0
		s.chain++
		if s.at++; c == '.' {
			s.at++
		}
	default:
		if c == ',' || c == ';' || c == '=' {
			s.chain = 0
		}
		s.prefix = 0
		s.at++
	}
}

func (s *scanner) word() {
	from := s.at
	for s.at < len(s.text) && (letter(s.text[s.at]) || s.text[s.at] >= '0' && s.text[s.at] <= '9') {
		s.at++
	}
	switch string(s.text[from:s.at]) {
	case "not":
		s.prefix++
		return
	case "do", "then", "function", "repeat":
		s.open()
	case "end", "until", "elseif":
		s.shut()
	case "local", "return", "if", "while", "for", "in", "else", "and", "or", "break":
		s.chain = 0
	}
	s.prefix = 0
}

func letter(c byte) bool { return c == '_' || c|32 >= 'a' && c|32 <= 'z' }

func (s *scanner) comment() {
	s.at += 2
	if n := s.long(); n > 0 {
		s.skip(n)
		return
	}
	for s.at < len(s.text) && s.text[s.at] != '\n' {
		s.at++
	}
}

// long is the length of long brackets [[...]] or [==[...]==] that start here, 0 if none do. Open ones
// reach to the end.
func (s *scanner) long() int {
	rest := s.text[s.at:]
	level := 1
	for level < len(rest) && rest[level] == '=' {
		level++
	}
	if len(rest) == 0 || rest[0] != '[' || level >= len(rest) || rest[level] != '[' {
		return 0
	}
	shut := append(append([]byte{']'}, rest[1:level]...), ']')
	if i := bytes.Index(rest[level+1:], shut); i >= 0 {
		return level + 1 + i + len(shut)
	}
	return len(rest)
}

func (s *scanner) skip(n int) {
	s.line += bytes.Count(s.text[s.at:s.at+n], []byte{'\n'})
	s.at += n
	s.prefix = 0
}

func (s *scanner) quoted(quote byte) {
	s.prefix = 0
	for s.at++; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '\\':
			s.at++
			if s.at < len(s.text) && s.text[s.at] == '\n' {
				s.line++
			}
		case '\n':
			return // the parser will say it
		case quote:
			s.at++
			return
		}
	}
}
