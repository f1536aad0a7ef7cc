package starlark

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"go.starlark.net/syntax"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
	"agentd/interp/interptest"
)

// FuzzView makes random documents and scripts that look at them, and holds every answer against what
// encoding/json says. A document comes from the seed, or is the one given if it is one.
func FuzzView(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(seed, "")
	}
	for _, doc := range []string{
		interptest.Payload,
		`{"a":{"b":[1,2.50,-0,-0.0,1e400,1E2]},"get":1,"items":[[]],"":{"":null}}`,
		` { "\u0061" : "\ud83d\ude00\n" , "b":[ 1 , {"x" : 1.0 } ] } `,
		`{"1":1,"2":2,"3":3,"4":4,"5":5,"6":6,"7":7,"8":8,"9":9,"10":{"11":[[[[[]]]]]}}`,
		`{"n":123456789012345678901234567890,"m":9007199254740993,"f":9007199254740993.0,"x":0.1,"y":1e-400,"z":1.7976931348623157e308}`,
	} {
		f.Add(uint64(1), doc)
		f.Add(uint64(2), doc)
	}
	f.Fuzz(func(t *testing.T, seed uint64, doc string) {
		g := &viewer{Rand: rand.New(rand.NewPCG(seed, 2))}
		if doc == "" {
			doc = g.document(1 + g.IntN(4))
		}
		v, err := payload.ParseString(doc)
		if err != nil || v.Kind() != payload.Object || len(doc) > 16<<10 {
			return
		}
		for range 2 {
			g.script(t, v, strings.Trim(doc, " \t\r\n"))
		}
		g.trees(t, v, twinOf(strings.Trim(doc, " \t\r\n")))
	})
}

// viewer makes scripts together with what they must come to.
type viewer struct {
	*rand.Rand
	body strings.Builder
	vars []variable // what the script has
	want []*twin    // what it must append to out
	say  []string   // how it does so
}

type variable struct {
	name string
	twin *twin
}

func (g *viewer) pick(list ...string) string { return list[g.IntN(len(list))] }

// script runs a hook on a document, twice, and checks what it responds with, what it patches, and
// that the document is as it was.
func (g *viewer) script(t *testing.T, v payload.Value, doc string) {
	root := twinOf(doc)
	g.body.Reset()
	g.vars, g.want, g.say = []variable{{"call", root}}, nil, nil
	for range 3 + g.IntN(12) {
		g.step()
	}
	patch, fields := g.patch()
	text := "def run(ctx, call):\n    out = []\n" + g.body.String() + "    return [respond(out), patch(**" + patch + ")]\n\nhook(id = \"h\", version = \"1\", run = run)\n"

	limits := meter.Limits{Fuel: 1 << 30, Bytes: 1 << 32}
	defs, err := New().Load(context.Background(), interp.Source{Name: "f.star", Text: []byte(text)}, nil, limits)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	call := interptest.Call(t, "{}", payload.NewObject())
	call.Payload = v
	list, use, err := defs[0].Hook.Decide(context.Background(), call)
	if err != nil && strings.Contains(err.Error(), "nests too deeply") && slices.ContainsFunc(append(g.want, fields), func(w *twin) bool { return w.depth() >= hookpoints.MaxResultDepth }) {
		return
	}
	if err != nil {
		t.Fatalf("%v\n%s\non %s", err, text, doc)
	}
	got := list[0].Value
	for i, want := range g.want {
		if i >= got.Len() || got.At(i).String() != want.json() {
			t.Fatalf("%s gives %.2000s\nencoding/json says %.2000s\non %s\n%s", g.say[i], got.At(i), want.json(), doc, text)
		}
	}
	after, want := v.With(list[1].Fields...), root.with(fields)
	if after.String() != want.json() || after.Size() != len(want.json()) || got.Len() != len(g.want) {
		t.Fatalf("the patch makes %s of %s\nwant %s", after, doc, want.json())
	}
	if v.String() != doc {
		t.Fatalf("%s became %s", doc, v)
	}
	again, useAgain, err := defs[0].Hook.Decide(context.Background(), call)
	if err != nil || use != useAgain || shown(again) != shown(list) {
		t.Fatalf("twice: %v, %+v and then %+v\n%s", err, use, useAgain, text)
	}
}

