package charges

import (
	"fmt"
	"slices"
	"strings"
)

// What rows start from. N is the size.
const (
	aText    = `T = "a" * N`
	twoTexts = "T = \"a\" * N\nU = \"a\" * N"
	aBytes   = `B = b"a" * N`
	words    = `W = "word " * N`
	aList    = `L = list(range(N))`
	aTuple   = `P = tuple(range(N))`
	aDict    = `D = {i: i for i in range(N)}`
	aSet     = `S = set(range(N))`
	twoSets  = "S = set(range(N))\nR = set(range(N, 2 * N))"
	names    = `L = ["name-%d" % i for i in range(N)]`
	pairs    = `L = [(i, i) for i in range(N)]`
	paths    = `L = ["internal/daemon/file%d.go" % i for i in range(N)]`
	big      = "x = int('9' * 1200)\ny = int('8' * 600)"
)

// Rows are all of them.
var Rows = slices.Concat(interpreter, operators, displays, universe, methods, views, shared, conversions)

var interpreter = []Row{
	{Names: "assignment", Setup: "x = 1", Do: again("y = x", 20), High: highStep},
	{Names: "if", Setup: "x = 1", Do: again("if x: y = 1", 20), High: highStep},
	{Names: "call", Top: "def f(x):\n    return x", Do: again("f(1)", 5)},
	{Names: "call", Note: "of a lambda", Setup: "f = lambda: 1", Do: again("f()", 5)},
	{Names: "and or not", Setup: "x = True", Do: again("x and not x or x", 10), High: highStep},
	{Names: "closure", Do: "f = lambda: i"},
	{Names: "for x", Top: aList, Do: "for x in L: pass", Hi: 6, High: highStep},
	{Names: "for x", Note: "text.elems", Top: aText, Do: "for x in T.elems(): pass", Hi: 6, High: highStep},
	{Names: "for x", Note: "a dict", Top: aDict, Do: "for x in D: pass", Hi: 5, High: highStep},
	{Names: "for,", Top: pairs, Do: "for a, b in L: pass", Hi: 5},
	{Names: "=,", Setup: "x = [1, 2]", Do: again("a, b = x", 5)},
	{Names: "f(*", Top: aList + "\ndef f(*a): pass", Do: "f(*L)", Hi: 6},
	{Names: "f(**; def**", Top: "D = {'a%d' % i: i for i in range(min(N, 200))}\ndef f(**kw): pass", Do: "f(**D)", Hi: 2},
	{Names: "def(", Note: "300 locals", Top: "def f():\n" + locals(300), Do: "f()"},
}

func locals(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "    v%d = 1\n", i)
	}
	return b.String()
}

func again(line string, n int) string { return strings.TrimSpace(strings.Repeat(line+"\n", n)) }

