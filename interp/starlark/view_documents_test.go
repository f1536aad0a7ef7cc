package starlark

import (
	"fmt"
	"strings"

	"go.starlark.net/syntax"

	"agentd/hookpoints/payload"
)

// literal makes a value of the script that holds nothing but literals.
func (g *viewer) literal(depth int) (string, *twin) {
	switch n := g.IntN(8); {
	case n == 0 && depth > 0:
		return g.object(depth)
	case n == 1 && depth > 0:
		item, is := g.literal(depth - 1)
		return "[" + item + "]", arrayTwin(true, is)
	case n < 4:
		s := g.text()
		return syntax.Quote(s, false), textTwin(s)
	}
	text := g.pick("0", "1", "-1", "2.5", "-0.0", "100.0", "1e+100", "9007199254740993", "123456789012345678901234567890", "None", "True", "False")
	switch text {
	case "None":
		return text, nullTwin()
	case "True", "False":
		return text, boolTwin(text == "True")
	}
	return "(" + text + ")", &twin{kind: payload.Number, src: text}
}

func (g *viewer) object(depth int) (string, *twin) {
	out := objectTwin(true)
	var parts []string
	for range g.IntN(4) {
		key := g.pick("a", "b", "k", "é", "", "get")
		if out.get(key) == nil {
			e, is := g.literal(depth - 1)
			out.set(key, is)
			parts = append(parts, syntax.Quote(key, false)+": "+e)
		}
	}
	return "{" + strings.Join(parts, ", ") + "}", out
}

func (g *viewer) text() string {
	if g.IntN(10) == 0 {
		return strings.Repeat(g.pick("long ", "é", "\"", "\n", "\u2028"), g.IntN(40))
	}
	return g.pick("", "a", "b", "role", "{", `"`, `\`, "\n", "é", "😀", "\u2028", "</b>", "\x00", "1", "null", "items", "get", "a b", "\x7f", "\ufffd")
}

// document writes JSON the way people and programs do.
func (g *viewer) document(depth int) string {
	var b strings.Builder
	if g.IntN(6) == 0 {
		g.deep(&b, 5+g.IntN(22))
	} else {
		g.write(&b, depth, payload.Object)
	}
	return g.space() + b.String() + g.space()
}

// deep writes an object that nests deep, with more of it on the way down, or at its end.
func (g *viewer) deep(b *strings.Builder, levels int) {
	if levels == 0 {
		g.items(b, "[", "]", g.IntN(200), func(int) { g.write(b, 2, 0) })
		return
	}
	b.WriteString("{" + g.space())
	if g.IntN(4) == 0 {
		b.WriteString(`"before":` + g.space())
		g.write(b, 2, 0)
		b.WriteString(g.space() + ",")
	}
	g.quote(b, g.pick("in", "[", "}", `"`))
	b.WriteString(g.space() + ":" + g.space())
	list := g.IntN(2) == 0
	if list {
		b.WriteString(g.pick("[", "[[],", "[ 1 ,"))
	}
	g.deep(b, levels-1)
	if list {
		b.WriteString(g.pick("]", " , {}]", `,"]"]`))
	}
	if g.IntN(4) == 0 {
		b.WriteString(`,"after":`)
		g.write(b, 2, 0)
	}
	b.WriteString(g.space() + "}")
}

func (g *viewer) space() string { return g.pick("", "", "", " ", "\n\t", "\r\n  ") }

func (g *viewer) write(b *strings.Builder, depth int, kind payload.Kind) {
	if kind == 0 {
		kind = payload.Null << g.IntN(6)
		if depth == 0 && kind >= payload.Array {
			kind = payload.Number
		}
	}
	switch kind {
	case payload.Null:
		b.WriteString("null")
	case payload.Bool:
		b.WriteString(g.pick("true", "false"))
	case payload.Number:
		b.WriteString(g.number())
	case payload.String:
		g.quote(b, g.text())
	case payload.Array:
		g.items(b, "[", "]", g.many(6), func(int) { g.write(b, depth-1, 0) })
	case payload.Object:
		seen := map[string]bool{}
		g.items(b, "{", "}", g.many(6), func(i int) {
			name := g.text()
			if g.IntN(3) == 0 {
				name = g.pick("name", "arguments", "limit", "messages", "value")
			}
			if seen[name] {
				name = fmt.Sprint(name, "#", i)
			}
			seen[name] = true
			g.quote(b, name)
			b.WriteString(g.space() + ":" + g.space())
			g.write(b, depth-1, 0)
		})
	}
}

// many is how many items a container has, now and then so many that they are indexed.
func (g *viewer) many(most int) int {
	if g.IntN(8) == 0 {
		most *= 4
	}
	return g.IntN(most)
}

func (g *viewer) items(b *strings.Builder, open, shut string, n int, item func(int)) {
	b.WriteString(open + g.space())
	for i := range n {
		if i > 0 {
			b.WriteString("," + g.space())
		}
		item(i)
		b.WriteString(g.space())
	}
	b.WriteString(shut)
}

func (g *viewer) number() string {
	if g.IntN(2) == 0 {
		return g.pick("0", "-0", "1", "-1", "100", "1.0", "2.50", "-0.0", "1e2", "1E+2", "1e-2", "0.1", "1e400", "-1E400", "1e-400", "9007199254740993", "9007199254740993.0", "9223372036854775808", "-9223372036854775808",
			"123456789012345678901234567890", "1.7976931348623157e308", "5e-324", strings.Repeat("9", 399+g.IntN(4)), "-"+strings.Repeat("8", 399+g.IntN(4)))
	}
	s := g.pick("", "-") + fmt.Sprint(g.Uint64()>>g.IntN(64))
	if g.IntN(2) == 0 {
		s += fmt.Sprintf(".%0*d", 1+g.IntN(20), g.IntN(1000))
	}
	if g.IntN(3) == 0 {
		s += g.pick("e", "E") + g.pick("", "+", "-") + fmt.Sprint(g.IntN(330))
	}
	return s
}

// quote writes a string with any escapes that it may have.
func (g *viewer) quote(b *strings.Builder, s string) {
	b.WriteByte('"')
	for _, r := range s {
		switch escape := r < ' ' || r == '"' || r == '\\' || g.IntN(10) == 0; {
		case !escape:
			b.WriteRune(r)
		case r == '\n' && g.IntN(2) == 0:
			b.WriteString(`\n`)
		case r == '"' || r == '\\' || r == '/':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r > 0xFFFF:
			fmt.Fprintf(b, `\u%04x\u%04X`, 0xD800+(r-0x10000)>>10, 0xDC00+(r-0x10000)&0x3FF)
		default:
			fmt.Fprintf(b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
}
