package builtins

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"agentd/builtins/meter"
)

// Limits on patterns. They bound what is done to find out a pattern's charge, which happens before
// anything is paid for.
const (
	maxPattern = 4 << 10 // bytes
	maxProgram = 4 << 10 // instructions; x{1000} is a thousand
	maxGroups  = 100
	maxClasses = 16 // Unicode classes such as \pL
	maxFolded  = 512 << 10
)

// What patterns charge.
const (
	parseFuel    = 8        // a byte of a pattern
	classFuel    = 16 << 10 // a Unicode class
	foldFuel     = 5        // a character of a range that ignores case
	compileFuel  = 128      // a pattern
	programFuel  = 32       // an instruction
	programBytes = 192      // an instruction
	groupBytes   = 32       // an instruction and group
	stepShare    = 32       // 24 of 32 fuel an instruction and byte of text, and one more a group
	matchFuel    = 16       // to start a search
)

// pattern is a compiled expression and what its charge needs to know. It is immutable.
type pattern struct {
	re     *regexp.Regexp
	after  func() *regexp.Regexp // one character of context, anything, and the expression as group 1
	insts  int64
	groups int64
	min    int    // bytes of the shortest match, at least 0
	max    int    // bytes of the longest match, -1 without an end
	prefix string // begins every match
	whole  bool   // prefix is every match
}

// compilePattern parses first and looks at the size of the program before it is built.
func compilePattern(text string) (*pattern, error) {
	if len(text) > maxPattern {
		return nil, fmt.Errorf("the pattern has %d bytes, want at most %d", len(text), maxPattern)
	}
	if classes, folded := wide(text); classes > maxClasses || folded > maxFolded {
		return nil, fmt.Errorf("the pattern has too many large character classes; %d of \\p{...} are allowed, and fewer long ranges that ignore case", maxClasses)
	}
	return compileExpression(text)
}