var operators = append(arithmetic(), []Row{
	{Names: "+", Note: "texts", Top: twoTexts, Do: "T + U", Hi: 6},
	{Names: "+", Note: "bytes", Top: aBytes, Do: "B + B", Hi: 6},
	{Names: "+", Note: "lists", Top: aList, Do: "L + L", Hi: 6, High: highGarbage},
	{Names: "+", Note: "tuples", Top: aTuple, Do: "P + P", Hi: 6, High: highGarbage},
	{Names: "+=", Note: "a list", Top: aList, Setup: "x = []", Do: "x += L", Hi: 6, Most: 64, High: highGarbage},
	{Names: "+=", Note: "a text", Top: aText, Do: "x = T\nx += T", Less: "x = T", Hi: 6},
	{Names: "*", Note: "text", Do: `"a" * N`, Hi: 6},
	{Names: "*", Note: "list", Setup: "x = [0]", Do: `x * N`, Hi: 6, High: highGarbage},
	{Names: "*", Note: "tuple", Setup: "x = (0, 1)", Do: `x * N`, Hi: 6, High: highGarbage},
	{Names: "%", Note: "%s", Top: aText, Do: `"%s" % T`, Hi: 6},
	{Names: "%", Note: "%r", Top: aText, Do: `"%r" % T`, Hi: 6},
	{Names: "%", Note: "%d", Do: again(`"%d" % i`, 2)},
	{Names: "%", Note: "%f", Do: again(`"%f" % 1.5`, 2)},
	{Names: "%", Note: "%x of a large integer", Setup: big, Do: `"%x" % x`},
	{Names: "%", Note: "many %s", Top: "F = '%s ' * N\nP = ('a',) * N", Do: `F % P`, Hi: 5},
	{Names: "%", Note: "named", Top: "F = '%(a)s ' * N\nD = {'a': 1}", Do: `F % D`, Hi: 5},
	{Names: "%", Note: "plain format", Top: "F = 'a' * N + '%s'", Do: `F % 1`, Hi: 6},
	{Names: "|", Note: "dicts", Top: aDict, Do: "D | D", Hi: 5},
	{Names: "|", Note: "a large and a small dict", Top: aDict, Do: "D | {'x': 1}", Hi: 5},
	{Names: "|=", Note: "dicts", Top: aDict, Do: "x = {}\nx |= D", Hi: 5},
	{Names: "[]|=", Note: "dicts", Top: aDict, Do: "x = [{}]\nx[0] |= D", Less: "x = [{}]", Hi: 5},
	{Names: "|", Note: "sets", Top: twoSets, Do: "S | R", Hi: 5},
	{Names: "&", Note: "sets", Top: aSet, Do: "S & S", Hi: 5},
	{Names: "-", Note: "sets", Top: aSet, Do: "S - S", Hi: 5},
	{Names: "^", Note: "sets", Top: twoSets, Do: "S ^ R", Hi: 5},
	{Names: "-x", Setup: "x = 5", Do: again("-x", 5)},
	{Names: "+x", Setup: "x = 5", Do: again("+x", 5)},
	{Names: "~x", Setup: "x = 5", Do: again("~x", 5)},
	{Names: "-x; ~x", Note: "a large integer", Setup: big, Do: again("-x", 5)},
	{Names: "==; !=", Note: "texts", Top: "T = 'a' * N\nU = T[:-1] + 'a'", Do: again("T == U", 5), Hi: 6},
	{Names: "==; !=", Note: "lists", Top: aList + "\nM = list(L)", Do: "L == M", Hi: 6},
	{Names: "==; !=", Note: "lists of texts", Top: names + "\nM = list(L)", Do: "L == M", Hi: 5},
	{Names: "==; !=", Note: "tuples", Top: aTuple, Do: "P == P", Hi: 6},
	{Names: "==; !=", Note: "dicts", Top: aDict + "\nE = dict(D)", Do: "D == E", Hi: 5},
	{Names: "==; !=", Note: "sets", Top: aSet + "\nR = set(S)", Do: "S == R", Hi: 5},
	{Names: "==; !=", Note: "bytes", Top: aBytes + "\nC = B[:-1] + b'a'", Do: again("B == C", 5), Hi: 6},
	{Names: "<; <=; >; >=", Note: "texts", Top: twoTexts, Do: again("T < U", 5), Hi: 6},
	{Names: "<; <=; >; >=", Note: "lists", Top: aList + "\nM = list(L)", Do: "L < M", Hi: 6},
	{Names: "<; <=; >; >=", Note: "sets", Top: aSet, Do: "S <= S", Hi: 5},
	{Names: "<; <=; >; >=", Note: "bytes", Top: aBytes + "\nC = B[:-1] + b'b'", Do: "B < C", Hi: 6},
	{Names: "==; <; <=; >; >=; !=", Note: "an integer and a float", Setup: "x = 5\ny = 1.5", Do: again("x < y", 5)},
	{Names: "==; <; <=; >; >=; !=", Note: "large integers", Setup: big, Do: again("x < y", 5)},
	{Names: "==; <; <=; >; >=; !=", Note: "a large integer and a float", Setup: big + "\ny = 1e300", Do: again("x < y", 5)},
	{Names: "x in", Note: "a list", Top: aList, Do: "-1 in L", Hi: 6},
	{Names: "x in", Note: "a list of texts", Top: names, Do: "'name-x' in L", Hi: 5},
	{Names: "x not in", Note: "a tuple", Top: aTuple, Do: "-1 not in P", Hi: 6},
	{Names: "x in", Note: "a dict", Top: aDict, Do: again("i in D", 5), Hi: 5},
	{Names: "x in", Note: "a set", Top: aSet, Do: again("i in S", 5), Hi: 5},
	{Names: "x in", Note: "a text", Top: aText, Do: "'b' in T", Hi: 6},
	{Names: "x in", Note: "a text, with many beginnings", Top: aText, Do: "'aaaaaaab' in T", Hi: 6, High: highSearch},
	{Names: "x in", Note: "a text, for a long one", Top: aText + "\nU = T[:len(T) // 2] + 'b'", Do: "U in T", Hi: 5, High: highSearch},
	{Names: "x in", Note: "bytes", Top: aBytes, Do: "b'b' in B", Hi: 6},
	{Names: "x in", Note: "a range", Setup: "r = range(N)", Do: again("i in r", 5), Hi: 6},
	{Names: ".", Note: "of ctx", Do: again("ctx.point", 5)},
	{Names: ".", Note: "ctx.now", Do: again("ctx.now", 5)},
	{Names: ".", Note: "a method as a value", Top: aText, Do: again("T.upper", 5)},
	{Names: ".()", Note: "of a module that is a value", Top: "M = path", Do: again("M.base('a')", 3)},
	{Names: "[]", Note: "a list", Top: aList, Do: again("L[0]", 5), Hi: 6},
	{Names: "[]", Note: "a dict", Top: aDict, Do: again("D[0]", 5), Hi: 5},
	{Names: "[]", Note: "a dict by text", Top: "D = {'name-%d' % i: i for i in range(N)}", Do: again("D['name-0']", 5), Hi: 5},
	{Names: "[]", Note: "a dict by long text", Top: "T = 'a' * N\nU = T[:-1] + 'a'\nD = {T: 1}", Do: "D[U]", Hi: 6},
	{Names: "[]", Note: "a dict by a tuple", Top: "P = ('a', 1, 'b')\nD = {P: 1}", Do: "D[P]"},
	{Names: "[]", Note: "a dict by a long tuple", Top: aTuple + "\nD = {P: 1}", Do: "D[P]", Hi: 5},
	{Names: "[]", Note: "a dict by a tuple of texts", Top: "P = tuple(['name-%d' % i for i in range(N)])\nD = {P: 1}", Do: "D[P]", Hi: 5},
	{Names: "[]", Note: "a dict by a large integer", Top: "K = int('9' * 1200)\nD = {K: 1}", Do: "D[K]"},
	{Names: "[]", Note: "a text", Top: aText, Do: again("T[0]", 5), Hi: 6},
	{Names: "[]=", Note: "a list", Setup: "x = [0] * N", Do: again("x[0] = 1", 5), Hi: 6},
	{Names: "[]=", Note: "a dict, the same key", Setup: "x = {}", Do: again("x[1] = 1", 5)},
	{Names: "[]=", Note: "a dict, new keys", Do: "x = {}\nfor j in range(N): x[j] = j", Less: "for j in range(N): pass", Hi: 6},
	{Names: "[]=", Note: "a dict, new texts", Top: names, Do: "x = {}\nfor j in L: x[j] = j", Less: "for j in L: pass", Hi: 5},
	{Names: "[k]", Setup: "x = {}", Do: `x["a"], x["b"] = 1, 2`},
	{Names: "[:]", Note: "a list", Top: aList, Do: "L[1:]", Hi: 6, High: highGarbage},
	{Names: "[:]", Note: "a list backwards", Top: aList, Do: "L[::-1]", Hi: 6},
	{Names: "[:]", Note: "a text", Top: aText, Do: again("T[1:]", 3), Hi: 6},
	{Names: "[:]", Note: "a text backwards", Top: aText, Do: "T[::-1]", Hi: 6},
	{Names: "[:]", Note: "bytes backwards", Top: aBytes, Do: "B[::-1]", Hi: 6},
	{Names: "[:]", Note: "a tuple", Top: aTuple, Do: "P[1:]", Hi: 6, High: highGarbage},
}...)

