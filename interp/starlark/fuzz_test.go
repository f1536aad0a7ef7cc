package starlark

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"agentd/builtins/meter"
	"agentd/interp"
)

// FuzzDialect makes random programs and holds the rewritten dialect against the interpreter as it is:
// what they print, and whether they fail, must be the same. In every other program the variable v is
// a view here and plain values there.
func FuzzDialect(f *testing.F) {
	for seed := range uint64(60) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := &generator{rand: rand.New(rand.NewPCG(seed, 1)), views: seed%2 == 1}
		for range 10 {
			text := g.program()
			ours, ourErr, spent := runHere(text, g.views)
			again, againErr, _ := runHere(text, g.views)
			if ours != again || fmt.Sprint(ourErr) != fmt.Sprint(againErr) {
				t.Fatalf("two runs differ:\n%s\n%s\n%v\n%s\n%v", text, ours, ourErr, again, againErr)
			}
			if ourErr != nil && strings.Contains(ourErr.Error(), "the interpreter failed") {
				t.Fatalf("%v\n%s", ourErr, text)
			}
			if spent || ourErr != nil && deliberate.MatchString(ourErr.Error()) {
				continue
			}
			theirs, theirErr := runThere(text)
			if theirErr != nil && theirLimits.MatchString(theirErr.Error()) {
				continue
			}
			if g.views && ourErr != nil && viewLimits.MatchString(ourErr.Error()) {
				continue
			}
			if ours != theirs || (ourErr == nil) != (theirErr == nil) {
				t.Fatalf("%s\nhere:\n%s%v\nthere:\n%s%v", text, ours, ourErr, theirs, theirErr)
			}
		}
	})
}

// What only the dialect refuses, what only the interpreter does, and what views can't.
var (
	deliberate  = regexp.MustCompile(`more than 4096 bits|nests deeper|contains itself|too long for an integer|(difference|issubset|pop|remove): unhashable`)
	theirLimits = regexp.MustCompile(`maximum recursion depth|cancelled|excessive repeat`)
	viewLimits  = regexp.MustCompile(`read-only|has no \.\w+ field or method|unknown binary op|does not support item assignment|a key is|no JSON value|it is a view`)
)

// viewText is what v holds.
const viewText = `{"a": 1, "b": [1, 2.5, "x", null, [3, 4]], "c": {"d": "text", "e": true}, "f": "some words", "g": []}`

func runHere(text string, views bool) (printed string, err error, spent bool) {
	r := newRun(context.Background(), meter.Limits{Fuel: 200_000, Bytes: 16 << 20})
	var out strings.Builder
	r.print = interp.Listener{Test: func(s string) { fmt.Fprintln(&out, s) }, Left: 1 << 20}
	v := "V = " + strings.NewReplacer("null", "None", "true", "True").Replace(viewText) + "\n"
	if views {
		v = "V = json.decode('" + viewText + "')\n"
	}
	src := interp.Source{Name: "f.star", Text: []byte(v + text)}
	r.loading = newLoading(testEnvironment(), src, nil, r.limits)
	_, err = r.loadMain(src)
	return out.String(), err, r.meter.Spent()
}

func runThere(text string) (string, error) {
	var out strings.Builder
	th := &starlark.Thread{Print: func(_ *starlark.Thread, s string) { fmt.Fprintln(&out, s) }}
	th.SetMaxExecutionSteps(1_000_000)
	v := "V = " + strings.NewReplacer("null", "None", "true", "True").Replace(viewText) + "\n"
	options := dialect
	_, err := starlark.ExecFileOptions(&options, th, "f.star", v+text, nil)
	return out.String(), err
}

// generator makes programs of which most do something: it knows types, and forgets them now and then.
type generator struct {
	rand  *rand.Rand
	views bool
}

func (g *generator) pick(list ...string) string { return list[g.rand.IntN(len(list))] }

// variables by type; v is a dict that never changes.
var variables = map[string]string{"int": "n", "str": "s", "list": "l", "dict": "d", "set": "q", "tuple": "t"}

var types = []string{"int", "str", "list", "dict", "set", "tuple", "float", "bool", "bytes"}

// program is a function that changes its variables and prints them after each step.
func (g *generator) program() string {
	var b strings.Builder
	b.WriteString("def main(v):\n")
	for _, typ := range types {
		if name := variables[typ]; name != "" {
			fmt.Fprintf(&b, "    %s = %s\n", name, g.literal(typ, 2))
		}
	}
	b.WriteString("    x, y = 1, 2\n")
	for range 2 + g.rand.IntN(6) {
		b.WriteString(g.statement("    ", 2))
		b.WriteString("    print(repr([n, s, l, d, q, t]))\n")
	}
	b.WriteString("main(V)\n")
	return b.String()
}

