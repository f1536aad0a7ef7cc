package pattern

// item returns the end of the single item at p: a byte, a class or a set.
func (m *Matcher) item(p int) int {
	c := m.pattern[p]
	p++
	switch c {
	case '%':
		if p == len(m.pattern) {
			return m.fail(errEndsWithPercent)
		}
		return p + 1
	case '[':
		return m.set(p)
	}
	return p
}

// set returns the end of the set whose first byte, after the bracket, is at p. A bracket that comes
// first is one of its bytes.
func (m *Matcher) set(p int) int {
	start := p
	if p < len(m.pattern) && m.pattern[p] == '^' {
		p++
	}
	for first := true; first || p == len(m.pattern) || m.pattern[p] != ']'; first = false {
		if p == len(m.pattern) {
			return m.fail(errMissingBracket)
		}
		if (p-start)%setBytesPerStep == 0 && !m.spend(1) {
			return failed
		}
		if m.pattern[p] == '%' && p+1 < len(m.pattern) {
			p++
		}
		p++
	}
	return p + 1
}

// single reports whether the item from p to end matches the byte at s. It pays for itself; when it
// can't, it says no and m.err is set.
func (m *Matcher) single(s, p, end int) bool {
	if s == len(m.text) || !m.spend(singleSteps) {
		return false
	}
	c := m.text[s]
	switch m.pattern[p] {
	case '.':
		return true
	case '%':
		return inClass(c, m.pattern[p+1])
	case '[':
		return m.inSet(c, p, end-1)
	}
	return m.pattern[p] == c
}

// inSet reports whether c is in the set from its bracket at p to the one at end.
func (m *Matcher) inSet(c byte, p, end int) bool {
	in := true
	p++
	if m.pattern[p] == '^' {
		in = false
		p++
	}
	start := p
	for ; p < end; p++ {
		if (p-start)%setBytesPerStep == 0 && !m.spend(1) {
			return false
		}
		switch b := m.pattern[p]; {
		case b == '%':
			p++
			if inClass(c, m.pattern[p]) {
				return in
			}
		case p+2 < end && m.pattern[p+1] == '-':
			p += 2
			if b <= c && c <= m.pattern[p] {
				return in
			}
		case b == c:
			return in
		}
	}
	return !in
}

// What bytes are, in the C locale.
const (
	lower = 1 << iota
	upper
	digit
	hex
	space
	punct
	control
	zero
)

var kinds = func() (out [256]uint8) {
	for c := range out {
		switch {
		case 'a' <= c && c <= 'z':
			out[c] = lower
		case 'A' <= c && c <= 'Z':
			out[c] = upper
		case '0' <= c && c <= '9':
			out[c] = digit | hex
		case c == ' ':
			out[c] = space
		case '\t' <= c && c <= '\r':
			out[c] = space | control
		case c < ' ' || c == 127:
			out[c] = control
		case c < 127:
			out[c] = punct
		}
		if 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' {
			out[c] |= hex
		}
	}
	out[0] |= zero
	return out
}()

// classes are the letters after % that name kinds of bytes.
var classes = [256]uint8{
	'a': lower | upper, 'c': control, 'd': digit, 'l': lower, 'p': punct, 's': space,
	'u': upper, 'w': lower | upper | digit, 'x': hex, 'z': zero,
}

// inClass reports whether c is in %class. A letter in upper case is what the one in lower case isn't;
// any other byte that names no class is itself.
func inClass(c, class byte) bool {
	if kind := classes[class]; kind != 0 {
		return kinds[c]&kind != 0
	}
	if kinds[class] == upper || kinds[class] == upper|hex {
		if kind := classes[class|0x20]; kind != 0 {
			return kinds[c]&kind == 0
		}
	}
	return c == class
}
