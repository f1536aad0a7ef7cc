package pattern

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

var errSpent = errors.New("spent")

// tank is so much fuel.
type tank struct{ left, used int64 }

func (t *tank) Burn(units int64) error {
	if units <= 0 {
		panic("it bought nothing")
	}
	if t.left -= units; t.left < 0 {
		return errSpent
	}
	t.used += units
	return nil
}

// find is what string.find returns, as text: start, end and captures, or the fault.
func find(fuel Fuel, text, pattern string) string {
	var start, end int
	var err error
	rest, anchored := Cut(pattern)
	m := New(fuel, text, rest)
	if anchored {
		if end, err = m.At(0); end == noMatch {
			start = noMatch
		}
	} else {
		start, end, err = m.Find(0)
	}
	if err != nil {
		return err.Error()
	}
	if start == noMatch {
		return "nil"
	}
	out := fmt.Sprint(start+1, " ", end)
	for i := range m.Captures() {
		text, at, isPosition, err := m.Capture(i, start, end)
		switch {
		case err != nil:
			return err.Error()
		case isPosition:
			out += fmt.Sprint(" ", at+1)
		default:
			out += fmt.Sprintf(" %q", text)
		}
	}
	return out
}

func TestMatches(t *testing.T) {
	deep := strings.Repeat
	for _, c := range []struct{ text, pattern, want string }{
		{"hello world", "o w", "5 7"},
		{"hello", "^hel", "1 3"},
		{"hello", "^el", "nil"},
		{"hello", "l+", "3 4"},
		{"hello", "l-o", "3 5"},
		{"hello", "x?l", "3 3"},
		{"", "", "1 0"},
		{"", "^$", "1 0"},
		{"a$", "$", "3 2"},
		{"a$b", "a$b", "1 3"},
		{"a^b", "a^b", "1 3"},
		{"key = value", "(%w+)%s*=%s*(%w+)", `1 11 "key" "value"`},
		{"abc", "()b()", "2 2 2 3"},
		{"abab", "(ab)%1", `1 4 "ab"`},
		{"abc", "()%1", "nil"},
		{"f(a(b)c)d", "%b()", "2 8"},
		{"f(a(b)c", "%b()", "4 6"},
		{"THE (quick) fox", "%f[%a]%a+%f[%A]", "1 3"},
		{"aaa", "%f[%z]", "4 3"},
		{"[]", "[]]", "2 2"},
		{"a]", "[^]]", "1 1"},
		{"a-b", "[a-]+", "1 2"},
		{"x-", "[%a-z]+", "1 2"},
		{"5", "[0-9]", "1 1"},
		{"a\x00b", "a%zb", "1 3"},
		{"a\x00b", "a\x00b", "1 3"},
		{"\xff\xfe", "[\x80-\xff]+", "1 2"},
		{"\xe9", "%w", "nil"},
		{"é", "^%A%A$", "1 2"},
		{"_", "%p", "1 1"},
		{"q", "%q", "1 1"},
		{"Q", "%Q", "1 1"},
		{"a*", "%a%*", "1 2"},
		{"**", "**", "1 2"},
		{"aaa", "(a*(.)a)", `1 3 "aaa" "a"`},

		{"a", "%", "malformed pattern (ends with '%')"},
		{"a", "a%", "malformed pattern (ends with '%')"},
		{"b", "a%", "nil"},
		{"a", "[", "malformed pattern (missing ']')"},
		{"a", "[]", "malformed pattern (missing ']')"},
		{"a", "[^]", "malformed pattern (missing ']')"},
		{"a", "[a%", "malformed pattern (missing ']')"},
		{"a", "[a%]", "malformed pattern (missing ']')"},
		{"a", "%f", "missing '[' after '%f' in pattern"},
		{"a", "%fa", "missing '[' after '%f' in pattern"},
		{"a", "%f[a", "malformed pattern (missing ']')"},
		{"a", "%b", "unbalanced pattern"},
		{"a", "%b(", "unbalanced pattern"},
		{"a", "(a", "unfinished capture"},
		{"a", "a)", "invalid pattern capture"},
		{"a", "%1", "invalid capture index"},
		{"a", "(%1)", "invalid capture index"},
		{"a", "(a)%2", "invalid capture index"},
		{"a", "%0", "invalid capture index"},
		{"a", deep("()", 32) + "a", "1 1" + deep(" 1", 32)},
		{"a", deep("()", 33), "too many captures"},
		{"a", deep("(", 33), "too many captures"},
		{"a", deep("a?", 199), "1 1"},
		{"a", deep("a?", 300), "1 1"},
		{"a", deep("a*", 300), "pattern too complex"},
		{deep("a", 300), deep("a?", 300), "pattern too complex"},
	} {
		got := find(&tank{left: 100_000}, c.text, c.pattern)
		if got != c.want {
			t.Errorf("find(%q, %q) is %s, want %s", c.text, c.pattern, got, c.want)
		}
	}
}