// arithmetic is each operator on small integers, large ones and floats, alone, with an assignment, and
// with one to an item.
func arithmetic() []Row {
	var rows []Row
	for _, op := range []string{"+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>"} {
		rows = append(rows,
			Row{Names: op, Note: "integers", Setup: "x = 1234567\ny = 7", Do: again("x "+op+" y", 5)},
			Row{Names: op + "=", Note: "integers", Setup: "x = 1234567\ny = 7", Do: again("z = x\nz "+op+"= y", 5), Less: again("z = x", 5)},
			Row{Names: "[]" + op + "=", Note: "integers", Setup: "x = [7]\ny = 1", Do: again("x[0] = 7\nx[0] "+op+"= y", 3), Less: again("x[0] = 7", 3)})
		large := "x = int('9' * 1200)\ny = int('8' * 600)"
		switch op {
		case "<<":
			large = "x = int('9' * 1050)\ny = 500"
		case ">>":
			large = "x = int('9' * 1200)\ny = 500"
		case "*":
			large = "x = int('9' * 600)\ny = int('8' * 600)"
		}
		if op != "/" {
			rows = append(rows, Row{Names: op, Note: "large integers", Setup: large, Do: again("x "+op+" y", 3)})
		}
		switch op {
		case "+", "-", "*", "/", "//", "%":
			rows = append(rows, Row{Names: op, Note: "floats", Setup: "x = 1234.5\ny = 1.25", Do: again("x "+op+" y", 5)},
				Row{Names: op, Note: "middling integers", Setup: "x = 1 << 40\ny = (1 << 20) + 1", Do: again("x "+op+" y", 5)})
		}
	}
	return rows
}

