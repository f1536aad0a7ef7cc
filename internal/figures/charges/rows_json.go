package charges

import (
	"fmt"
	"strings"
)

// What payloads hold.

func texts(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"name-%d"`, i)
	}
	return "[" + b.String()[1:] + "]"
}

func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,%d`, i)
	}
	return "[" + b.String()[1:] + "]"
}

func decimals(n int) string { return "[" + strings.Repeat("1.25,", n-1) + "1.25]" }

func members(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"name-%d":%d`, i, i)
	}
	return "{" + b.String()[1:] + "}"
}

func records(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,{"name":"n%d","count":%d,"tags":["a","b"]}`, i, i)
	}
	return "[" + b.String()[1:] + "]"
}

func longText(n int) string { return `"` + strings.Repeat("a", n) + `"` }

func escaped(n int) string { return `"` + strings.Repeat(`\n`, n) + `"` }

func nested(n int) string {
	n = min(n, 60)
	return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n)
}

var views = []Row{
	{Names: "=,", Note: "a view", Data: func(int) string { return `[1,2]` }, Do: again("a, b = data", 3)},
	{Names: "for x", Note: "a view of numbers", Data: numbers, Do: "for x in data: pass", Hi: 6, High: highStep},
	{Names: "for x", Note: "a view of texts", Data: texts, Do: "for x in data: pass", Hi: 6, High: highStep},
	{Names: "for x", Note: "a view of decimals", Data: decimals, Do: "for x in data: pass", Hi: 6, High: highStep},
	{Names: "for x", Note: "a view of records", Data: records, Do: "for x in data: pass", Hi: 5, High: highStep},
	{Names: "for x", Note: "the members of a view", Data: members, Do: "for x in data: pass", Hi: 6, High: highStep},
	{Names: ".", Note: "of a view", Data: func(int) string { return `{"a":{"b":1}}` }, Do: again("data.a.b", 5)},
	{Names: ".", Note: "of a large view", Data: members, Do: again("getattr(data, 'name-0')", 3), Hi: 6},
	{Names: "[]", Note: "a view", Data: numbers, Do: again("data[0]", 5), Hi: 6},
	{Names: "[]", Note: "a view by name", Data: members, Do: again("data['name-0']", 5), Hi: 6},
	{Names: "[]", Note: "a long text of a view", Data: func(n int) string { return `[` + longText(n) + `]` }, Do: again("data[0]", 2), Hi: 6},
	{Names: "[]", Note: "a long text of a view, all escaped", Data: func(n int) string { return `[` + escaped(n) + `]` }, Do: "data[0]", Hi: 6, High: highOnce},
	{Names: "[:]", Note: "a view", Data: numbers, Do: "data[:]", Hi: 6},
	{Names: "+", Note: "views", Data: numbers, Do: "data + data", Hi: 5},
	{Names: "+", Note: "a view and a list", Data: numbers, Do: "data + [1]", Hi: 5},
	{Names: "|", Note: "a view and a dict", Data: members, Do: "data | {'a': 1}", Hi: 5},
	{Names: "|", Note: "two views", Data: members, Do: "data | data", Hi: 5},
	{Names: "==; !=", Note: "views", Data: numbers, Do: "data == data", Hi: 5},
	{Names: "==; !=", Note: "views of members", Data: members, Do: "data == data", Hi: 5},
	{Names: "==; !=", Note: "views of records", Data: records, Do: "data == data", Hi: 4},
	{Names: "x in", Note: "a view", Data: numbers, Do: "-1 in data", Hi: 5},
	{Names: "x in", Note: "the names of a view", Data: members, Do: again("'name-0' in data", 3), Hi: 6},
	{Names: "len", Note: "a view", Data: numbers, Do: again("len(data)", 5), Hi: 6},
	{Names: "str", Note: "a view", Data: records, Do: "str(data)", Hi: 5},
	{Names: "str", Note: "a deep view", Data: nested, Do: "str(data)", Hi: 2},
	{Names: "list", Note: "a view", Data: texts, Do: "list(data)", Hi: 5},
	{Names: "dict", Note: "a view", Data: members, Do: "dict(data)", Hi: 5},
	{Names: "sorted", Note: "a view", Data: texts, Do: "sorted(data)", Hi: 5},
	{Names: "dir", Note: "a view", Data: members, Do: "dir(data)", Hi: 4},
	{Names: "view.get", Data: members, Do: again("data.get('name-0')", 5), Hi: 6},
	{Names: "view.items", Data: members, Do: "data.items()", Hi: 5},
	{Names: "view.keys", Data: members, Do: "data.keys()", Hi: 5},
	{Names: "view.values", Data: members, Do: "data.values()", Hi: 5},
	{Names: "walk", Note: "records", Data: records, Do: "for x in data:\n    a = x.name\n    b = x['count']\n    for t in x.get('tags'): c = t", Hi: 5},
}

