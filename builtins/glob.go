package builtins

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"agentd/builtins/meter"
	"agentd/hookpoints/payload"
)

// The glob module matches whole names. A glob becomes an expression of the linear matcher, so that
// no pattern can make it try again and again.
//
//	?    one character but /       [a-z]   one of these characters, never /
//	*    any characters but /      [!a-z]  one other character, never /; also [^a-z]
//	**   any characters            {a,b}   either, also nested
//	**/  any elements, also none, where an element starts
//	\c   the character c
//
// Dots are ordinary: * matches hidden names, as a guard must.
func globModule() []*Func {
	m := globFuncs{newPatterns(compileGlob)}
	return []*Func{
		New("glob.filter", "Returns the names that a glob matches, in their order.",
			[]Param{textParam("pattern"), listParam("names")}, m.cost, m.filter),
		New("glob.match", "Tells whether a glob matches a whole name, with * and ? inside one element, ** across elements, [a-z], [!a-z] and {a,b}; clean the name first.",
			[]Param{textParam("pattern"), textParam("name")}, m.cost, m.match),
	}
}

type globFuncs struct{ patterns *patterns }

func (m globFuncs) cost(args []payload.Value) meter.Cost {
	pattern := args[0].Text()
	cost := meter.Cost{Fuel: meter.Mul(min(int64(len(pattern)), maxPattern), 2*parseFuel)}
	items, text := sizes(args[1:])
	cost = plus(cost, charge(text, items+1, meter.Mul(text, 2)))
	if p, err := m.patterns.get(pattern); err == nil {
		cost = plus(cost, p.programCost())
		cost.Fuel += p.stepFuel(text+items, false) + meter.Mul(items, matchFuel)
	}
	return cost
}

func (m globFuncs) match(a []payload.Value) (payload.Value, error) {
	p, err := m.patterns.get(a[0].Text())
	if err != nil {
		return payload.Value{}, err
	}
	return payload.NewBool(p.re.MatchString(a[1].Text())), nil
}

func (m globFuncs) filter(a []payload.Value) (payload.Value, error) {
	p, err := m.patterns.get(a[0].Text())
	if err != nil {
		return payload.Value{}, err
	}
	names, err := texts(a[1], "names")
	if err != nil {
		return payload.Value{}, err
	}
	var out []payload.Value
	for i, name := range names {
		if p.re.MatchString(name) {
			out = append(out, a[1].At(i))
		}
	}
	return payload.NewArray(out), nil
}

func compileGlob(text string) (*pattern, error) {
	if len(text) > maxPattern {
		return nil, fmt.Errorf("the glob has %d bytes, want at most %d", len(text), maxPattern)
	}
	if !utf8.ValidString(text) {
		return nil, errors.New("bad glob: it is not valid UTF-8")
	}
	t := globText{rest: text, start: true}
	if err := t.translate(); err != nil {
		return nil, fmt.Errorf("bad glob: %w", err)
	}
	return compileExpression(`\A(?s:` + t.out.String() + `)\z`)
}

// globText turns a glob into an expression, from left to right.
type globText struct {
	rest  string
	out   strings.Builder
	start bool   // an element of the path starts here
	open  []bool // for each open brace, whether an element started before it
}

func (t *globText) translate() error {
	for t.rest != "" {
		c, width := utf8.DecodeRuneInString(t.rest)
		start := t.start
		t.start = false
		switch c {
		case '*':
			t.stars(start)
			continue
		case '[':
			if err := t.class(); err != nil {
				return err
			}
			continue
		case '\\':
			if t.rest = t.rest[width:]; t.rest == "" {
				return errors.New(`\ at the end stands before nothing; write \\ for the character`)
			}
			c, width = utf8.DecodeRuneInString(t.rest)
			t.literal(c)
		case '?':
			t.out.WriteString(`[^/]`)
		case '{':
			t.out.WriteString(`(?:`)
			t.open, t.start = append(t.open, start), start
		case '}':
			if len(t.open) == 0 {
				return errors.New(`} without {; write \} for the character`)
			}
			t.out.WriteString(`)`)
			t.open = t.open[:len(t.open)-1]
		default:
			if c == ',' && len(t.open) > 0 {
				t.out.WriteString(`|`)
				t.start = t.open[len(t.open)-1]
				break
			}
			t.literal(c)
		}
		t.rest = t.rest[width:]
	}
	if len(t.open) > 0 {
		return errors.New(`{ without }; write \{ for the character`)
	}
	return nil
}

// literal also notes that a slash starts an element, written plainly or with a backslash.
func (t *globText) literal(c rune) {
	t.out.WriteString(regexp.QuoteMeta(string(c)))
	t.start = c == '/'
}

func (t *globText) stars(start bool) {
	rest := strings.TrimLeft(t.rest, "*")
	switch {
	case len(t.rest)-len(rest) == 1:
		t.out.WriteString(`[^/]*`)
	case start && strings.HasPrefix(rest, "/"):
		t.out.WriteString(`(?:.*/)?`)
		rest, t.start = rest[1:], true
	default:
		t.out.WriteString(`.*`)
	}
	t.rest = rest
}

// class translates [...]. A range that spans the slash is split around it.
func (t *globText) class() error {
	unclosed := errors.New(`[ without ]; write \[ for the character`)
	rest := t.rest[1:]
	negated := strings.HasPrefix(rest, "!") || strings.HasPrefix(rest, "^")
	if negated {
		rest = rest[1:]
	}
	var ranges strings.Builder
	for first := true; ; first = false {
		if rest == "" {
			return unclosed
		}
		if rest[0] == ']' && !first {
			break
		}
		low, tail, ok := classChar(rest)
		if !ok {
			return unclosed
		}
		high := low
		if strings.HasPrefix(tail, "-") && !strings.HasPrefix(tail, "-]") {
			if high, tail, ok = classChar(tail[1:]); !ok {
				return unclosed
			}
		}
		if low > high {
			return fmt.Errorf("the range %c-%c is empty", low, high)
		}
		rest = tail
		writeRange(&ranges, low, min(high, '/'-1))
		writeRange(&ranges, max(low, '/'+1), high)
	}
	t.rest = rest[1:]
	switch {
	case negated:
		t.out.WriteString(`[^/` + ranges.String() + `]`)
	case ranges.Len() == 0: // [/] can't match inside an element
		t.out.WriteString(`[^\x{0}-\x{10FFFF}]`)
	default:
		t.out.WriteString(`[` + ranges.String() + `]`)
	}
	return nil
}

func classChar(s string) (c rune, rest string, ok bool) {
	s = strings.TrimPrefix(s, `\`)
	if s == "" {
		return 0, "", false
	}
	c, width := utf8.DecodeRuneInString(s)
	return c, s[width:], true
}

func writeRange(out *strings.Builder, low, high rune) {
	if low <= high {
		fmt.Fprintf(out, `\x{%X}-\x{%X}`, low, high)
	}
}
