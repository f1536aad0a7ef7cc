package lua

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"agentd/interp"
	"agentd/interp/interptest"
)

// FuzzPrograms makes random programs, of which some never end by themselves, and runs each twice under
// the meter. Each must end as scripts do, the same way both times, having taken no more time of the
// processor than its fuel is worth, by a wide margin, and no more memory than it was charged.
func FuzzPrograms(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	engine := New()
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := &programs{rand: rand.New(rand.NewPCG(seed, 3))}
		for range 5 {
			c := interptest.Attack{Chunk: interptest.Chunk{File: "f.lua", Text: "\n" + g.program()}, Ends: interptest.EndsAnyhow}
			start := processorTime()
			first := attack(context.Background(), t, engine, c)
			took := processorTime() - start
			again := attack(context.Background(), t, engine, c)
			if first.Text != again.Text {
				t.Fatalf("two runs differ:\n%s\n%s\n%s", c.Text, first.Text, again.Text)
			}
			c.Check(t, first)
			if strings.Contains(first.Text, "undefined: ") {
				t.Fatalf("it isn't even loaded: %s\n%s", first.Text, c.Text)
			}
			if t.Failed() {
				t.Fatalf("%s", c.Text)
			}
			if most := interptest.HeapFactor*first.Charged + interptest.HeapSlack + spare(first); first.Allocated > most {
				t.Fatalf("it allocated %d bytes for %d that it was charged:\n%s", first.Allocated, first.Charged, c.Text)
			}
			if most := 2 * interptest.AttackLimits.Fuel * longestUnit * interptest.RaceSlowdown; took > most {
				t.Fatalf("it took %d ms:\n%s\n%s", took/1e6, c.Text, first.Text)
			}
		}
	})
}

// longestUnit is how many nanoseconds a unit of fuel may take before a program is said to be charged
// too little. It is to be 16: a whole program, collector included, stays well below this.
const longestUnit = 500

// programs makes programs of which most do something: it knows types, and forgets them now and then.
type programs struct{ rand *rand.Rand }

func (g *programs) pick(list ...string) string { return list[g.rand.IntN(len(list))] }

var programTypes = []string{"num", "str", "list", "dict", "fun", "bool", "view"}

// programVariables by type.
var programVariables = map[string]string{"num": "n", "str": "s", "list": "l", "dict": "d", "fun": "f"}

// program is a function that changes its variables and says what they are after each step.
func (g *programs) program() string {
	var b strings.Builder
	b.WriteString(programHead)
	for _, typ := range programTypes {
		if name := programVariables[typ]; name != "" {
			fmt.Fprintf(&b, "    local %s = %s\n", name, strings.NewReplacer("n or 1", "1", "l or 1", "1", "n, s", "1, 2", "= s", "= 1", "{f}", "{1}").Replace(g.literal(typ)))
		}
	}
	b.WriteString("    local x, y = 1, 2\n")
	for range 3 + g.rand.IntN(8) {
		if g.rand.IntN(4) == 0 {
			b.WriteString(g.statement("    ", 2))
			continue
		}
		b.WriteString("    say(pcall(function(...)\n" + g.statement("        ", 2) + "    end, n, s))\n")
	}
	b.WriteString("    say(n, s, #l, d.a, x, y)\n    return table.concat(log, \"|\")\nend\n")
	return b.String()
}

// programHead keeps what was said in a table of the call.
const programHead = `
local function sayTo(log, ...)
    for i = 1, select("#", ...) do
        local v = select(i, ...)
        log[#log + 1] = type(v) .. ":" .. tostring(v):sub(1, 200)
    end
end
local K = {1, 2, x = "y", inner = {3}}
local V = json.decode('{"a": 1, "b": [1, 2.5, "x", null, [3, 4]], "c": {"d": "text"}, "big": 12345678901234567890}')
function attack()
    local log = {}
    local function say(...) return sayTo(log, ...) end
`

func (g *programs) any(depth int) string {
	return g.expr(programTypes[g.rand.IntN(len(programTypes))], depth)
}

func (g *programs) block(indent string, nest int) string {
	var b strings.Builder
	for range 1 + g.rand.IntN(3) {
		b.WriteString(g.statement(indent+"    ", nest-1))
	}
	return b.String()
}

