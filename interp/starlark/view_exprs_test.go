package starlark

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"agentd/hookpoints/payload"
)

// expr makes an expression without errors.
func (g *viewer) expr(depth int) (string, *twin) {
	if depth == 0 || g.IntN(3) == 0 {
		if g.IntN(6) == 0 {
			return g.literal(1)
		}
		return g.value()
	}
	e, is := g.expr(depth - 1)
	switch is.kind {
	case payload.Object:
		return g.ofObject(e, is, depth)
	case payload.Array:
		return g.ofArray(e, is, depth)
	}
	if g.IntN(3) == 0 {
		return "[" + e + ", " + e + "]", arrayTwin(true, is, is)
	}
	if g.IntN(3) == 0 {
		o := objectTwin(true)
		o.set("k", is)
		return `{"k": ` + e + "}", o
	}
	return e, is
}

func (g *viewer) ofObject(e string, is *twin, depth int) (string, *twin) {
	names, values := arrayTwin(true), arrayTwin(true)
	for i, kid := range is.level().kids {
		names.kids, values.kids = append(names.kids, textTwin(is.keys[i])), append(values.kids, kid.shown())
	}
	switch g.IntN(12) {
	case 0:
		return g.pick(e+".keys()", "list("+e+")", "[k for k in "+e+"]", "[k for k, _ in "+e+".items()]"), names
	case 1:
		return g.pick(e+".values()", "[x for _, x in "+e+".items()]"), values
	case 2:
		return "dict(" + e + ")", is.copied()
	case 3:
		return g.pick("{k: x for k, x in "+e+".items()}", "(lambda **kw: kw)(**"+e+")", "dict("+e+".items())", "dict(zip("+e+".keys(), "+e+".values()))"), is.copied()
	case 4:
		return "json.decode(json.encode(" + e + "))", twinOf(is.frozen().compact())
	case 5:
		slices.SortFunc(names.kids, func(a, b *twin) int { return strings.Compare(a.text, b.text) })
		return "sorted(" + g.pick(e, e+".keys()") + ")", names
	case 6:
		key := g.key(is)
		if kid := is.get(key); kid != nil {
			return e + ".get(" + syntax.Quote(key, false) + ")", kid.shown()
		}
		d, twin := g.literal(1)
		return e + ".get(" + syntax.Quote(key, false) + ", " + d + ")", twin
	case 7:
		out := is.copied()
		d, twin := g.literal(1)
		out.set("k", twin)
		return "dict(" + e + ", k = " + d + ")", out
	}
	other, twin := g.expr(depth - 1)
	if twin.kind != payload.Object {
		other, twin = g.object(1)
	}
	if is.own && twin.own {
		out := is.copied()
		for i, key := range twin.keys {
			out.set(key, twin.kids[i])
		}
		return "(" + e + " | " + other + ")", out
	}
	return "(" + e + " | " + other + ")", is.frozen().with(twin)
}

func (g *viewer) ofArray(e string, is *twin, depth int) (string, *twin) {
	n := len(is.level().kids)
	switch g.IntN(7) {
	case 0:
		return g.pick("list("+e+")", "[x for x in "+e+"]", "[x for _, x in enumerate("+e+")]", "(lambda *a: list(a))(*"+e+")"), is.copied()
	case 1:
		out := is.copied()
		slices.Reverse(out.kids)
		return "reversed(" + e + ")", out
	case 2:
		return "json.decode(json.encode(" + e + "))", twinOf(is.frozen().compact())
	case 3:
		lo, hi := g.IntN(n+2), g.IntN(n+2)
		out := arrayTwin(is.own)
		if from, to := min(lo, n), min(hi, n); from < to {
			out.kids = slices.Clone(is.kids[from:to])
		}
		return fmt.Sprintf("%s[%d:%d]", e, lo, hi), out
	case 4:
		out := arrayTwin(is.own)
		for i := n - 1; i >= 0; i -= 2 {
			out.kids = append(out.kids, is.kids[i])
		}
		return e + "[::-2]", out
	}
	other, twin := g.expr(depth - 1)
	if twin.kind != payload.Array {
		item, is := g.literal(1)
		other, twin = "["+item+"]", arrayTwin(true, is)
	}
	out := arrayTwin(is.own || twin.own)
	for _, kid := range slices.Concat(is.kids, twin.level().kids) {
		if out.own {
			kid = kid.shown()
		}
		out.kids = append(out.kids, kid)
	}
	return "(" + e + " + " + other + ")", out
}
