package builtins

import (
	"errors"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"agentd/builtins/meter"
)

// errRescan ends a search that would take time in the square of the text. A matcher that is linear
// for one match isn't for all of them: a*b|a looks at the rest of the text before each a.
var errRescan = errors.New("the pattern reads far past its matches again and again; begin it with plain text or bound its repeats")

// slack is how many characters any search may read again.
const slack = 64

// searchCost is the charge of finding all matches: each character twice, and a start for each match
// that there can be. [pattern.search] stops where that isn't enough.
func (p *pattern) searchCost(text string, r reach) meter.Cost {
	fuel := int64(len(text))/readPerFuel + meter.Mul(r.matches, matchFuel)
	switch {
	case p.whole:
	case r.windows:
		fuel += p.stepFuel(r.span, true)
	default:
		fuel += p.stepFuel(2*r.span+slack, true)
	}
	return meter.Cost{Fuel: fuel}
}

// search returns the matches, at most most of them if that isn't negative, as Go's FindAll does,
// each with the places of its groups.
func (p *pattern) search(text string, most int) ([][]int, error) {
	if p.whole || most == 1 {
		return p.re.FindAllStringSubmatchIndex(text, most), nil
	}
	r := p.reach(text)
	s := searcher{p, text, 2*r.span + slack}
	next := s.read
	if r.windows {
		next = s.peek
	}
	var out [][]int
	for at, last := 0, -1; at <= len(text) && len(out) != most; {
		loc, err := next(at)
		if err != nil || loc == nil {
			return out, err
		}
		fresh := loc[1] != at || loc[0] != last // an empty match where the last one ended isn't one
		last = loc[1]
		if last == at {
			_, width := utf8.DecodeRuneInString(text[at:])
			at += max(width, 1)
		} else {
			at = last
		}
		if fresh {
			out = append(out, loc)
		}
	}
	return out, nil
}

// searcher finds one match after the other in a text.
type searcher struct {
	p    *pattern
	text string
	left int64 // characters that may still be read
}

// start is the expression to use from at on, and where it has to begin: one character earlier, for \b
// and the like.
func (s *searcher) start(at int) (*regexp.Regexp, int) {
	if at == 0 {
		return s.p.re, 0
	}
	_, width := utf8.DecodeLastRuneInString(s.text[:at])
	return s.p.after(), at - width
}

// read finds the next match from at on, and counts how far the matcher looked for it.
func (s *searcher) read(at int) ([]int, error) {
	if s.p.prefix != "" {
		i := strings.Index(s.text[at:], s.p.prefix)
		if i < 0 {
			return nil, nil
		}
		at += i
	}
	re, from := s.start(at)
	r := runes{text: s.text[from:]}
	loc := re.FindReaderSubmatchIndex(&r)
	const context = 3 // the character before, the one after, and the end
	if s.left -= max(r.count-context, 0); s.left < 0 {
		return nil, errRescan
	}
	return place(loc, from, at > 0), nil
}

// peek looks at each occurrence of the prefix from at on, and no further than a match can reach.
func (s *searcher) peek(at int) ([]int, error) {
	for {
		i := strings.Index(s.text[at:], s.p.prefix)
		if i < 0 {
			return nil, nil
		}
		at += i
		re, from := s.start(at)
		loc := re.FindStringSubmatchIndex(s.text[from:min(at+s.p.window()-utf8.UTFMax, len(s.text))])
		if loc = place(loc, from, at > 0); loc != nil && loc[0] == at {
			return loc, nil
		}
		at++ // a match that begins further on may have been cut off: it is looked at in its turn
	}
}

// place moves the places of a match to those in the whole text, and drops the match of the context.
func place(loc []int, from int, context bool) []int {
	if loc == nil {
		return nil
	}
	if context {
		loc = loc[2:]
	}
	for i := range loc {
		if loc[i] >= 0 {
			loc[i] += from
		}
	}
	return loc
}

// runes reads a text as a matcher over a string does, and counts.
type runes struct {
	text  string
	count int64
}

func (r *runes) ReadRune() (rune, int, error) {
	r.count++
	if r.text == "" {
		return 0, 0, io.EOF
	}
	c, width := utf8.DecodeRuneInString(r.text)
	r.text = r.text[width:]
	return c, width, nil
}