// patch makes the operand of patch, and its fields.
func (g *viewer) patch() (text string, fields *twin) {
	fields = objectTwin(true)
	var parts []string
	for range g.IntN(4) {
		key := g.key(g.vars[0].twin)
		if fields.get(key) != nil {
			continue
		}
		e, twin := g.expr(2)
		fields.set(key, twin)
		parts = append(parts, syntax.Quote(key, false)+": "+e)
	}
	return "{" + strings.Join(parts, ", ") + "}", fields
}

func (g *viewer) line(format string, args ...any) {
	fmt.Fprintf(&g.body, "    "+format+"\n", args...)
}

// check makes the script append an answer, and remembers what it must be.
func (g *viewer) check(text string, want *twin) {
	g.line("out.append(%s)", text)
	g.want, g.say = append(g.want, want), append(g.say, text)
}

func (g *viewer) define(text string, is *twin) variable {
	v := variable{fmt.Sprintf("x%d", len(g.vars)), is}
	g.line("%s = %s", v.name, text)
	g.vars = append(g.vars, v)
	return v
}

// step adds a statement or two.
func (g *viewer) step() {
	e, is := g.expr(2)
	switch g.IntN(10) {
	case 0, 1:
		v := g.define(e, is)
		g.check(v.name, v.twin)
	case 2:
		g.check("json.encode("+e+")", textTwin(is.frozen().compact()))
	case 3:
		g.check("repr("+e+")", textTwin(is.repr()))
		g.check("type("+e+")", textTwin(is.typ()))
		g.check("bool("+e+")", boolTwin(is.truth()))
	case 4:
		other, twin := g.expr(2)
		if g.IntN(3) == 0 {
			other, twin = "json.decode(json.encode("+e+"))", twinOf(is.frozen().compact())
		}
		g.check(e+" == "+other, boolTwin(is.equals(twin)))
		g.check(e+" != "+other, boolTwin(!is.equals(twin)))
	case 5:
		if is.container() {
			g.check("len("+e+")", intTwin(len(is.level().kids)))
		}
		if is.kind == payload.Array {
			item, twin := g.expr(1)
			if n := len(is.kids); n > 0 && g.IntN(2) == 0 {
				item, twin = fmt.Sprintf("%s[%d]", e, n-1), is.kids[n-1]
			}
			g.check("("+item+" in "+e+")", boolTwin(slices.ContainsFunc(is.kids, twin.equals)))
		}
		if is.kind == payload.Object {
			key := g.key(is)
			g.check(syntax.Quote(key, false)+" in "+e, boolTwin(is.get(key) != nil))
			if k, twin := g.expr(1); twin.kind&(payload.Array|payload.Object) == 0 && twin.typ() != "number" {
				g.check("("+k+") in "+e, boolTwin(twin.kind == payload.String && is.get(twin.text) != nil))
			}
		}
	case 6:
		g.loop(e, is)
	case 7:
		if is.kind == payload.Array && len(is.level().kids) > 0 && len(is.kids) < 6 {
			var names []string
			for i := range is.kids {
				names = append(names, fmt.Sprintf("y%d", i))
			}
			g.line("(%s,) = %s", strings.Join(names, ", "), e)
			i := g.IntN(len(names))
			g.check(names[i], is.kids[i].shown())
		}
	default:
		g.change(e, is)
	}
}

