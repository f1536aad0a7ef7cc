//go:build unix

package lua

import (
	"fmt"
	"strings"
	"testing"

	"agentd/builtins/meter"
	"agentd/hookpoints/payload"
	"agentd/interp"
	"agentd/interp/interptest"
)

// charged are things that scripts do, with what they need: each is done in a loop. S is a text and T a
// list of so many items; many says for which sizes it is measured.
var charged = []struct {
	name, setup, do string
	many            bool
}{
	{"loop", "", "", false},
	{"local arithmetic", "local a = 1", "a = a + i * 2", false},
	{"index", "local t = {a = 1}", "local x = t.a", false},
	{"set", "local t = {a = 1}", "t.a = i", false},
	{"new table", "", "local t = {}", false},
	{"table of fields", "", "local t = {a = 1, b = 2, c = 3, d = 4}", false},
	{"table of items", "", "local t = {1, 2, 3, 4, 5, 6, 7, 8}", false},
	{"closure", "local a = 1", "local f = function() return a end", false},
	{"call", "local function f(a) return a end", "f(i)", false},
	{"call of varargs", "local function f(...) return ... end", "f(i, i, i)", false},
	{"concat", "local s = 'abc'", "local x = s .. i", false},
	{"concat long", "", "local x = S .. 'a'", true},
	{"equal", "local s = S .. 'x' local t = S .. 'x'", "local x = s == t", true},
	{"less", "local s = S .. 'x' local t = S .. 'y'", "local x = s < t", true},
	{"long key", "local t = {[S] = 1}", "local x = t[S]", true},
	{"length", "local t = {1, 2, 3}", "local x = #t", false},
	{"mod", "", "local x = i % 7", false},
	{"mod far", "", "local x = 1e300 % 3e-300", false},
	{"pow", "", "local x = i ^ 10", false},
	{"metamethod", "local t = setmetatable({}, {__index = function(_, k) return k end})", "local x = t.x", false},
	{"type", "", "type(i)", false},
	{"tostring number", "", "tostring(i + 0.1)", false},
	{"tostring text", "", "tostring('a')", false},
	{"tonumber", "", "tonumber('12.5')", false},
	{"tonumber base", "", "tonumber('ff', 16)", false},
	{"select", "", "select(2, i, i, i)", false},
	{"unpack", "local t = {1, 2, 3, 4, 5, 6, 7, 8}", "unpack(t)", false},
	{"pairs", "local t = {} for i = 1, 100 do t['k' .. i] = i end", "for k, v in pairs(t) do end", false},
	{"ipairs", "local t = {} for i = 1, 100 do t[i] = i end", "for k, v in ipairs(t) do end", false},
	{"next", "local t = {a = 1}", "next(t)", false},
	{"pcall", "local function f() end", "pcall(f)", false},
	{"pcall error", "", "pcall(error, 'x', 0)", false},
	{"pcall error at", "", "pcall(error, 'x')", false},
	{"pcall of a fault", "local function f() local x = nil + 1 end", "pcall(f)", false},
	{"xpcall error", "local function h(e) return e end", "xpcall(error, h)", false},
	{"error long", "", "pcall(error, S)", true},
	{"rawget", "local t = {a = 1}", "rawget(t, 'a')", false},
	{"rawset", "local t = {a = 1}", "rawset(t, 'a', i)", false},
	{"rawequal", "", "rawequal(i, 1)", false},
	{"setmetatable", "local t, m = {}, {}", "setmetatable(t, m)", false},
	{"getmetatable", "local t = setmetatable({}, {})", "getmetatable(t)", false},
	{"byte", "", "S:byte(1, 10)", false},
	{"char", "", "string.char(65, 66, 67)", false},
	{"sub", "", "S:sub(2, -2)", true},
	{"len", "", "S:len()", false},
	{"upper", "", "S:upper()", true},
	{"reverse", "", "S:reverse()", true},
	{"rep", "", "S:rep(10)", true},
	{"find plain", "", "S:find('zz', 1, true)", true},
	{"find", "", "S:find('z+')", true},
	{"match", "", "S:match('^(%w+)%s')", false},
	{"gmatch", "", "for w in S:gmatch('%w+') do end", true},
	{"gsub text", "", "S:gsub('%w+', '<%0>')", true},
	{"gsub function", "local function f(w) return w end", "S:gsub('%w+', f)", true},
	{"gsub table", "local t = {word = 'x'}", "S:gsub('%w+', t)", true},
	{"format text", "", "string.format('%s and %s', 'a', 'b')", false},
	{"format number", "", "string.format('%d %5.2f %x', i, i / 3, i)", false},
	{"format long number", "", "string.format('%99.99f', 1e308)", false},
	{"format short number", "", "string.format('%.3g', 1.5)", false},
	{"format quoted", "", "string.format('%q', S)", true},
	{"concat list", "", "table.concat(T, ',')", true},
	{"insert", "local t = {}", "t[1] = nil table.insert(t, i)", false},
	{"insert first", "local t = {} for i = 1, N do t[i] = i end", "table.insert(t, 1, i) table.remove(t)", true},
	{"remove first", "local t = {} for i = 1, N do t[i] = i end", "table.insert(t, table.remove(t, 1))", true},
	{"sort", "local t = {} for i = 1, N do t[i] = (i * 7919) % 10007 end", "table.sort(t, i % 2 == 0 and function(a, b) return a < b end or nil)", true},
	{"sort numbers", "local t = {} for i = 1, N do t[i] = (i * 7919) % 10007 end", "table.sort(t)", true},
	{"sort texts", "local t = {} for i = 1, N do t[i] = 'k' .. (i * 7919) % 10007 end", "table.sort(t)", true},
	{"maxn", "local t = {} for i = 1, N do t[i] = i end", "table.maxn(t)", true},
	{"append", "local t = {}", "t[#t + 1] = i", false},
	{"append key", "local t = {}", "t['k' .. i] = i", false},
	{"far key", "", "local t = {} t[N] = 1", true},
	{"values passed on", "local function g() end local function f(n, ...) for i = 1, n do g(...) end end local t = {} for i = 1, 190 do t[i] = i end", "f(100, unpack(t))", false},
	{"values counted", "local function f(n, ...) for i = 1, n do select('#', ...) end end local t = {} for i = 1, 190 do t[i] = i end", "f(100, unpack(t))", false},
	{"values assigned", "local function f(n, ...) for i = 1, n do local a = ... end end local t = {} for i = 1, 190 do t[i] = i end", "f(100, unpack(t))", false},
	{"call of a table", "local t = setmetatable({}, {__call = function() end})", "t(1, 2, 3)", false},
	{"tail call", "local function f(n) if n > 0 then return f(n - 1) end end", "f(100)", false},
	{"recursion", "local function f(n) if n > 0 then f(n - 1) end end", "f(80)", false},
	{"many arguments", "local function f() end", "f(i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i)", false},
	{"method", "local t = {f = function() end}", "t:f()", false},
	{"string method", "", "S:len()", false},
	{"assign many", "local a, b, c, d, e, f", "a, b, c, d, e, f = f, e, d, c, b, a", false},
	{"equal tables", "local m = {__eq = function() return true end} local a, b = setmetatable({}, m), setmetatable({}, m)", "local x = a == b", false},
	{"compare tables", "local m = {__lt = function() return true end} local a, b = setmetatable({}, m), setmetatable({}, m)", "local x = a < b", false},
	{"arithmetic of texts", "", "local x = '10' + '20'", false},
	{"arithmetic of tables", "local a = setmetatable({}, {__add = function() return 1 end})", "local x = a + 1", false},
	{"concat of tables", "local a = setmetatable({}, {__concat = function() return 1 end})", "local x = a .. 1", false},
	{"closure of many", manyVariables + keptVariables, "local g = function() return " + variables(120, 178) + " end", false},
	{"call under many", manyVariables + keptVariables + " local function f() end", "f()", false},
	{"many values", "local t = {} for i = 1, 200 do t[i] = i end", "unpack(t)", false},
	{"many bytes", "local s = ('a'):rep(150)", "string.char(s:byte(1, -1))", false},
	{"values in a table", "local t = {} for i = 1, 150 do t[i] = i end", "local x = {unpack(t)}", false},
	{"length with holes", "local t = {} t[60000] = 1 t[60000] = nil", "local x = #t", false},
	{"next with holes", "local t = {} t[60000] = 1", "next(t)", false},
	{"chain of indexes", "local t = {} for i = 1, 7 do t = setmetatable({}, {__index = t}) end", "local x = t.y", false},
	{"json.decode", "local s = '[' .. ('1,'):rep(N) .. '1]'", "json.decode(s)", true},
	{"floor", "", "math.floor(i / 3)", false},
	{"max", "", "math.max(i, 3, 5)", false},
	{"fmod far", "", "math.fmod(1e300, 3e-300)", false},
	{"sqrt", "", "math.sqrt(i)", false},
	{"frexp", "", "math.frexp(i)", false},
	{"view field", "local v = json.decode('{\"a\": {\"b\": 1}}')", "local x = v.a.b", false},
	{"view pairs", "local v = json.decode('{\"a\": 1, \"b\": 2, \"c\": 3}')", "for k, x in pairs(v) do end", false},
	{"merge", "local v = json.decode('{\"a\": 1, \"b\": 2, \"c\": 3}')", "merge(v, {a = 2})", false},
	{"json.encode", "", "json.encode(T)", true},
	{"annotate", "", "annotate{a = i}", false},
}

