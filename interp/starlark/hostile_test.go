package starlark

import (
	"math/rand/v2"
	"strings"

	"agentd/builtins"
	"agentd/hookpoints/payload"
)

// hostile makes programs that try to take more than they are charged for. What they are made of is in
// the table forms: a letter after a dollar sign stands for an expression of that kind.
type hostile struct {
	*rand.Rand
	text strings.Builder
}

// forms are the expressions of each kind. Most programs should live long enough to do harm, so operands
// are of the right kind, but for a slip now and then.
var forms = map[byte][]string{
	'k': {"0", "1", "2", "3", "7", "10", "64", "100", "1000", "10000", "100000", "1000000", "30000000", "(1 << 62)", "len($s)", "len($l)"},
	'm': {"0", "1", "2", "3", "10", "100", "1000", "-1", "5000"},
	'n': {"n", "n", "0", "1", "-1", "2147483647", "(1 << 400)", "-(1 << 64)", "$k", "($n + $n)", "($n - $n)", "($n * $n)", "($n // ($n or 1))", "($n % ($n or 7))", "($n << $m)", "($n >> 3)", "($n | $n)", "($n & $n)", "($n ^ $n)", "(-$n)", "(~$n)",
		"abs($n)", "len($l)", "len($s)", "len($t)", "len($d)", "len($q)", "len($v)", "len($w)", "hash($s)", "int($f)", `int("$m")`, `int("9" * 1000)`, `int("zz" * 300, 36)`, "$s.count($s)", "$s.find($s)", "$s.rfind($s)", "max($I or [1])", "min($I or [1])", "max($n, $n)",
		"max($l, key = lambda x: len(repr(x)))", "min($r)", "max($r)", "ord($s[:1] or \"a\")", "sorted($I)[0]", "text.count($s, $s or \"a\")"},
	'f': {"0.5", "float($n % 1000)", "($n / 7)", "($f * $f)", "($f + $n % 9)", "1e300", "float(\"1\" * 300)", "$v.f", "($f // 3)", "($f % 1.5)"},
	's': {"s", "s", "s", `""`, `"a"`, `"é😀"`, `("a" * $m)`, `("ab,cd\n" * $m)`, "($s + $s)", "($s * $m)", "($s * $k)", "str($a)", "repr($a)", `("%s" % ($a,))`, `("%s%r" % ($s, $a))`, `("%d" % $n)`, `("%x" % $n)`, `("%(a)s%(b)s" % $D)`, `"{0}{0}".format($s)`, `"{}{a}{a}".format($a, a = $s)`,
		"$s.replace($s, $s)", `$s.replace("", $s)`, `$s.replace("a", $s, $m)`, "$s.join($S)", `"".join($S)`, "$s[$n:$n]", "$s[::-1]", "$s[::2]", "$s.upper()", "$s.title()", "$s.capitalize()", "$s.lower()", "$s.strip($s)", "$s.strip()", "$s.removeprefix($s)", "$s.partition($s or \"a\")[0]", "$s.rpartition(\",\")[2]",
		"json.encode($a)", "json.encode($v)", "type($a)", "$v.t", "$v.l.t", "chr(65 + $n % 5)", "re.replace($p, $s, $s)", `re.replace("", $s, "$0$0")`, "re.escape($s)", "path.clean($s)", "path.join([$s, $s])", "path.fold($s)", "path.slashes($s)", "path.dir($s)", "text.truncate($s, 100)", "ctx.seed", "ctx.now"},
	'p': {`"a*"`, `"(a+)+$$"`, `"(a|aa)*b"`, `"a{50}"`, `"(.*)(.*)(.*)x"`, `"[^a]"`, `"(?i)é"`, `"\\\\b\\\\w+"`, `"" `, `"(a?){30}a{30}"`, `("(" * $m)`, "re.escape($s)", `("x" * $m)`, `".|a"`},
	'y': {"y", `b""`, `b"ab"`, "bytes($s)", "($y + $y)", "($y * $m)", "($y * $k)", "$y[$n:$n]", "$y[::-1]", "bytes([x % 256 for x in range($m)])"},
	'S': {`["a"]`, "([$s] * $m)", "([$s] * $k)", "$s.split()", `$s.split(",")`, `$s.split("a", $m)`, "$s.splitlines()", "list($s.elems())", "list($s.codepoints())", "[str(x) for x in $l]", "[$s for _ in range($m)]", "sorted($S)", "$D.keys()", "($S + $S)", "[x + x for x in $S]", "[$s, $s]", "dir($a)", "$v.keys()", "re.find_all($p, $s)", "re.split($p, $s)", "text.lines($s)", "text.fields($s)", "glob.filter($g, $S)"},
	'g': {`"*"`, `"**"`, `"*a*a*a*b"`, `("{a,b}" * 5)`, `("**/*" * $m)`, `"[a-z]*"`},
	'I': {"[1, 2]", "[n]", "list(range($m))", "list(range($k))", "[x * x for x in range($m)]", "[n << x for x in range(20)]", "sorted($I)", "sorted(range($m), key = lambda x: -x)", "reversed($I)", "list($s.elem_ords())", "list($y.elems())", "[x % 7 for x in $r]", "($I + $I)", "$v.n"},
	'r': {"range($m)", "range($k)", "range($n % 1000, $n % 1000, 3)", "range($k)[::-1]", "range($m)[$n:]"},
	'l': {"l", "l", "l", "[]", "[$a]", "[$a, $a]", "($l + $l)", "($l * 2)", "($l * $m)", "($l * $k)", "$l[$n:$n]", "$l[::-1]", "list($t)", "list($r)", "list($q)", "list($d)", "list($w)", "reversed($l)", "enumerate($l)", "zip($l, $l)", "zip($r, $l, $t)", "[x for x in $l]", "[[x, x] for x in $l]", "[x for x in $r for _ in $r]", "[x for x in $r if x % 2]", "$d.items()", "$d.values()",
		"$v.values()", "$v.items()", "$I", "$S", "sorted($l, key = lambda x: repr(x))", "sorted($l, key = repr, reverse = True)", "[l for _ in range($m)]", "[$a for _ in range($m)]", "json.decode(json.encode($l))", "[f1(x) for x in $l]"},
	't': {"t", "t", "()", "($a,)", "($a, $a)", "(t, t)", "tuple([t, t])", "tuple($l)", "($t + $t)", "($t * $m)", "$t[$n:]", "zip([t], [t])[0]", "f2(t, t)", "f2(*$l)", "f2(*$t)", "f2(*$w)"},
	'h': {"$s", "$n", "t", "($s, $n)", "(t, $h)", "(t, t)", "$f", "None", "True", "$y", "f1", "len", "$s[:3]", "(1 << $m)"},
	'd': {"d", "d", "{}", "$D", "{$h: $a}", "{$h: $a, \"k\": $a}", "($d | $d)", "dict($d)", "dict($v)", "dict(d, a = $a)", "dict(zip($r, $l))", "{x: x for x in $r}", "{str(x): $a for x in $r}", "{x << 32: 1 for x in $r}", "{(x, t): 1 for x in range($m)}", "dict([($h, $a)])"},
	'D': {`{"a": $a, "b": $a}`, "dict(a = $a, b = $a)", "f3(a = $a, b = $s)", "f3(**$D)", "f3(**{\"a\": 1, \"b\": 2})"},
	'q': {"q", "set()", "set([$h])", "set($S)", "set($I)", "set($r)", "($q | $q)", "($q & $q)", "($q - $q)", "($q ^ $q)", "$q.union($S)", "$q.intersection($q)", "set([x << 32 for x in range($m)])"},
	'v': {"v", "v", "call.o", "call.o", "($v | {\"k\": $a})", "($v | $v)", "($v | $D)", "(v | {\"l\": v, \"r\": v})", "json.decode(json.encode($v))", "json.decode('{\"t\": \"' + \"a\" * $m + '\", \"n\": [1], \"f\": 1.5, \"l\": {\"t\": \"\"}}')"},
	'w': {"w", "w", "call.n", "call.long", "($w + $w)", "$w[$n:$n]", "$w[::-1]", "json.decode(json.encode($I))", "json.decode(\"[\" + \"1,\" * $m + \"1]\")", "json.decode(\"[\" * 60 + \"]\" * 60)", "json.decode(\"[\" * 200 + '\"' + \"a\" * $m + '\"' + \"]\" * 200)", "shell.parse($s)", "re.find_all($p, $s)", "text.cut($s, \",\")"},
	'a': {"$n", "$n", "$s", "$s", "$l", "$l", "$t", "$d", "$q", "$v", "$w", "$f", "$y", "$r", "None", "True", "$b", "f1", "$s.elems()", "$B", "f1($a)", "f2(*$l)", "call", "ctx", "ctx.scope", "call.deep", "call.long", "$x", "$v.l", "call.huge", "call.e"},
	'b': {"($a == $a)", "($a != $a)", "(l == l)", "($l == $l)", "($t == $t)", "($d == $d)", "($v == $v)", "($w == $w)", "($l < $l)", "($t <= $t)", "($s < $s)", "($n < $n)", "($n == $f)", "($q <= $q)", "($a in $l)", "($h in $d)", "($h in $q)", "($s in $s)", "($s in $v)", "($a in $w)", "($n in $r)", "(not $a)", "bool($a)", "all($l)", "any($r)", "any($w)",
		"$s.startswith($s)", "$s.endswith(($s,) * $m)", "$s.isalnum()", "$s.istitle()", "$q.issubset($q)", "$q.issuperset($S)", "hasattr($a, \"get\")", "re.match($p, $s)", "glob.match($g, $s)", "path.inside($s, $s)", "path.same($s, $s)", "text.contains_any($s, $S)", "($a and $a)", "($a or $a)", "($b if $b else $a)"},
	'x': {"getattr($v, \"k\", $a)", "$v.get($s)", "$v.get($s, $a)", "$d.get($h, $a)", "$d.setdefault($h, $a)", "$d.pop($h, $a)", "($l + [0])[0]", "($t + (0,))[-1]", "(lambda *a, **k: (a, k))(*$l, **$D)", "(lambda *a, **k: (a, k))(*$w, **$v)", "(lambda x, y = $a: [x, y])($a)", "[$a for x, y in $d.items()]", "(call.deep.o.o.o.o)", "re.groups($p, $s)", "re.find($p, $s)", "path.decode($s)", "path.from_uri($s)"},
	// What becomes of a program.
	'R': {"None", "respond($a)", "annotate(x = $a)", "annotate(x = $a, y = $a)", "patch(**$D)", "patch(arguments = $v)", "remember(x = $a, **$D)", "[annotate(x = $s), patch(arguments = $d)]", "[halt()] * $k", "[respond($s)] * $m", "[annotate(x = $a) for _ in range($m)]", "context($s)", "reject($s)", "effect(\"notify\", text = $a)", "ask($s)", "edit(**$D)", "$a", "fail($a)", "($a, $a)"},
	// Statements.
	'!': {"n = $n", "s = $s", "s = $s", "y = $y", "l = $l", "l = $l", "t = $t", "t = $t", "d = $d", "q = $q", "v = $v", "w = $w", "n += $n", "n *= $n", "n <<= $m", "s += $s", "s += s", "s *= 3", "l += l", "l += $l", "l += $w", "l *= 2", "t += t", "t *= 2", "y += y", "d |= $d", "d |= $v", "v |= $D", "w += w", "q |= $q",
		"l = [l, l]", "t = (t, t)", "d = {\"l\": d, \"r\": d}", "v = v | {\"l\": v, \"r\": v}", "l = [$a] * $m", "l = [l] * $m", "t = (t,) * $m", "l.append($a)", "l.append(l)", "l.extend(l)", "l.extend($l)", "l.extend($r)", "l.insert(0, $a)", "l.insert($n % 100, $a)", "l.pop() if l else 0", "l.pop(0) if l else 0", "l.clear()",
		"d[$h] = $a", "d[$h] = d", "d[$n] = $s", "d.update($d)", "d.update(zip($S, $l))", "d.update(**$D)", "d.popitem() if d else 0", "d.clear()", "q.add($h)", "q.update($S)", "q.discard($h)", "q.pop() if q else 0", "print($a)", "print($s, $a, sep = $s)", "n = len(str($a))", "s = json.encode($a)", "n = 1 if $b else 0", "x = $b", "x, n = $a, $n", "(x, [l, s]) = ($a, [$l, $s])",
		"l = l or [0]", "d[\"k\"] = d.get(\"k\", 0)", "_ = $B", "_ = [x for x in $a]", "_ = {x: $a for x in $S}", "f1($a)", "l = [lambda: l] * $m", "t = (f1, f2, lambda x = t: t)", "v = call.o", "w = call.n"},
}