var displays = []Row{
	{Names: "[,]", Do: again("[1, 2, 3]", 5)},
	{Names: "[,]", Note: "empty", Do: again("[]", 5)},
	{Names: "[*]", Note: "300 items", Do: "[" + strings.Repeat("1, ", 300) + "]"},
	{Names: "(,)", Do: again("(i, 2, 3)", 5)},
	{Names: "(*)", Note: "300 items", Do: "(" + strings.Repeat("i, ", 300) + ")"},
	{Names: "{:}", Do: again(`{"a": 1, "b": 2}`, 3)},
	{Names: "{:}", Note: "empty", Do: again("{}", 5)},
	{Names: "{:}", Note: "ten entries", Do: "{" + entries(10) + "}"},
	{Names: "{*}", Note: "300 entries", Do: "{" + entries(300) + "}"},
	{Names: "[for", Top: aList, Do: "[x for x in L]", Hi: 6, High: highStep},
	{Names: "[for", Note: "with if", Top: aList, Do: "[x for x in L if x]", Hi: 6, High: highStep},
	{Names: "{for", Top: aList, Do: "{x: x for x in L}", Hi: 5},
	{Names: "{for", Note: "by texts", Top: names, Do: "{x: 1 for x in L}", Hi: 5},
}

func entries(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "\"k%d\": %d, ", i, i)
	}
	return b.String()
}

// Why a row may be charged more than three times what it takes.
const (
	highStep    = "the interpreter counts its own steps, and the shortest take a quarter of the usual one"
	highSearch  = "whoever wrote both texts can make such a search look at each byte many times"
	highCase    = "letters that aren't ASCII take ten times as long, and a copy"
	highStrip   = "how much will be taken off is known only by doing it"
	highGarbage = "what is made has to be collected later, which the time of a single call rarely shows"
	highRead    = "reading what was decoded is paid for in advance, level by level"
	highPattern = "a pattern is charged as if it were new at each call and all of it alive at each byte, as neither what was remembered nor what the text is may change a charge"
	highFields  = "each item may be an object in which many fields are looked for"
	highPatch   = "each line of a patch may name a file"
	highOnce    = "a long text is decoded once for all hooks of a call, and each of them is charged for it"
	highLine    = "what a command line takes isn't known before it is followed, only what one of its length can take"
)
