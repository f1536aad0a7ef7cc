package shell

import (
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// source is one text of shell code.
type source struct {
	text string
	// cr stands for carriage returns while the text is parsed: the parser takes CR LF for the end of a
	// line, where both shells take CR for a letter.
	cr string
}

// plain gives a parsed piece of text its carriage returns back.
func (s *source) plain(text string) string {
	if s.cr == "" {
		return text
	}
	return strings.ReplaceAll(text, s.cr, "\r")
}

// unit is what a shell reads before it runs any of it: the commands up to the end of a line.
type unit []*syntax.Stmt

// parsers are reused; a parser is a kilobyte of buffer.
var parsers = [2]sync.Pool{
	Bash: {New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }},
	Dash: {New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangPOSIX)) }},
}

var errDeep = errors.New("the text nests too deep")

// parse reads a text. After an error it returns the units that a shell would have run before it came
// upon the error.
func parse(text string, d Dialect) (*source, []unit, error) {
	src := &source{text: text}
	if strings.ContainsRune(text, 0) {
		return src, nil, errors.New("the text has a NUL in it")
	}
	if strings.Contains(text, "\r") {
		if src.cr = unused(text); src.cr == "" {
			return src, nil, errors.New("the text uses too many private characters")
		}
		text = strings.ReplaceAll(text, "\r", src.cr)
	}
	in := &input{text: text}
	if len(text) >= chunk {
		in.base = depth()
	}
	units, failed := statements(in, d)
	switch last := lastOf(units); {
	case failed == nil && !hashesInWords(text, units):
		failed = errors.New("what a # begins isn't clear")
	case failed != nil && last != nil && !endsLine(text[min(int(last.End().Offset()), len(text)):]):
		units = units[:len(units)-1]
	}
	return src, units, failed
}

// statements parses, and makes an error of a panic of the parser, which is not ours.
func statements(in *input, d Dialect) (units []unit, failed error) {
	p := parsers[d].Get().(*syntax.Parser)
	defer func() {
		if recover() != nil {
			failed = errors.New("the parser gave up")
			return
		}
		parsers[d].Put(p)
	}()
	for s, err := range p.StmtsSeq(in) {
		if failed == nil {
			failed = err
		}
		if failed != nil || s == nil { // no break: the parser goes on after the loop was left
			continue
		}
		if last := lastOf(units); last == nil || s.Pos().Line() == 0 || s.Pos().Line() > last.End().Line() {
			units = append(units, nil)
		}
		units[len(units)-1] = append(units[len(units)-1], s)
	}
	if in.deep {
		failed = errDeep
	}
	return units, failed
}

func lastOf(units []unit) *syntax.Stmt {
	if len(units) == 0 {
		return nil
	}
	u := units[len(units)-1]
	return u[len(u)-1]
}

// hashesInWords tells whether every # that a shell takes for a letter is one in the tree as well: the
// parser takes some for comments, in quotes' wake. A # begins a comment only where a word could begin.
// A comment ends with its line in shells, but not in the parser if the line ends with a backslash, so
// that there every # has to be a letter.
func hashesInWords(text string, units []unit) bool {
	var at []uint
	for i := range len(text) {
		if text[i] == '#' && (!beginsWord(text[:i]) || goesOn(text[i:])) {
			at = append(at, uint(i))
		}
	}
	if len(at) == 0 {
		return true
	}
	if Tokens(text) > 2*MaxCommands { // too deep a tree to walk for this
		return false
	}
	inside := make([]bool, len(at))
	cover := func(n syntax.Node) {
		from, to := n.Pos().Offset(), n.End().Offset()
		i, _ := slices.BinarySearch(at, from)
		for ; i < len(at) && at[i] < to; i++ {
			inside[i] = true
		}
	}
	for _, u := range units {
		for _, s := range u {
			syntax.Walk(s, func(n syntax.Node) bool {
				switch n := n.(type) {
				case *syntax.Lit, *syntax.SglQuoted, *syntax.ExtGlob:
					cover(n)
				case *syntax.ParamExp:
					if n.Param != nil && n.Pos().IsValid() {
						cover(n)
					}
				}
				return true
			})
		}
	}
	return !slices.Contains(inside, false)
}

// goesOn tells whether the first line of a text ends with a backslash.
func goesOn(text string) bool {
	line, _, found := strings.Cut(text, "\n")
	return found && strings.HasSuffix(line, "\\")
}

// beginsWord tells whether a word begins behind a text, by its last letter.
func beginsWord(text string) bool {
	for strings.HasSuffix(text, "\\\n") {
		text = text[:len(text)-2]
	}
	return text == "" || strings.IndexByte(" \t\n;&|(<>", text[len(text)-1]) >= 0
}

// endsLine tells whether nothing but the end of the line follows a command.
func endsLine(rest string) bool {
	rest = strings.TrimLeft(rest, " \t;&")
	return rest == "" || rest[0] == '\n' || rest[0] == '#'
}

// unused finds a private character that the text doesn't have.
func unused(text string) string {
	for r := rune(0xE000); r < 0xE100; r++ {
		if !strings.ContainsRune(text, r) {
			return string(r)
		}
	}
	return ""
}

// chunk is how much the parser reads at once.
const chunk = 1 << 10

// input feeds the parser, which recurses as deep as the text nests, and is asked for more text from
// within: there it can be stopped before it takes too much of the stack.
type input struct {
	text string
	at   int
	base int // frames under the parser
	deep bool
}

// Read implements io.Reader.
func (in *input) Read(b []byte) (int, error) {
	if in.at >= len(in.text) {
		return 0, io.EOF
	}
	if in.at > 0 && deeper(in.base+maxFrames) {
		in.deep = true
		return 0, errDeep
	}
	n := copy(b[:min(len(b), chunk)], in.text[in.at:])
	in.at += n
	return n, nil
}

// depth counts the frames of the stack as the source has them, inlined or not, so that it is the same
// on every machine.
func depth() int {
	var pcs [256]uintptr
	for n := 0; ; n += len(pcs) {
		if got := runtime.Callers(n, pcs[:]); got < len(pcs) {
			return n + got
		}
	}
}

func deeper(frames int) bool {
	var pc [1]uintptr
	return runtime.Callers(frames, pc[:]) > 0
}