func (g *generator) statement(indent string, nest int) string {
	n := 12
	if nest == 0 {
		n = 9
	}
	e := func(typ string) string { return g.expr(typ, 2) }
	line := func(format string, args ...any) string { return indent + fmt.Sprintf(format, args...) + "\n" }
	switch g.rand.IntN(n) {
	case 0:
		return line("d[%s] = %s", g.key(), g.any(2))
	case 1:
		return line("d[%s] = d.get(%s, 0)", g.key(), g.key()) + line("l.append(%s)", g.any(1))
	case 2:
		typ := g.pick("int", "str", "list", "dict", "tuple")
		return line("%s %s= %s", variables[typ], map[string]string{"int": g.pick("+", "-", "*", "//", "%", "|", "&", "^", "<<", ">>"), "str": "+", "list": "+", "dict": "|", "tuple": "+"}[typ], e(typ))
	case 3:
		return line("l = l or [0]") + line("l[%s] %s= %s", g.pick("0", "-1", "len(l) - 1"), g.pick("+", "*", "|"), g.any(1))
	case 4:
		return line("n, s = %s, %s", e("int"), e("str")) + line("(x, [y, l]), t = (%s, [%s, %s]), %s", g.any(1), g.any(1), e("list"), e("tuple"))
	case 5:
		return line("%s", g.pick("l.append("+g.any(1)+")", "l.extend("+e("list")+")", "l.insert("+e("int")+", "+g.any(1)+")", "d.update("+e("dict")+")", "d.setdefault("+g.key()+", "+g.any(1)+")",
			"q.add("+g.key()+")", "q.discard("+g.key()+")", "q.update("+e("list")+")", "d.pop("+g.key()+", None)", "l.remove("+g.any(0)+")", "q.remove("+g.key()+")", "d.clear()", "q.clear()", "l.clear()"))
	case 6, 7, 8:
		typ := g.pick("int", "str", "list", "dict", "set", "tuple")
		return line("%s = %s", variables[typ], g.expr(typ, 3))
	case 9:
		return line("for x in %s:", e(g.pick("list", "dict", "set", "tuple"))) + g.statement(indent+"    ", nest-1)
	case 10:
		return line("for %s in %s:", g.pick("x, y", "(x, y)", "[x, y]", "x, d[0]"), g.pick("d.items()", "v.items()", "enumerate("+e("list")+")", "zip("+e("list")+", "+e("tuple")+")", e("list"))) + g.statement(indent+"    ", nest-1)
	}
	return line("if %s:", e("bool")) + g.statement(indent+"    ", nest-1) + line("elif %s:", g.any(1)) + g.statement(indent+"    ", nest-1) + line("else:") + g.statement(indent+"    ", nest-1)
}

func (g *generator) key() string {
	if g.rand.IntN(8) == 0 {
		return g.any(1)
	}
	return g.pick(`"a"`, `"b"`, `"f"`, `"a longer key than twelve"`, "1", "2", "1.0", "n", "s", "x", "(1, \"a\")", "(n, s)", "None", "True", "1 << 40", "b\"k\"")
}

func (g *generator) any(depth int) string { return g.expr(types[g.rand.IntN(len(types))], depth) }

func (g *generator) literal(typ string, depth int) string {
	items := func() string {
		list := make([]string, g.rand.IntN(4))
		for i := range list {
			if depth > 0 {
				list[i] = g.literal(types[g.rand.IntN(len(types))], depth-1)
			} else {
				list[i] = g.literal(g.pick("int", "str", "bool"), 0)
			}
		}
		return strings.Join(list, ", ")
	}
	switch typ {
	case "int":
		return g.pick("0", "1", "(-1)", "2", "3", "7", "100", "2147483647", "(-2147483648)", "4294967296", "(1 << 70)", "(-(1 << 64))")
	case "str":
		return g.pick(`""`, `"a"`, `"abc"`, `"a b c"`, `"a,b,,c"`, `"\u00e9\U0001f600x"`, `"Title Case"`, `"\n\t\"q"`, `"12"`, `"-0x1f"`)
	case "float":
		return g.pick("0.5", "(-2.5)", "1e10", "3.0", "1e300", "0.0", "2.0")
	case "bool":
		return g.pick("True", "False", "None")
	case "bytes":
		return g.pick(`b""`, `b"ab"`, `b"\xff\x00"`)
	case "list":
		return "[" + items() + "]"
	case "tuple":
		return g.pick("()", "(1, \"a\")", "(2,)", "tuple(["+items()+"])")
	case "dict":
		return g.pick("{}", `{"a": 1, "b": [2]}`, `{1: "x", (1, 2): None, "long key of the dict": {}}`, `{"k": `+g.literal("list", 0)+`, 2.0: ()}`)
	}
	return "set([" + g.pick("", "1", "1, 2, 1.0", `"x", "y", 3`, `(1,), (2,), None`) + "])"
}

