package lua

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agentd/builtins/meter"
	"agentd/interp"
)

// cut is a range of lines of a test file that is left out or replaced, and why.
type cut struct {
	first, last int
	to          string
	why         string
}

// suitePrelude stands for what the tests use in passing and hooks don't have.
const suitePrelude = `local function getn(t) return #t end ` +
	`local seed = 1 local function random(n) seed = seed * 16807 % 2147483647 if n then return seed % n + 1 end return seed / 2147483647 end ` +
	`local _G = {} local function nothing() return 0 end ` +
	`arg, exit, querytab = nil `

// everywhere are the words for these in the tests, and outdated names of what has others.
var everywhere = strings.NewReplacer("table.getn", "getn", "math.random", "random", "os.clock", "nothing", "collectgarbage", "nothing",
	"string.gfind", "string.gmatch", "math.mod(", "math.fmod(")

// suite are the files of the Lua 5.1 tests that are about what hooks have, less the parts that aren't.
var suite = map[string][]cut{
	"calls.lua": {
		{67, 76, "", "loadstring"},
		{100, 100, "", "calls nest up to 100"},
		{118, 120, "a = {} for i = 1, 20 do a[i] = i end", "up to 200 values are handed on at once"},
		{123, 126, "", "the same"},
		{222, 222, "", "sin"},
		{226, 268, "", "load"},
	},
	"closure.lua": {{157, 422, "", "coroutines and environments"}},
	"constructs.lua": {
		{81, 81, "else x=x+1;", "sin"},
		{146, 154, "f = function(a, b, c, d, e) local x = a >= b or c or (d and e) or nil return x end", "loadstring"},
		{188, 191, "function F(a) return a, 2, 3 end", "debug"},
		{196, 238, "", "loadstring"},
	},
	"events.lua": {
		{5, 14, "B = 30", "environments"},
		{22, 22, "", "__tostring must give text"},
		{262, 262, "", "one operand with a metamethod will do, as in later versions"},
		{293, 294, "", "environments"},
		{298, 299, "", "environments"},
		{330, 357, "", "debug"},
	},
	"locals.lua": {
		{24, 25, "", "loadstring"},
		{54, 104, "", "environments and loadstring"},
	},
	"math.lua": {
		{95, 99, "", "functions that differ from machine to machine"},
		{102, 102, "", "the same"},
		{107, 109, "", "the same"},
		{113, 113, "", "the same"},
		{126, 144, "", "io, and the same"},
		{164, 167, "", "a module of the suite that looks into the interpreter"},
		{176, 207, "", "random numbers come from ctx.seed"},
	},
	"nextvar.lua": {
		{15, 134, "", "a module of the suite that looks into the interpreter"},
		{174, 188, "", "foreach is outdated"},
		{191, 199, "", "there is no _G"},
		{217, 246, "", "there is no _G, and environments"},
		{252, 252, "for k, v in pairs(a) do b[k] = v end", "foreach is outdated"},
		{371, 371, "", "text doesn't count as a bound of for"},
		{286, 286, "for i = 0, 50 do a[2 ^ i] = true end", "pow is written ^"},
	},
	"pm.lua": {
		{81, 93, "local abc = '' for i = 0, 255 do abc = abc .. string.char(i) end", "up to 200 values are handed on at once"},
		{152, 154, "", "there is no _G"},
		{161, 167, "", "loadstring"},
		{213, 219, "", "calls nest up to 100"},
	},
	"sort.lua":    nil,
	"strings.lua": {{93, 94, "", "text shows no addresses"}, {144, 165, "", "locales"}},
	"vararg.lua": {
		{3, 49, "local call = function(f, args) return f(unpack(args, 1, args.n)) end", "arg is Lua 5.0's"},
		{100, 114, "", "loadstring"},
	},
}

// TestSuiteOfLua51 runs the tests that come with the interpreter, which are those of Lua 5.1 itself.
func TestSuiteOfLua51(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/yuin/gopher-lua").Output()
	if err != nil {
		t.Skip("the module's files aren't here: ", err)
	}
	dir := filepath.Join(strings.TrimSpace(string(out)), "_lua5.1-tests")
	for name, cuts := range suite {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(everywhere.Replace(string(data)), "\n")
			for _, c := range cuts {
				for i := c.first - 1; i < c.last; i++ {
					lines[i] = ""
				}
				lines[c.first-1] = c.to
			}
			src := interp.Source{Name: name, Text: []byte(suitePrelude + strings.Join(lines, "\n"))}
			if _, err := New().Load(t.Context(), src, nil, meter.Limits{Fuel: 1 << 32, Bytes: 1 << 34}); err != nil {
				t.Error(err)
			}
		})
	}
}