func (g *programs) statement(indent string, nest int) string {
	line := func(format string, args ...any) string { return indent + fmt.Sprintf(format, args...) + "\n" }
	if nest > 0 && g.rand.IntN(3) == 0 {
		body := g.block(indent, nest)
		switch g.rand.IntN(9) {
		case 0:
			return line("for i = %s, %s do", g.pick("1", "n", "-3", "0.5"), g.pick("3", "10", "#l", "2")) + body + line("end")
		case 1:
			return line("for i, v in ipairs(%s) do", g.expr(g.pick("list", "list", "view"), 1)) + line("    x = v") + body + line("end")
		case 2:
			return line("for k, v in pairs(%s) do", g.expr(g.pick("dict", "list", "view"), 1)) + line("    x, y = k, v") + body + line("end")
		case 3:
			return line("while %s do", g.pick("x ~= nil and n < 5", "#s < 100", "true", g.expr("bool", 1))) + body + line("    n = n + 1") + line("    if n > %s then break end", g.pick("3", "50", "1e9")) + line("end")
		case 4:
			return line("if %s then", g.expr("bool", 2)) + body + line("else") + g.block(indent, nest) + line("end")
		case 5:
			return line("say(pcall(function(...)") + body + line("    return %s", g.any(1)) + line("end, %s))", g.any(1))
		case 6:
			return line("say(xpcall(function()") + body + line("end, %s))", g.pick("tostring", "type", "function(e) return e end", "error", "f", "function(e) error(e) end"))
		case 7:
			return line("f = function(a, ...)") + body + line("    return %s", g.pick("a", "...", "a, ...", "f and 1", "f(a)", "1 + f(a)", "x")) + line("end")
		default:
			return line("repeat") + body + line("    n = n + 1") + line("until n > %s or %s", g.pick("3", "20"), g.expr("bool", 1))
		}
	}
	switch g.rand.IntN(14) {
	case 0:
		return line("n = %s", g.expr("num", 3))
	case 1, 2:
		return line("s = %s", g.expr("str", 3))
	case 3:
		return line("l = %s", g.expr("list", 2))
	case 4:
		return line("d = %s", g.expr("dict", 2))
	case 5:
		return line("%s[%s] = %s", g.pick("l", "d", "d", "l", "V", "K", "K.inner", "s", "x"), g.key(), g.any(2))
	case 6:
		return line("table.insert(%s, %s%s)", g.pick("l", "l", "d", "K"), g.pick("", "", "1, ", "n, ", "#l, ", "-1, "), g.any(2))
	case 7:
		return line("say(table.remove(%s%s))", g.pick("l", "l", "d", "K"), g.pick("", "", ", 1", ", n", ", -1"))
	case 8:
		return line("table.sort(%s%s)", g.pick("l", "l", "d", "{3, 1, 2}", "{\"b\", \"a\"}"), g.pick("", ", function(a, b) return tostring(a) < tostring(b) end", ", function() return true end", ", f", ", function(a, b) return a > b end"))
	case 9:
		return line("setmetatable(%s, {%s = %s})", g.pick("l", "d", "x", "{}"), g.pick("__index", "__newindex", "__call", "__eq", "__lt", "__le", "__concat", "__add", "__mod", "__pow", "__unm", "__len", "__tostring", "__metatable"),
			g.pick("function(a, b) return a end", "function(a, b) return b end", "function() return 1 end", "function() return \"m\" end", "f", "d", "l", "K", "function(a, b) return a == b end", "rawset", "1"))
	case 10:
		return line("x, y = %s, %s", g.any(2), g.any(2))
	case 11:
		return line("say(f(%s, %s))", g.any(1), g.any(1))
	case 12:
		return line("say(%s)", g.any(3))
	}
	return line("say(%s)", g.call())
}

// call is a call of the library with whatever operands.
func (g *programs) call() string {
	name := g.pick("string.byte", "string.char", "string.find", "string.format", "string.gsub", "string.len", "string.lower", "string.match", "string.rep", "string.reverse", "string.sub", "string.upper",
		"table.concat", "table.maxn", "math.abs", "math.floor", "math.fmod", "math.max", "math.modf", "math.ldexp", "math.frexp", "math.sqrt", "select", "unpack", "next", "rawget", "rawequal", "rawset", "type", "tostring",
		"tonumber", "getmetatable", "assert", "error", "merge", "array", "json.encode", "json.decode", "ipairs", "pairs", "pcall", "string.gmatch")
	args := make([]string, g.rand.IntN(4))
	for i := range args {
		args[i] = g.any(1)
	}
	return name + "(" + strings.Join(args, ", ") + ")"
}

func (g *programs) key() string {
	return g.pick(`"a"`, `"b"`, "1", "2", "#l + 1", "n", "s", "x", "-1", "0.5", "1e10", "70000", "nil", "0 / 0", "l", "f", "true", "(\"k\"):rep(100)", "V", "null")
}

