// Package pattern matches Lua 5.1 patterns. It burns fuel before each piece of work, never goes
// deeper than a fixed depth, and takes no memory that grows with the text: a pattern that would try
// for hours spends its budget in milliseconds.
//
// It behaves as the reference manual and its C library say, %f included, with three differences. A
// zero byte in a pattern is a byte like others. A pattern whose items nest more than [MaxDepth] deep
// is refused. Faults of a pattern are found where the reference finds them, when matching comes to
// them, but never by reading beyond its end.
package pattern

import "errors"

const (
	// MaxCaptures is how many captures a pattern may have.
	MaxCaptures = 32
	// MaxDepth is how many items of a pattern may be tried within each other. An item with one of
	// ?, *, + or -, and each end of a capture, counts one.
	MaxDepth = 200
)

// What a match costs, in steps of about 3 ns, of which one unit of fuel buys so many.
const (
	stepsPerFuel = 5
	packet       = 4 // units that are bought at once

	matchSteps      = 3   // going one deeper
	itemSteps       = 2   // an item that is tried
	singleSteps     = 1   // a byte that is held against a single item
	setBytesPerStep = 2   // of a set that are looked at
	comparedPerStep = 64  // bytes of two texts that are held against each other
	skippedPerStep  = 128 // bytes that are passed over, looking for one
)

// Fuel pays for matching. An error of Burn ends the match, and comes back from it as it is.
type Fuel interface{ Burn(units int64) error }

// Faults of patterns, worded as the reference words them.
var (
	errEndsWithPercent = errors.New("malformed pattern (ends with '%')")
	errMissingBracket  = errors.New("malformed pattern (missing ']')")
	errFrontier        = errors.New("missing '[' after '%f' in pattern")
	errUnbalanced      = errors.New("unbalanced pattern")
	errCaptureIndex    = errors.New("invalid capture index")
	errCaptureClose    = errors.New("invalid pattern capture")
	errManyCaptures    = errors.New("too many captures")
	errUnfinished      = errors.New("unfinished capture")
	errTooComplex      = errors.New("pattern too complex")
)

// Matcher finds a pattern in a text. Make it with New; it is for one goroutine.
type Matcher struct {
	text, pattern string
	fuel          Fuel
	left          int // steps that are paid for
	depth         int
	err           error
	level         int // captures so far
	captures      [MaxCaptures]capture
}

// capture is a part of the text. Its length may be one of the marks below.
type capture struct{ start, size int }

const (
	open     = -1 // its end isn't reached yet
	position = -2 // an empty one, which stands for where it is
)

// New makes a matcher. A "^" at the start of the pattern is a byte like others for it, see [Cut].
func New(fuel Fuel, text, pattern string) *Matcher {
	return &Matcher{fuel: fuel, text: text, pattern: pattern}
}

// Cut takes the anchor off a pattern that begins with "^".
func Cut(pattern string) (rest string, anchored bool) {
	if pattern != "" && pattern[0] == '^' {
		return pattern[1:], true
	}
	return pattern, false
}

// At matches at one place of the text, from 0 to its length, and returns the end of the match, -1 if
// there is none.
func (m *Matcher) At(start int) (end int, err error) {
	m.level, m.depth, m.err = 0, 0, nil
	if end = m.match(start, 0); end == failed {
		return noMatch, m.err
	}
	return end, nil
}

// Find matches at the first place where it can, from one place on. It returns -1, -1 if there is none.
func (m *Matcher) Find(from int) (start, end int, err error) {
	for s := from; s <= len(m.text); s++ {
		if end, err = m.At(s); end != noMatch || err != nil {
			if err != nil {
				s = noMatch
			}
			return s, end, err
		}
	}
	return noMatch, noMatch, nil
}

// Captures is how many captures the last match has.
func (m *Matcher) Captures() int { return m.level }

// Capture is the text of capture i of the last match, from 0 up, or, if it is a position capture, its
// place, from 0 up. The only capture of a pattern that has none is the whole match, from start to end.
func (m *Matcher) Capture(i, start, end int) (text string, at int, isPosition bool, err error) {
	if i >= m.level {
		if i != 0 {
			return "", 0, false, errCaptureIndex
		}
		return m.text[start:end], 0, false, nil
	}
	switch c := m.captures[i]; c.size {
	case open:
		return "", 0, false, errUnfinished
	case position:
		return "", c.start, true, nil
	default:
		return m.text[c.start : c.start+c.size], 0, false, nil
	}
}

// spend takes steps, and buys more when they are used up. It reports whether there were enough.
func (m *Matcher) spend(steps int) bool {
	m.left -= steps
	return m.left >= 0 || m.buy()
}

func (m *Matcher) buy() bool {
	units := max(packet, (-m.left+stepsPerFuel-1)/stepsPerFuel)
	if err := m.fuel.Burn(int64(units)); err != nil {
		m.err = err
		return false
	}
	m.left += units * stepsPerFuel
	return true
}

// fail ends the match.
func (m *Matcher) fail(err error) int {
	m.err = err
	return failed
}