func init() {
	var calls []string
	for _, f := range builtins.All() {
		var args []string
		for _, p := range f.Params {
			arg := "$a"
			switch p.Kinds {
			case payload.String:
				arg = "$s"
			case payload.Array:
				arg = "$S"
			case payload.Number:
				arg = "$m"
			case payload.Object:
				arg = "$D"
			}
			if p.Name == "pattern" {
				arg = "$p"
			}
			if p.Name == "dialect" {
				arg = `"posix"`
			}
			args = append(args, arg)
			if p.Optional {
				calls = append(calls, f.Name+"("+strings.Join(args[:len(args)-1], ", ")+")")
			}
		}
		calls = append(calls, f.Name+"("+strings.Join(args, ", ")+")")
	}
	forms['B'] = calls
}

// form fills a form of a kind in.
func (g *hostile) form(kind byte, depth int) string {
	if depth <= 0 {
		switch kind {
		case '!', 'R', 'k', 'm', 'p', 'g':
		default:
			if v := map[byte]string{'n': "n", 's': "s", 'y': "y", 'l': "l", 't': "t", 'd': "d", 'q': "q", 'v': "v", 'w': "w", 'f': "0.5", 'S': `["a", s]`, 'I': "[1, 2, 3]", 'r': "range(10)", 'h': "s", 'D': `{"a": n}`, 'b': "True", 'a': "l", 'x': "t", 'B': "v"}[kind]; v != "" {
				return v
			}
		}
	}
	if kind != '!' && kind != 'R' && g.IntN(200) == 0 {
		kind = "nslatdqvw"[g.IntN(9)]
	}
	list := forms[kind]
	return g.fill(list[g.IntN(len(list))], depth)
}