func (g *programs) literal(typ string) string {
	switch typ {
	case "num":
		return g.pick("0", "1", "-1", "2", "7", "100", "0.5", "-2.5", "1e10", "1e300", "2147483647", "-2147483648", "9007199254740993", "0x1f", "1 / 0", "0 / 0")
	case "str":
		return g.pick(`""`, `"a"`, `"abc"`, `"a b c"`, `"a,b,,c"`, `"\195\169x"`, `"Title Case"`, `"\n\t\"q"`, `"12"`, `"-0x1f"`, `"\0\255"`, `"%d %s"`, `"(%a+)"`, `"f(a(b)c)"`)
	case "list":
		return g.pick("{}", "{1, 2, 3}", `{"a", "b"}`, "{3, 1, 2, 5, 4}", "{1, nil, 3}", "{{}, {}}", "{n, s}", "array{}", "{f}")
	case "dict":
		return g.pick("{}", `{a = 1, b = {2}}`, `{[1] = "x", [0.5] = 1}`, `{["a b"] = {}, a = s}`, "{[l or 1] = 1}", "{[70000] = 1}", "{[n or 1] = 2}")
	case "fun":
		return g.pick("function(a) return a end", "function(...) return ... end", "function() return 1, 2 end", "string.upper", "tostring", "function(a, b) return a, b end", "error", "(\"a b\"):gmatch(\"%a\")", "pcall", "type")
	case "bool":
		return g.pick("true", "false", "nil")
	}
	return g.pick("V", "V.b", "V.c", "V.big", "V.b[4]", "null", "K", "V.b[5]", "V.missing")
}

func (g *programs) expr(typ string, depth int) string {
	if g.rand.IntN(30) == 0 {
		typ = programTypes[g.rand.IntN(len(programTypes))]
	}
	if depth <= 0 {
		if name := programVariables[typ]; name != "" && g.rand.IntN(3) > 0 {
			return name
		}
		return "(" + g.literal(typ) + ")"
	}
	e := func(typ string) string { return g.expr(typ, depth-1) }
	switch g.rand.IntN(12) {
	case 0:
		return fmt.Sprintf("(%s %s %s)", e(typ), g.pick("and", "or"), e(typ))
	case 1:
		return g.pick("x", "y", "(f("+e("num")+"))", "(select("+g.pick("1", "2", "-1")+", "+e(typ)+", "+e(typ)+"))")
	}
	switch typ {
	case "num":
		return g.pick("("+e("num")+" "+g.pick("+", "-", "*", "/", "%")+" "+e("num")+")", "("+e("num")+" "+g.pick("+", "*", "%")+" "+e("str")+")", "("+e("num")+" ^ "+g.pick("2", "0.5", "-1", "n")+")", "(-"+e("num")+")",
			"#"+e(g.pick("list", "str", "view")), "math."+g.pick("floor", "ceil", "abs", "sqrt")+"("+e("num")+")", "math."+g.pick("max", "min", "fmod")+"("+e("num")+", "+e("num")+")",
			"(tonumber("+e("str")+g.pick("", ", 16", ", 36")+") or 0)", "(("+e("str")+"):byte("+g.pick("", "1", "-1", "n")+") or 0)", "select(\"#\", unpack("+e("list")+"))", "("+e("str")+"):len()", "(("+e("str")+"):find("+e("str")+", 1, "+g.pick("true", "false")+") or 0)")
	case "str":
		return g.pick("("+e("str")+" .. "+e(g.pick("str", "num"))+")", "("+e("str")+" .. "+e("str")+" .. "+e("num")+")", "("+e("str")+"):rep("+g.pick("0", "2", "3", "10", "n")+")", "tostring("+g.any(depth-1)+")", "type("+g.any(depth-1)+")",
			"("+e("str")+"):sub("+g.pick("1", "-2", "n", "0")+g.pick("", ", 2", ", -1", ", n")+")", "("+e("str")+"):"+g.pick("upper", "lower", "reverse")+"()", "(("+e("str")+"):gsub("+g.pattern()+", "+g.pick(`"%1"`, `"<%0>"`, "f", "d", "string.upper", e("str"))+g.pick("", ", 1", ", n")+"))",
			"(("+e("str")+"):match("+g.pattern()+") or \"\")", `string.format(`+g.pick(`"%s|%q"`, `"%5.1s|%-3s"`)+`, `+g.any(depth-1)+", "+e("str")+")", `string.format("%d %x %5.2f %g", `+e("num")+", 255, "+e("num")+", "+e("num")+")",
			"table.concat("+e("list")+", "+e("str")+")", "string.char("+g.pick("65", "0, 255", "n")+")", "json.encode("+g.any(depth-1)+")")
	case "list":
		return g.pick("{"+g.any(depth-1)+", "+g.any(depth-1)+"}", "{unpack("+e("list")+")}", "{f("+g.any(depth-1)+")}", "{("+e("str")+"):byte(1, -1)}", "{("+e("str")+"):find("+g.pattern()+")}", "{"+e("str")+", "+e("str")+", "+e("str")+"}", "{n, unpack("+e("list")+", 2)}", "array{}", "{pcall(f, "+g.any(depth-1)+")}")
	case "dict":
		return g.pick("{a = "+g.any(depth-1)+", b = "+g.any(depth-1)+"}", "{["+g.key()+"] = "+g.any(depth-1)+"}", "setmetatable({}, {__index = "+e("dict")+"})", "setmetatable("+e("dict")+", nil)", "{a = "+e("num")+", [2] = "+e("str")+"}")
	case "fun":
		return g.pick("function(a) return "+g.any(depth-1)+" end", "function(...) return "+g.any(depth-1)+", ... end", "function(a) x = a return y end", "function(a, b) return "+g.pick("a == b", "a .. b", "a + b", "a < b", "a[b]")+" end", "("+e("str")+"):gmatch("+g.pattern()+")")
	case "bool":
		return g.pick("("+g.any(depth-1)+" "+g.pick("==", "~=")+" "+g.any(depth-1)+")", "("+e("num")+" "+g.pick("<", "<=", ">", ">=")+" "+e("num")+")", "("+e("str")+" "+g.pick("<", "<=", ">", ">=")+" "+e("str")+")", "(not "+g.any(depth-1)+")", "rawequal("+g.any(depth-1)+", "+g.any(depth-1)+")",
			"("+e("list")+" "+g.pick("<", "==")+" "+e("dict")+")", "(next("+e("dict")+") == nil)", "(("+e("str")+"):find("+g.pattern()+") ~= nil)", "pcall(f, "+g.any(depth-1)+")")
	}
	return g.pick("merge(V, "+e("dict")+")", "V.b["+e("num")+"]", "V["+e("str")+"]", "json.decode(json.encode("+e(g.pick("dict", "list", "view"))+"))", "V:keys()", "V:get("+e("str")+", "+e("num")+")", "V.c")
}

