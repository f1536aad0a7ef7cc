package pattern

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/yuin/gopher-lua/pm"
)

// FuzzAgainstReference holds the matcher against the one of gopher-lua, on patterns of which both say
// that they mean the same. Left out is where that one departs from Lua 5.1: it has no %f, it takes a
// reference to an open capture or to a position, it reads sets with a bracket or a hyphen at their
// ends in its own way, and it finds faults before it matches. There it would also hang: it has no
// fuel, so texts and patterns are short.
func FuzzAgainstReference(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := &generator{rand: rand.New(rand.NewPCG(seed, 2))}
		for range 50 {
			text, pattern := g.text(), g.pattern()
			got := find(&tank{left: 1_000_000}, text, pattern)
			if want := reference(text, pattern); got != want {
				t.Fatalf("find(%q, %q) is %s, there it is %s", text, pattern, got, want)
			}
		}
	})
}

// FuzzAnyPattern gives the matcher any bytes. It must end within its fuel, the same each time, and
// with a match within the text.
func FuzzAnyPattern(f *testing.F) {
	f.Add("hello (a) world", "(%w+)%s-%b()%f[%a]%1[^%s-]?$")
	f.Add("aaaa", "a?a?a?(a*)(.-)%2b")
	f.Add("", "[%")
	f.Fuzz(func(t *testing.T, text, pattern string) {
		const most = 20_000
		first, again := &tank{left: most}, &tank{left: most}
		got := find(first, text, pattern)
		if second := find(again, text, pattern); got != second || first.used != again.used {
			t.Fatalf("%s after %d, %s after %d", got, first.used, second, again.used)
		}
		m := New(&tank{left: most}, text, pattern)
		start, end, err := m.Find(0)
		if err == nil && start >= 0 && (end < start || end > len(text)) {
			t.Fatalf("it matched from %d to %d of %d bytes", start, end, len(text))
		}
		if Plain(pattern) {
			if at, err := Index(&tank{left: most}, text, pattern, 0); err == nil && at != strings.Index(text, pattern) {
				t.Fatalf("Index is %d", at)
			}
		}
	})
}

func reference(text, pattern string) string {
	found, err := pm.Find(pattern, []byte(text), 0, 1)
	if err != nil {
		return err.Error()
	}
	if len(found) == 0 {
		return "nil"
	}
	m := found[0]
	out := fmt.Sprint(m.Capture(0)+1, " ", m.Capture(1))
	for i := 2; i < m.CaptureLength(); i += 2 {
		if m.IsPosCapture(i) {
			out += fmt.Sprint(" ", m.Capture(i))
		} else {
			out += fmt.Sprintf(" %q", text[m.Capture(i):m.Capture(i+1)])
		}
	}
	return out
}

// generator makes texts and patterns that have something to do with each other.
type generator struct {
	rand     *rand.Rand
	captures int    // made so far
	closed   []bool // which of them can be referred to
}

func (g *generator) pick(list ...string) string { return list[g.rand.IntN(len(list))] }

func (g *generator) text() string {
	var b strings.Builder
	for range g.rand.IntN(16) {
		b.WriteString(g.pick("a", "a", "b", "b", "A", "1", "(", ")", " ", "-", "%", "^", "$", "\x00", "\xff", "_"))
	}
	return b.String()
}

func (g *generator) pattern() string {
	g.captures, g.closed = 0, nil
	return g.pick("", "", "^") + g.items(2) + g.pick("", "", "$")
}

func (g *generator) items(nest int) string {
	var b strings.Builder
	for range 1 + g.rand.IntN(4) {
		b.WriteString(g.item(nest))
	}
	return b.String()
}

func (g *generator) item(nest int) string {
	switch g.rand.IntN(12) {
	case 0:
		return g.pick("%b()", "%baa", "%bab", "%b(a")
	case 1:
		g.captures, g.closed = g.captures+1, append(g.closed, false)
		return "()"
	case 2, 3:
		if nest == 0 {
			break
		}
		i := g.captures
		g.captures, g.closed = g.captures+1, append(g.closed, false)
		inner := g.items(nest - 1)
		g.closed[i] = true
		return "(" + inner + ")"
	case 4:
		if g.captures > 0 {
			if i := g.rand.IntN(g.captures); g.closed[i] && i < 9 {
				return fmt.Sprintf("%%%d", i+1)
			}
		}
	case 5, 6:
		return g.set() + g.pick("", "", "*", "+", "-", "?")
	}
	return g.pick("a", "b", "a", "b", "A", "1", " ", "_", ".", ".", "\x00", "\xff", "%a", "%A", "%d", "%s", "%S", "%w", "%W", "%p", "%P",
		"%l", "%u", "%x", "%c", "%z", "%Z", "%(", "%)", "%%", "%-", "%.", "%^", "%$", "%]") + g.pick("", "", "*", "+", "-", "?")
}

func (g *generator) set() string {
	var b strings.Builder
	b.WriteString(g.pick("[", "[", "[^"))
	for range 1 + g.rand.IntN(3) {
		b.WriteString(g.pick("a", "b", "1", "a-b", "0-9", "A-z", "%a", "%D", "%s", "%]", "%-", "%^", "%%", ".", "*", "(", "\x00", "\x80-\xff"))
	}
	return b.String() + "]"
}
