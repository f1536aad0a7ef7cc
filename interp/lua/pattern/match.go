package pattern

// What match returns beside the end of a match.
const (
	noMatch = -1
	failed  = -2 // m.err says why
)

// match matches the pattern from p on against the text from s on, and returns where that ends.
func (m *Matcher) match(s, p int) int {
	if m.depth++; m.depth > MaxDepth {
		return m.fail(errTooComplex)
	}
	if !m.spend(matchSteps) {
		return failed
	}
	end := m.items(s, p)
	m.depth--
	return end
}

// items goes through the items of the pattern as long as there is only one way to go.
func (m *Matcher) items(s, p int) int {
	for {
		if !m.spend(itemSteps) {
			return failed
		}
		if p == len(m.pattern) {
			return s
		}
		switch m.pattern[p] {
		case '(':
			if p+1 < len(m.pattern) && m.pattern[p+1] == ')' {
				return m.begin(s, p+2, position)
			}
			return m.begin(s, p+1, open)
		case ')':
			return m.finish(s, p+1)
		case '$':
			if p+1 == len(m.pattern) {
				if s == len(m.text) {
					return s
				}
				return noMatch
			}
		case '%':
			next, size, special := m.special(s, p)
			if special {
				if next < 0 {
					return next
				}
				s, p = next, p+size
				continue
			}
		}
		item := m.item(p)
		if item < 0 {
			return failed
		}
		suffix := byte(0)
		if item < len(m.pattern) {
			suffix = m.pattern[item]
		}
		switch suffix {
		case '*':
			return m.most(s, p, item, 0)
		case '+':
			return m.most(s, p, item, 1)
		case '-':
			return m.least(s, p, item)
		}
		ok := m.single(s, p, item)
		if m.err != nil {
			return failed
		}
		if suffix == '?' {
			if ok {
				if end := m.match(s+1, item+1); end != noMatch {
					return end
				}
			}
			p = item + 1
			continue
		}
		if !ok {
			return noMatch
		}
		s, p = s+1, item
	}
}

// special matches %b, %f and %1 to %9. It returns where the text goes on, and how long the item is.
func (m *Matcher) special(s, p int) (next, size int, special bool) {
	if p+1 == len(m.pattern) {
		return 0, 0, false
	}
	switch c := m.pattern[p+1]; {
	case c == 'b':
		return m.balanced(s, p+2), 4, true
	case c == 'f':
		end := m.frontier(s, p+2)
		if end < 0 {
			return end, 0, true
		}
		return s, end - p, true
	case '0' <= c && c <= '9':
		return m.again(s, int(c)-'1'), 2, true
	}
	return 0, 0, false
}

// most matches as many of an item as there are, and gives back one by one.
func (m *Matcher) most(s, p, item, least int) int {
	end := s
	for m.single(end, p, item) {
		end++
	}
	if m.err != nil {
		return failed
	}
	for ; end-s >= least; end-- {
		if end := m.match(end, item+1); end != noMatch {
			return end
		}
	}
	return noMatch
}

// least matches as few of an item as will do.
func (m *Matcher) least(s, p, item int) int {
	for {
		if end := m.match(s, item+1); end != noMatch {
			return end
		}
		if !m.single(s, p, item) {
			if m.err != nil {
				return failed
			}
			return noMatch
		}
		s++
	}
}

func (m *Matcher) begin(s, p, size int) int {
	if m.level == MaxCaptures {
		return m.fail(errManyCaptures)
	}
	m.captures[m.level] = capture{s, size}
	m.level++
	end := m.match(s, p)
	if end == noMatch {
		m.level--
	}
	return end
}

func (m *Matcher) finish(s, p int) int {
	for i := m.level - 1; i >= 0; i-- {
		if c := &m.captures[i]; c.size == open {
			c.size = s - c.start
			end := m.match(s, p)
			if end == noMatch {
				c.size = open
			}
			return end
		}
	}
	return m.fail(errCaptureClose)
}

// again matches the text of an earlier capture. A position has none, and is nowhere.
func (m *Matcher) again(s, i int) int {
	if i < 0 || i >= m.level || m.captures[i].size == open {
		return m.fail(errCaptureIndex)
	}
	c := m.captures[i]
	if c.size == position || c.size > len(m.text)-s {
		return noMatch
	}
	if !m.spend(c.size / comparedPerStep) {
		return failed
	}
	if m.text[s:s+c.size] != m.text[c.start:c.start+c.size] {
		return noMatch
	}
	return s + c.size
}

// balanced matches from an opening byte to the closing one that belongs to it. P is where the two are.
func (m *Matcher) balanced(s, p int) int {
	if p+1 >= len(m.pattern) {
		return m.fail(errUnbalanced)
	}
	opening, closing := m.pattern[p], m.pattern[p+1]
	if s == len(m.text) || m.text[s] != opening {
		return noMatch
	}
	depth := 1
	for s++; s < len(m.text); s++ {
		if !m.spend(1) {
			return failed
		}
		switch m.text[s] {
		case closing:
			if depth--; depth == 0 {
				return s + 1
			}
		case opening:
			depth++
		}
	}
	return noMatch
}

// frontier matches between a byte that isn't in a set and one that is; beyond its ends the text has
// zero bytes. It returns the end of the set at p.
func (m *Matcher) frontier(s, p int) int {
	if p == len(m.pattern) || m.pattern[p] != '[' {
		return m.fail(errFrontier)
	}
	end := m.item(p)
	if end < 0 {
		return failed
	}
	before, after := byte(0), byte(0)
	if s > 0 {
		before = m.text[s-1]
	}
	if s < len(m.text) {
		after = m.text[s]
	}
	ok := !m.inSet(before, p, end-1) && m.inSet(after, p, end-1)
	switch {
	case m.err != nil:
		return failed
	case !ok:
		return noMatch
	}
	return end
}