func (g *programs) pattern() string {
	return g.pick(`"%a+"`, `"(%a)(%d*)"`, `"."`, `".-"`, `""`, `"^%s*(.-)%s*$"`, `"%b()"`, `"[^,]*"`, `"(.)%1"`, `"()"`, `"%f[%a]%a"`, `"["`, `"(a"`, `"%"`, `"$"`, "s", `(".-"):rep(10) .. "x"`, `"(a*)*b"`)
}

// FuzzSource loads any text. It must load, or be refused with a reason, the same both times.
func FuzzSource(f *testing.F) {
	f.Add("local x = {1, [2] = 'a', b = function(...) return ... end}\nfor i = 1, 3 do while x do break end end")
	f.Add("::a:: goto a")
	f.Add("if a then b.c:d{e = f} elseif not -#g ^ 2 .. [[h]] <= 0x1F then return end")
	f.Add("local function f(a, ...) repeat local b, c = a, ... until b == c or nil return f(...), \"\\065\\n\" end --[==[ x ]==]")
	f.Add("hook{id = 'h', version = '1', run = function(ctx, call) a, b.c = d, e end}")
	for _, file := range []string{"calls", "forging", "readonly", "source"} {
		for _, c := range interptest.ReadAttacks(f, testdata, "attacks/"+file+".lua") {
			if text := strings.TrimSpace(c.Text); len(text) < 500 {
				f.Add(text)
			}
		}
	}
	engine := New()
	f.Fuzz(func(t *testing.T, text string) {
		load := func() string {
			r := newRun(context.Background(), interptest.AttackLimits)
			// With its shortest names defined more of the text gets beyond the look for undefined ones.
			src := interp.Source{Name: "f.lua", Text: []byte("a, b, c, d, e, f, g, h, i, k, n, s, t, v, x, y, z = nil " + text)}
			r.loading = newLoading(engine, engine.env(), src, nil, interptest.AttackLimits)
			_, err := r.loadMain(src)
			return fmt.Sprintf("%v %+v", err, r.usage())
		}
		start := processorTime()
		first := load()
		took := processorTime() - start
		if again := load(); again != first {
			t.Fatalf("%s, and then %s", first, again)
		}
		if strings.Contains(first, "the compiler failed") || strings.Contains(first, "the interpreter failed") {
			t.Fatal(first)
		}
		if most := 2 * interptest.AttackLimits.Fuel * longestUnit * interptest.RaceSlowdown; took > most {
			t.Fatalf("it took %d ms: %s", took/1e6, first)
		}
	})
}