func (g *generator) expr(typ string, depth int) string {
	if g.rand.IntN(30) == 0 {
		typ = types[g.rand.IntN(len(types))]
	}
	if depth <= 0 {
		if name := variables[typ]; name != "" && g.rand.IntN(3) > 0 {
			if fromView := map[string]string{"dict": `v`, "list": `v["b"]`, "str": `v["f"]`, "int": `v["a"]`}[typ]; fromView != "" && g.rand.IntN(3) == 0 {
				return fromView
			}
			return name
		}
		return g.literal(typ, 1)
	}
	e := func(typ string) string { return g.expr(typ, depth-1) }
	if g.rand.IntN(10) == 0 {
		return fmt.Sprintf("(%s if %s else %s)", e(typ), e("bool"), e(typ))
	}
	if g.rand.IntN(15) == 0 {
		return fmt.Sprintf("(%s %s %s)", e(typ), g.pick("and", "or"), e(typ))
	}
	switch typ {
	case "int":
		return g.pick("("+e("int")+" "+g.pick("+", "-", "*", "//", "%", "|", "&", "^")+" "+e("int")+")", "("+e("int")+" "+g.pick("<<", ">>")+" "+g.pick("1", "3", "40", "n")+")",
			"("+e("int")+" "+g.pick("+", "-")+" 1)", g.pick("-", "+", "~")+e("int"), "len("+e(g.pick("list", "str", "dict", "set", "tuple", "bytes"))+")", "int("+e(g.pick("float", "bool", "str", "int"))+")",
			"abs("+e("int")+")", e("str")+"."+g.pick("count", "find", "rfind", "index")+"("+e("str")+")", "hash("+e("str")+")", "ord("+g.pick("s[:1]", `"x"`)+")",
			g.pick("max", "min")+"("+e("int")+", "+e("int")+")", e("list")+".index("+g.any(0)+")", e("list")+"["+e("int")+"]", `v["b"][`+g.pick("0", "4")+"]")
	case "str":
		return g.pick("("+e("str")+" + "+e("str")+")", "("+e("str")+" * "+g.pick("0", "2", "3", "-1")+")", "str("+g.any(depth-1)+")", "repr("+g.any(depth-1)+")", "type("+g.any(depth-1)+")",
			e("str")+g.slice(), e("str")+"["+g.pick("0", "-1", "n")+"]", e("str")+"."+g.pick("upper", "lower", "title", "capitalize", "strip", "lstrip", "rstrip")+"()",
			e("str")+".replace("+e("str")+", "+e("str")+")", e("str")+".join("+g.pick("["+e("str")+", "+e("str")+"]", "s.elems()", "v", "d")+")",
			`"%s|%r" % (`+g.any(depth-1)+", "+g.any(depth-1)+")", `"%d %x" % (`+e("int")+", "+e("int")+")", `"%(a)s %(b)r" % `+g.pick("d", "v"), `"%s" % `+g.any(depth-1),
			`"{} {{}} {}".format(`+g.any(depth-1)+", "+g.any(depth-1)+")", `"{1!r} {0} {k}".format(`+g.any(depth-1)+", "+g.any(depth-1)+", k = "+e("int")+")", `"%g %e %f" % (`+e("float")+", "+e("int")+", "+e("float")+")",
			e("str")+".removeprefix("+e("str")+")", e("str")+".strip("+e("str")+")", "chr("+g.pick("65", "0x1f600", "n")+")", "str("+e("bytes")+")")
	case "float":
		return g.pick("("+e("int")+" / "+e("int")+")", "("+e("float")+" "+g.pick("+", "-", "*", "/", "//", "%")+" "+g.pick(e("int"), e("float"))+")", "float("+e(g.pick("int", "str"))+")", "-"+e("float"), "abs("+e("float")+")")
	case "bool":
		typ := types[g.rand.IntN(len(types))]
		return g.pick("("+g.any(depth-1)+" "+g.pick("==", "!=")+" "+g.any(depth-1)+")", "("+e(typ)+" "+g.pick("==", "!=", "<", "<=", ">", ">=")+" "+e(typ)+")", "("+e("int")+" < "+e("float")+")",
			"("+g.any(depth-1)+" "+g.pick("in", "not in")+" "+e(g.pick("list", "tuple"))+")", "("+g.key()+" in "+e(g.pick("dict", "set"))+")", "("+e("str")+" in "+e("str")+")", "not "+g.any(depth-1), "bool("+g.any(depth-1)+")",
			g.pick("any", "all")+"("+e(g.pick("list", "tuple", "set"))+")", e("str")+"."+g.pick("isalnum", "isalpha", "isdigit", "islower", "isspace", "istitle", "isupper")+"()",
			e("str")+"."+g.pick("startswith", "endswith")+"("+g.pick(e("str"), "(\"a\", s)")+")", e("set")+"."+g.pick("issubset", "issuperset")+"("+e(g.pick("set", "list"))+")", "hasattr("+g.any(depth-1)+", "+g.pick(`"get"`, `"append"`, `"x"`)+")", "("+e("int")+" in range("+e("int")+"))")
	case "bytes":
		return g.pick("bytes("+e("str")+")", "("+e("bytes")+" + "+e("bytes")+")", "("+e("bytes")+" * 2)", e("bytes")+g.slice(), "bytes([1, 2, n])")
	case "list":
		return g.pick("("+e("list")+" + "+e("list")+")", "("+e("list")+" * "+g.pick("0", "2", "n")+")", "list("+e(g.pick("tuple", "set", "dict", "list"))+")", "sorted("+e(g.pick("list", "tuple", "set", "dict"))+")",
			"sorted("+e("list")+", key = lambda x: "+g.pick("str(x)", "repr(x)", "type(x)")+", reverse = "+g.pick("True", "False")+")", "["+g.any(depth-1)+" for x in "+e(g.pick("list", "tuple", "dict", "set"))+" if "+g.pick("x", "x != n", "True", "n")+"]",
			"[(y, x) for x, y in "+g.pick("d.items()", "v.items()", "enumerate("+e("list")+")")+"]", "reversed("+e(g.pick("list", "tuple"))+")", "enumerate("+e("list")+", "+e("int")+")", "zip("+e("list")+", "+e("tuple")+")",
			e("list")+g.slice(), e("str")+"."+g.pick("split", "rsplit")+"("+g.pick("", `","`, "None, 1", `" ", 1`)+")", e("str")+".splitlines("+g.pick("", "True")+")", e("dict")+"."+g.pick("keys", "values", "items")+"()",
			"list("+e("str")+"."+g.pick("elems", "codepoints", "elem_ords", "codepoint_ords")+"())", "list("+e("bytes")+".elems())", "["+g.any(depth-1)+", "+g.any(depth-1)+"]", "list(range("+g.pick("3", "0", "5")+", "+e("int")+", "+g.pick("1", "-1", "2147483647")+"))[:5]", "dir("+g.literal(g.pick("str", "list", "dict", "set"), 1)+")")
	case "tuple":
		return g.pick("("+e("tuple")+" + "+e("tuple")+")", "tuple("+e(g.pick("list", "set"))+")", "("+g.any(depth-1)+", "+g.any(depth-1)+")", e("tuple")+g.slice(), e("str")+"."+g.pick("partition", "rpartition")+"("+e("str")+")",
			"(lambda x, *y, **z: (x, y, z))("+g.any(depth-1)+", *"+e(g.pick("list", "tuple"))+", **"+g.pick("{}", `{"p": n}`, "dict(r = 2)", `{"x": 1}`)+")", "("+e("tuple")+" * 2)")
	case "dict":
		return g.pick("("+e("dict")+" | "+e("dict")+")", "dict("+e("dict")+")", "dict([("+g.key()+", "+g.any(depth-1)+")])", "{"+g.key()+": "+g.any(depth-1)+", "+g.key()+": 1}", "{x: y for x, y in "+g.pick("d.items()", "v.items()", "enumerate("+e("list")+")")+"}",
			"{str(x): "+g.any(depth-1)+" for x in "+e("list")+"}", "dict("+e("dict")+", k = "+e("int")+")", `v["c"]`)
	}
	return g.pick("("+e("set")+" "+g.pick("|", "&", "-", "^")+" "+e("set")+")", "set("+e(g.pick("list", "tuple", "dict", "set"))+")", e("set")+"."+g.pick("union", "difference", "intersection")+"("+e(g.pick("list", "set"))+")")
}

func (g *generator) slice() string {
	return "[" + g.pick("", "1", "-2", "n", "100") + ":" + g.pick("", "2", "-1", "n") + g.pick("", "", ":1", ":2", ":-1", ":-2") + "]"
}