func TestIndex(t *testing.T) {
	long := strings.Repeat("ab", 500)
	for _, c := range []struct {
		text, sub string
		from      int
	}{
		{"", "", 0}, {"abc", "", 1}, {"abc", "", 3}, {"abc", "c", 0}, {"abc", "abc", 0}, {"abc", "abcd", 0}, {"abcabc", "abc", 1},
		{"", "a", 0}, {long, "ba", 0}, {long + "c", "abc", 0}, {long + "c", long + "c", 0}, {long, long + "a", 0},
		{long, "bb", 0}, {long + "x" + long, long, 1}, {strings.Repeat("x", 300) + "y", "y", 128},
	} {
		want := strings.Index(c.text[c.from:], c.sub)
		if want >= 0 {
			want += c.from
		}
		if got, err := Index(&tank{left: 100_000}, c.text, c.sub, c.from); got != want || err != nil {
			t.Errorf("Index(%.20q, %.20q, %d) is %d, %v, want %d", c.text, c.sub, c.from, got, err, want)
		}
	}
}

// endless are texts and patterns that a matcher without fuel would try for longer than anyone waits,
// or that are slow for their length.
var endless = map[string]struct{ text, pattern string }{
	"optional items":     {strings.Repeat("a", 28), strings.Repeat("a?", 28) + strings.Repeat("a", 29)},
	"nested lazy":        {strings.Repeat("a", 1000), strings.Repeat(".-", 50) + "b"},
	"nested greedy":      {strings.Repeat("a", 1000), strings.Repeat("a*", 50) + "b"},
	"captures":           {strings.Repeat("a", 1000), strings.Repeat("(a*)", 30) + "b"},
	"references":         {strings.Repeat("a", 100_000), "(a*)%1b"},
	"quadratic":          {strings.Repeat("a", 100_000), "a-b"},
	"balanced":           {strings.Repeat("(", 100_000), "%b()"},
	"long set":           {strings.Repeat("a", 100_000), "[" + strings.Repeat("b", 100_000) + "]"},
	"long set of ranges": {strings.Repeat("a", 100_000), "[" + strings.Repeat("b-c", 30_000) + "]"},
	"long frontier":      {strings.Repeat("a", 100_000), "%f[" + strings.Repeat("%b", 50_000) + "]"},
	"long literal":       {strings.Repeat("a", 100_000), strings.Repeat("a", 50_000) + "b"},
}

func TestFuelEndsWhatNeverEnds(t *testing.T) {
	for name, c := range endless {
		t.Run(name, func(t *testing.T) {
			first := &tank{left: 100_000}
			if got := find(first, c.text, c.pattern); got != errSpent.Error() {
				t.Errorf("got %s", got)
			}
			again := &tank{left: 100_000}
			find(again, c.text, c.pattern)
			if again.used != first.used {
				t.Errorf("it burnt %d once and %d again", first.used, again.used)
			}
		})
	}
	text, sub := strings.Repeat("a", 200_000), strings.Repeat("a", 100_000)+"b"
	if _, err := Index(&tank{left: 100_000}, text, sub, 0); !errors.Is(err, errSpent) {
		t.Errorf("Index: %v", err)
	}
}

func TestMatchingTakesNoMemory(t *testing.T) {
	text, pat := strings.Repeat("a", 10_000), "(a*)(.-)b"
	m := New(&tank{left: 100_000}, text, pat)
	allocated := testing.AllocsPerRun(1, func() {
		if _, _, err := m.Find(0); !errors.Is(err, errSpent) {
			t.Fatal(err)
		}
	})
	if allocated > 0 {
		t.Errorf("it allocated %v times", allocated)
	}
}