// Many variables that closures hold while their function runs.
var (
	manyVariables = "local " + variables(0, 90) + " local " + variables(90, 180)
	keptVariables = " local function k1() return " + variables(0, 45) + " end local function k2() return " + variables(45, 90) +
		" end local function k3() return " + variables(90, 135) + " end local function k4() return " + variables(135, 180) + " end"
)

func variables(from, to int) string {
	var names []string
	for i := from; i < to; i++ {
		names = append(names, fmt.Sprintf("v%d", i))
	}
	return strings.Join(names, ", ")
}

// BenchmarkCharges prints what a unit of fuel takes of the processor, which is to be about 16 ns, and
// what bytes it really makes for one that is charged.
func BenchmarkCharges(b *testing.B) {
	for _, c := range charged {
		sizes := []int{10}
		if c.many {
			sizes = []int{10, 1000, 20_000}
		}
		for _, n := range sizes {
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				for b.Loop() { // what is measured is measured below
				}
				text := strings.NewReplacer("N", fmt.Sprint(n)).Replace(fmt.Sprintf(`
local S = ("word "):rep(%d)
local T = {} for i = 1, N do T[i] = i end
hook{id = "h", version = "1", run = function(ctx, call)
    %s
    for i = 1, call.times do %s end
end}`, max(n/5, 1), c.setup, c.do))
				roomy := meter.Limits{Fuel: 1 << 50, Bytes: 1 << 50}
				defs, err := New().Load(b.Context(), interp.Source{Name: "b.lua", Text: []byte(text)}, nil, roomy)
				if err != nil {
					b.Fatal(err)
				}
				call := interptest.Call(b, "{}", payload.NewObject())
				decide := func(times int) (nanos, fuel, bytes, allocs int64) {
					call.Payload = interptest.Parse(b, fmt.Sprintf(`{"times": %d}`, times))
					start, before := processorTime(), interptest.Allocated()
					_, use, err := defs[0].Hook.Decide(b.Context(), call)
					if err != nil {
						b.Fatal(err)
					}
					return processorTime() - start, use.Fuel, use.Bytes, interptest.Allocated() - before
				}
				// What the setup takes is taken off.
				least := func(times int) (nanos, fuel, bytes, allocs int64) {
					nanos = 1 << 62
					for range 4 {
						if n, f, by, al := decide(times); n < nanos {
							nanos, fuel, bytes, allocs = n, f, by, al
						}
					}
					return nanos, fuel, bytes, allocs
				}
				nanos0, fuel0, bytes0, allocs0 := least(0)
				times := 10
				for ; times < 1_000_000; times *= 4 {
					if nanos, _, _, _ := decide(times); nanos-nanos0 > max(3e6, nanos0) {
						break
					}
				}
				best, bestFuel, bestBytes, bestAllocs := least(times)
				best, bestAllocs = best-nanos0, bestAllocs-allocs0
				b.ReportMetric(float64(best)/float64(bestFuel-fuel0+1), "ns/fuel")
				b.ReportMetric(float64(best)/float64(times), "ns/do")
				b.ReportMetric(float64(bestAllocs)/float64(bestBytes-bytes0+1), "B/charged")
			})
		}
	}
}
