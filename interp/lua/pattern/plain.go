package pattern

import "strings"

// Plain reports whether a pattern has none of the bytes that mean something.
func Plain(pattern string) bool { return !strings.ContainsAny(pattern, "^$*+?.([%-") }

// Index is where the bytes of sub begin in text, from one place on, -1 if they don't.
func Index(fuel Fuel, text, sub string, from int) (int, error) {
	m := Matcher{fuel: fuel, text: text}
	for at := from; at+len(sub) <= len(text); at++ {
		if !m.spend(1) {
			return noMatch, m.err
		}
		if sub == "" {
			return at, nil
		}
		skip := m.skip(at, len(text)-len(sub)+1, sub[0])
		if skip < 0 {
			return noMatch, m.err
		}
		at = skip
		same, ok := m.same(at, sub)
		switch {
		case !ok:
			return noMatch, m.err
		case same:
			return at, nil
		}
	}
	return noMatch, nil
}

// skip is the first place before end that has byte c, a piece at a time. It is -1 if there is none,
// or if the fuel ran out.
func (m *Matcher) skip(at, end int, c byte) int {
	for at < end {
		if !m.spend(1) {
			return noMatch
		}
		piece := min(end-at, skippedPerStep)
		if i := strings.IndexByte(m.text[at:at+piece], c); i >= 0 {
			return at + i
		}
		at += piece
	}
	return noMatch
}

// same reports whether sub is at one place, a piece at a time; not ok if the fuel ran out.
func (m *Matcher) same(at int, sub string) (same, ok bool) {
	for i := 0; i < len(sub); i += comparedPerStep {
		if !m.spend(1) {
			return false, false
		}
		end := min(i+comparedPerStep, len(sub))
		if m.text[at+i:at+end] != sub[i:end] {
			return false, true
		}
	}
	return true, true
}