func compileExpression(text string) (*pattern, error) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, badPattern(err)
	}
	size := programSize(tree) + 2 // one that fails and one that matches
	if size > maxProgram {
		return nil, fmt.Errorf("the pattern needs more than %d steps; use smaller repeat counts", maxProgram)
	}
	groups := tree.MaxCap()
	if groups > maxGroups {
		return nil, fmt.Errorf("the pattern has %d groups, want at most %d; (?:...) groups without counting", groups, maxGroups)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, badPattern(err)
	}
	p := &pattern{re: re, insts: int64(size), groups: int64(groups), min: shortest(tree), max: longest(tree)}
	p.prefix, p.whole = re.LiteralPrefix()
	p.after = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\A(?s:.)(?s:.*?)(` + text + `)`)
	})
	return p, nil
}

// badPattern keeps the cause short: Go's own error holds the whole pattern.
func badPattern(err error) error {
	var bad *syntax.Error
	if !errors.As(err, &bad) {
		return fmt.Errorf("bad pattern: %w", err)
	}
	what := bad.Expr
	if len(what) > 40 {
		what = what[:40] + "..."
	}
	return fmt.Errorf("bad pattern: %s: %q", bad.Code, what)
}

// wide counts what makes parsing slow: Unicode classes with their hundreds of ranges, and the
// characters of ranges that ignore case, which the parser folds one at a time. It sees the text only,
// and errs upwards.
func wide(text string) (classes, folded int64) {
	classes = int64(strings.Count(text, `\p`) + strings.Count(text, `\P`))
	if !ignoresCase(text) {
		return classes, 0
	}
	for i := range len(text) {
		switch text[i] {
		case '-':
			low, _ := utf8.DecodeLastRuneInString(text[:i])
			if low < utf8.RuneSelf { // perhaps the end of an escape
				low = 0
			}
			if high := rangeEnd(text[i+1:]); high > low {
				folded += int64(high-low) + min(int64(high)/2, 64)
			}
		case '\\', '^': // \W and [:^word:] are folded as some ranges
			folded += 64
		}
	}
	return classes, folded
}

// rangeEnd is the character that s begins with, as in a class.
func rangeEnd(s string) rune {
	digits, escaped := strings.CutPrefix(s, `\x{`)
	if !escaped {
		c, _ := utf8.DecodeRuneInString(s)
		return c
	}
	digits, _, _ = strings.Cut(digits, "}")
	c, err := strconv.ParseUint(digits, 16, 31)
	if err != nil {
		return unicode.MaxRune
	}
	return rune(min(c, unicode.MaxRune))
}

// ignoresCase reports whether a flag group switches case off, anywhere.
func ignoresCase(text string) bool {
	for {
		_, rest, found := strings.Cut(text, "(?")
		if !found {
			return false
		}
		flags := rest[:len(rest)-len(strings.TrimLeft(rest, "imsU-"))]
		if strings.Contains(flags, "i") {
			return true
		}
		text = rest
	}
}

// parseCost is the charge of looking at a pattern; it depends on the text alone.
func parseCost(text string) meter.Cost {
	if len(text) > maxPattern {
		return charge(0, 1, 0)
	}
	c := charge(0, 1, int64(len(text)))
	c.Fuel += int64(len(text)) * parseFuel
	if classes, folded := wide(text); classes <= maxClasses && folded <= maxFolded {
		c.Fuel += classes*classFuel + folded*foldFuel
	}
	return c
}

// programCost is the charge of compiling, and of the memory of a search.
func (p *pattern) programCost() meter.Cost {
	return meter.Cost{Fuel: compileFuel + p.insts*programFuel, Bytes: p.insts * (programBytes + p.groups*groupBytes)}
}

// stepFuel is the charge of the matcher over so many bytes of text. Each instruction can be alive at
// each byte, and carries the places of the groups with it where those are asked for.
func (p *pattern) stepFuel(bytes int64, groups bool) int64 {
	share := int64(24)
	if groups {
		share += p.groups
	}
	return meter.Mul(meter.Mul(bytes, p.insts), share) / stepShare
}

// reach is what a search of one text can come to.
type reach struct {
	span    int64 // bytes that the matcher can look at
	windows bool  // looking at a window behind each occurrence of the prefix is enough
	matches int64 // that there can be
}

// reach looks for the prefix, which costs no more than reading the text.
func (p *pattern) reach(text string) reach {
	n := int64(len(text)) + 1
	all := reach{span: n, matches: n / int64(max(p.min, 1))}
	if p.prefix == "" {
		return all
	}
	first := strings.Index(text, p.prefix)
	if first < 0 {
		return reach{windows: true}
	}
	all.span -= int64(first)
	if p.max < 0 {
		return all
	}
	for at, places := first, int64(1); ; places++ {
		span := places * int64(p.window())
		if span >= all.span {
			return all
		}
		next := strings.Index(text[at+1:], p.prefix)
		if next < 0 {
			return reach{span, true, min(all.matches, places)}
		}
		at += 1 + next
	}
}

// window is the bytes after an occurrence of the prefix that can decide about a match there, one
// character of context on either side included.
func (p *pattern) window() int { return p.max + 2*utf8.UTFMax }

// The following walk the parse tree. Its depth is bounded by the parser.

// programSize is an upper bound of the instructions, in time linear in the tree.
func programSize(re *syntax.Regexp) int {
	size := 0
	for _, sub := range re.Sub {
		size += programSize(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		size += len(re.Rune)
	case syntax.OpAlternate:
		size += len(re.Sub)
	case syntax.OpCapture, syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		size += 2
	case syntax.OpRepeat:
		if re.Max < 0 {
			size = max(re.Min, 1)*size + 2
		} else {
			size = re.Min*size + (re.Max-re.Min)*(size+1)
		}
	}
	return min(max(size, 1), 1<<20) // nested repeats multiply; what is above the limit is refused anyway
}

// shortest is a lower bound of a match in bytes.
func shortest(re *syntax.Regexp) int {
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1
	case syntax.OpCapture, syntax.OpPlus:
		return shortest(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min * shortest(re.Sub[0])
	case syntax.OpConcat:
		sum := 0
		for _, sub := range re.Sub {
			sum += shortest(sub)
		}
		return sum
	case syntax.OpAlternate:
		least := shortest(re.Sub[0])
		for _, sub := range re.Sub[1:] {
			least = min(least, shortest(sub))
		}
		return least
	}
	return 0
}

// longest is an upper bound of a match in bytes, -1 if there is none.
func longest(re *syntax.Regexp) int {
	switch re.Op {
	case syntax.OpLiteral:
		return utf8.UTFMax * len(re.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return utf8.UTFMax
	case syntax.OpCapture, syntax.OpQuest:
		return longest(re.Sub[0])
	case syntax.OpStar, syntax.OpPlus:
		return timesLongest(longest(re.Sub[0]), -1)
	case syntax.OpRepeat:
		return timesLongest(longest(re.Sub[0]), re.Max)
	case syntax.OpConcat, syntax.OpAlternate:
		sum := 0
		for _, sub := range re.Sub {
			n := longest(sub)
			switch {
			case n < 0:
				return -1
			case re.Op == syntax.OpConcat:
				sum += n
			default:
				sum = max(sum, n)
			}
		}
		return sum
	}
	return 0
}

func timesLongest(n, times int) int {
	switch {
	case n == 0:
		return 0
	case n < 0 || times < 0:
		return -1
	}
	return n * times
}