func (g *hostile) fill(form string, depth int) string {
	var b strings.Builder
	for i := 0; i < len(form); i++ {
		if form[i] != '$' || i+1 == len(form) {
			b.WriteByte(form[i])
			continue
		}
		i++
		switch c := form[i]; {
		case forms[c] != nil:
			b.WriteString(g.form(c, depth-1))
		case c == '$':
			b.WriteByte('$')
		default:
			b.WriteByte('$')
			b.WriteByte(c)
		}
	}
	return b.String()
}

// stand is what hooks are given while they load, in the place of ctx and of the payload.
const stand = `{"o": {"t": "text", "n": [1, 2], "f": 2.5, "l": {"t": ""}}, "n": [1, 2, 3], "long": ["a"], "deep": {"o": {"o": {"o": {"o": 1}}}}, "huge": 1e400, "e": "", "seed": "s", "now": "now", "scope": {}}`

// program is a file with one hook.
func (g *hostile) program() string {
	helper := g.function("f1(x = None)", "ctx, call = V, V", 1, 'a')
	text := "V = json.decode('" + stand + "')\n\ndef f2(*args):\n    return args\n\ndef f3(**named):\n    return named\n\n" +
		strings.ReplaceAll(helper, "f1(", "f2(") + g.function("run(ctx, call)", "x = 1", 2+g.IntN(8), 'R')
	text = strings.Replace(text, "def f2(x = None)", "def f1(x = None)", 1)
	if g.IntN(4) == 0 {
		text += "def first():\n    return run(V, V)\n\nG = [first()]\n\n"
	}
	return text + "hook(id = \"h\", version = \"1\", run = run)\n"
}