// loop walks a container with for.
func (g *viewer) loop(e string, is *twin) {
	seen := arrayTwin(true)
	name := fmt.Sprintf("x%d", len(g.vars))
	g.line("%s = []", name)
	switch {
	case is.kind == payload.Array:
		g.line("for y in %s:\n        %s.append(y)", e, name)
		for _, kid := range is.level().kids {
			seen.kids = append(seen.kids, kid.shown())
		}
	case is.kind == payload.Object:
		g.line("for y, z in %s.items():\n        %s.extend([y, z])", e, name)
		for i, kid := range is.level().kids {
			seen.kids = append(seen.kids, textTwin(is.keys[i]), kid.shown())
		}
	}
	g.vars = append(g.vars, variable{name, seen})
	g.check(name, seen)
}

// change makes a copy and changes it.
func (g *viewer) change(e string, is *twin) {
	if !is.container() {
		return
	}
	copied := is.copied()
	v := g.define(map[payload.Kind]string{payload.Array: "list", payload.Object: "dict"}[is.kind]+"("+e+")", copied)
	for range 1 + g.IntN(3) {
		item, twin := g.literal(2)
		if is.kind == payload.Array {
			switch n := len(copied.kids); {
			case n > 0 && g.IntN(3) == 0:
				g.line("%s[%d] = %s", v.name, n-1, item)
				copied.kids[n-1] = twin
			case n > 0 && g.IntN(3) == 0:
				g.line("%s.pop(0)", v.name)
				copied.kids = copied.kids[1:]
			default:
				g.line("%s.append(%s)", v.name, item)
				copied.kids = append(copied.kids, twin)
			}
			continue
		}
		key := g.key(is)
		switch g.IntN(4) {
		case 0:
			g.line("%s[%s] = %s", v.name, syntax.Quote(key, false), item)
			copied.set(key, twin)
		case 1:
			g.line("%s.pop(%s, None)", v.name, syntax.Quote(key, false))
			copied.drop(key)
		case 2:
			g.line("%s.setdefault(%s, %s)", v.name, syntax.Quote(key, false), item)
			if copied.get(key) == nil {
				copied.set(key, twin)
			}
		case 3:
			other := g.vars[g.IntN(len(g.vars))]
			if other.twin.kind == payload.Object && other.twin != copied {
				g.line("%s.update(%s)", v.name, other.name)
				for i, key := range other.twin.level().keys {
					copied.set(key, other.twin.kids[i].shown())
				}
			}
		}
	}
	g.check(v.name, copied)
}

// key is a name that the object has, or hasn't.
func (g *viewer) key(of *twin) string {
	if keys := of.level().keys; len(keys) > 0 && g.IntN(4) > 0 {
		return keys[g.IntN(len(keys))]
	}
	return g.pick("a", "b", "get", "items", "no such name", "", "é", "A")
}

// value is a variable, or something in it.
func (g *viewer) value() (string, *twin) {
	v := g.vars[g.IntN(len(g.vars))]
	text, is := v.name, v.twin
	for range g.IntN(4) {
		n := len(is.level().kids)
		if n == 0 || !is.container() {
			break
		}
		i := g.IntN(n)
		kid := is.kids[i]
		if is.kind == payload.Array {
			if g.IntN(2) == 0 {
				i -= n
			}
			text = fmt.Sprintf("%s[%d]", text, i)
		} else {
			key := syntax.Quote(is.keys[i], false)
			switch k := is.keys[i]; {
			case !is.own && plainName(k) && g.IntN(2) == 0:
				text += "." + k
			case !is.own && objectMethods[k] == nil && g.IntN(3) == 0:
				text = "getattr(" + text + ", " + key + ")"
			case g.IntN(2) == 0:
				text += ".get(" + key + g.pick("", ", 1") + ")"
			default:
				text += "[" + key + "]"
			}
		}
		is = kid.shown()
	}
	return text, is
}

// plainName reports whether x.k is the member of that name.
func plainName(k string) bool {
	switch k {
	case "and", "break", "continue", "def", "elif", "else", "for", "if", "in", "lambda", "load", "not", "or", "pass", "return", "as", "assert", "async", "await", "class", "del", "except", "finally", "from", "global", "import", "is", "nonlocal", "raise", "try", "while", "with", "yield":
		return false
	}
	return isIdentifier(k) && objectMethods[k] == nil
}