var conversions = []Row{
	{Names: "allow; deny", Do: again("allow('fine')", 2)},
	{Names: "ask", Do: again("ask('sure?')", 2)},
	{Names: "reject", Do: again("reject('no')", 2)},
	{Names: "deny", Note: "a reason of 512", Setup: "x = 'a' * 512", Do: "deny(x)"},
	{Names: "stop", Do: again("stop('enough')", 2)},
	{Names: "halt", Do: again("halt()", 2)},
	{Names: "context; proceed", Top: aText, Do: "context(T)", Hi: 6},
	{Names: "context", Note: "not ASCII", Top: "T = 'ä' * N", Do: "context(T)", Hi: 6},
	{Names: "annotate; edit; remember", Do: "annotate(a = 1, b = 'x')"},
	{Names: "effect", Do: "effect('notify', message = 'x')"},
	{Names: "patch", Note: "numbers", Top: aList, Do: "patch(x = L)", Hi: 5},
	{Names: "patch", Note: "texts", Top: names, Do: "patch(x = L)", Hi: 5},
	{Names: "patch", Note: "a dict", Top: "D = {'name-%d' % i: i for i in range(N)}", Do: "patch(x = D)", Hi: 5},
	{Names: "patch", Note: "floats", Top: "L = [1.25] * N", Do: "patch(x = L)", Hi: 5},
	{Names: "patch", Note: "a long text", Top: aText, Do: "patch(x = T)", Hi: 6},
	{Names: "patch", Note: "a view", Data: records, Do: "patch(x = data)", Hi: 5},
	{Names: "patch", Note: "many fields", Top: "D = {'name-%d' % i: i for i in range(min(N, 200))}", Do: "patch(**D)", Hi: 2},
	{Names: "respond", Note: "large integers", Top: "L = [int('9' * 390)] * N", Do: "respond(L)", Hi: 3},
	{Names: "result", Note: "many decisions", Top: "X = [annotate(a = 1)] * N", Whole: "return X", Hi: 5},
	{Names: "result", Note: "one with a large value", Top: "X = respond(['name-%d' % i for i in range(N)])", Whole: "return [X]", Hi: 5},
	{Names: "facts", Note: "a list", Top: "L = ['git.head'] * min(N, 100)", Facts: "L", Hi: 2},
	{Names: "facts", Note: "long keys", Top: "L = ['a' * N]", Facts: "L", Hi: 6},
	{Names: "load", Note: "functions", Source: functions, Hi: 3},
	{Names: "load", Note: "a long list", Source: func(n int) string { return "L = [" + strings.Repeat("1, ", n) + "]" }, Hi: 4},
	{Names: "load", Note: "a long text", Source: func(n int) string { return "T = '" + strings.Repeat("a", n) + "'" }, Hi: 5},
	{Names: "load", Note: "a long comment", Source: func(n int) string { return "#" + strings.Repeat("a", n) }, Hi: 5},
	{Names: "load", Note: "many lines", Source: func(n int) string { return "def f():\n" + strings.Repeat(" a = b\n", n) + " b = 1" }, Hi: 4},
	{Names: "load", Note: "operators", Source: func(n int) string { return "def f(x):\n return [" + strings.Repeat("x*x,", n) + "]" }, Hi: 4},
	{Names: "load", Note: "calls", Source: func(n int) string { return "def f(x):\n" + strings.Repeat(" f(x)\n", n) }, Hi: 4},
	{Names: "load", Note: "attributes", Source: func(n int) string { return "def f(x):\n" + strings.Repeat(" x.a\n", n) }, Hi: 4},
	{Names: "load", Note: "brackets", Source: func(n int) string {
		return "L = [" + strings.Repeat(strings.Repeat("[", 60)+strings.Repeat("]", 60)+",", n) + "]"
	}, Hi: 3},
	{Names: "globals", Note: "names", Source: func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "a%d = 1\n", i)
		}
		return b.String()
	}, Hi: 4},
	{Names: "globals", Note: "a list of lists", Source: func(n int) string { return fmt.Sprintf("L = [[] for _ in range(%d)]", n) }, Hi: 5},
	{Names: "globals", Note: "a long list", Source: func(n int) string { return fmt.Sprintf("L = [1] * %d", n) }, Hi: 6},
	{Names: "globals", Note: "tuples of tuples", Source: func(n int) string { return fmt.Sprintf("L = [((1, 2), (3, 4)) for _ in range(%d)]", n) }, Hi: 5},
	{Names: "globals", Note: "a dict", Source: func(n int) string { return fmt.Sprintf("D = {i: [i] for i in range(%d)}", n) }, Hi: 5},
}

func functions(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "def f%d(ctx, call):\n    if call.arguments.get(\"a\") == %d:\n        return patch(arguments = call.arguments | {\"b\": [x for x in call.list]})\n    return None\n\n", i, i)
	}
	return b.String()
}

func manyHooks(n int) string {
	var b strings.Builder
	b.WriteString("def f(ctx, call): return None\n")
	for i := range n {
		fmt.Fprintf(&b, "hook(id = \"h%d\", version = \"1\", run = f, point = \"tool.before\", default = {\"a\": 1})\n", i)
	}
	return b.String()
}