func (g *hostile) function(head, begin string, statements int, returns byte) string {
	g.text.Reset()
	g.text.WriteString("def " + head + ":\n")
	for _, line := range []string{begin, "v, w = call.o, call.n", "n, s, y = $m, \"ab,c\", b\"ab\"", "l, t = [1, \"a\", x], (\"a\", 2)", "d, q = {\"a\": 1}, set([1, \"a\"])"} {
		g.text.WriteString("    " + g.fill(line, 1) + "\n")
	}
	g.body("    ", statements, 2)
	g.text.WriteString("    return " + g.form(returns, 3) + "\n\n")
	return g.text.String()
}

func (g *hostile) body(indent string, statements, nest int) {
	for range statements {
		switch n := g.IntN(10); {
		case n < 4 || nest == 0:
			g.text.WriteString(indent + g.form('!', 3) + "\n")
		case n < 8:
			g.text.WriteString(indent + "for i in " + g.fill([]string{"range(60)", "range($k)", "range($m)", "$l", "$S", "$w", "$q", "$d"}[g.IntN(8)], 2) + ":\n")
			g.body(indent+"    ", 1+g.IntN(2), nest-1)
		default:
			g.text.WriteString(indent + "if " + g.form('b', 2) + ":\n")
			g.body(indent+"    ", 1, nest-1)
			if g.IntN(2) == 0 {
				g.text.WriteString(indent + "else:\n")
				g.body(indent+"    ", 1, nest-1)
			}
		}
	}
}
