package lua

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/interp"
	"agentd/interp/interptest"
)

const attacks = "attacks/*.lua"

// TestAttacksEndTheSameEachTime runs all attacks of a file in the states of one engine.
func TestAttacksEndTheSameEachTime(t *testing.T) {
	interptest.AttacksEndTheSameEachTime(t, testdata, attacks, arena)
}

func TestAHookAnswersWhileOthersAttack(t *testing.T) {
	var all []interptest.Attack
	for _, file := range []string{"sharing", "errors"} {
		all = append(all, interptest.ReadAttacks(t, testdata, "attacks/"+file+".lua")...)
	}
	interptest.AHookAnswersWhileOthersAttack(t, arena(t), all)
}

func TestAttacksComeToTheSameOnEveryMachine(t *testing.T) {
	interptest.AttacksComeToTheSameOnEveryMachine(t, testdata, attacks, "", arena(t))
}

// arena is an engine with a hook that uses what attacks reach for: the library, globals, metatables and
// the stack.
func arena(t *testing.T) interptest.Arena {
	t.Helper()
	engine := New()
	src := interp.Source{Name: "good.lua", Text: []byte(`
local names = {}
for _, lib in ipairs{string, table, math} do
    for name in pairs(lib) do names[#names + 1] = name end
end

leaked = nil -- what another file would leave, if it could

local function deep(n) if n == 0 then return "end" end return (deep(n - 1)) .. n end

hook{id = "good", version = "1", run = function(ctx, call)
    local seen = {}
    for key in pairs(call.arguments) do seen[#seen + 1] = key end
    table.sort(seen, function(a, b) return a > b end)
    local t = setmetatable({}, {__index = function(_, k) return k:upper() end})
    local ok, message = pcall(error, "caught", 0)
    return annotate{
        names = table.concat(names, " "), seen = seen, deep = deep(40), index = t.word, caught = message, text = ("x"):rep(3),
        found = ("key = value"):match("=%s*(%w+)"), formatted = string.format("%5.2f|%q|%s", 1.5, "a\n", {}), globals = type(leaked),
        null = tostring(null), max = math.max(1, 2),
    }
end}
`)}
	defs, err := engine.Load(t.Context(), src, nil, meter.Default)
	if err != nil {
		t.Fatal(err)
	}
	return interptest.Arena{
		Attack: func(ctx context.Context, t *testing.T, a interptest.Attack) interptest.Outcome {
			return attack(ctx, t, engine, a)
		},
		Decide: func(t *testing.T) string {
			t.Helper()
			list, use, err := defs[0].Hook.Decide(t.Context(), attackCall(t))
			return fmt.Sprintf("%+v %+v %v", list, use, err)
		},
		Spare: func(_ interptest.Attack, o interptest.Outcome) int64 { return spare(o) },
	}
}

// sourceFactor is how many bytes of garbage parsing and compiling make of one byte of text, at worst:
// less is charged for it, since a file's length is bounded and none of it is kept.
const sourceFactor = 200

// spare is what an attack may allocate beside what it was charged.
func spare(o interptest.Outcome) int64 { return sourceFactor*o.Read + interptest.RaceSlack }

func attackCall(tb testing.TB) *hookpoints.Call {
	return interptest.Call(tb, interptest.Payload, interptest.Parse(tb, `{"limit": 10, "names": ["a", "b"]}`))
}

var definesHook = regexp.MustCompile(`(?m)^(hook|for i = 1, 1e6 do hook)`)

// attack loads an attack. If it has a function attack, that becomes a hook that answers what the function
// returns; else its function run is the hook. The hook decides on a payload, which must be what it was
// afterwards.
func attack(ctx context.Context, t *testing.T, engine *Engine, a interptest.Attack) interptest.Outcome {
	call := attackCall(t)
	text, modules, read := a.Files()
	switch {
	case definesHook.MatchString(text):
	case strings.Contains(text, "\nfunction attack("):
		text += "\nhook{id = \"h\", version = \"1\", run = function() local v = attack() if v ~= nil then return respond(v) end end}\n"
	case strings.Contains(text, "\nfunction run("):
		text += "\nhook{id = \"h\", version = \"1\", run = run}\n"
	}
	src := interp.Source{Name: a.File, Text: []byte(text)}
	limits := interptest.AttackLimits
	if a.File == "source.lua" || a.File == "modules.lua" { // what a long text is refused for comes before its price
		limits = meter.Default
	}
	before := interptest.Allocated()
	loads := newRun(ctx, limits)
	l := newLoading(engine, engine.env(), src, modules, limits)
	loads.loading = l
	_, err := loads.loadMain(src)
	use := loads.usage()
	out := interptest.Outcome{Read: read, Charged: use.Bytes, Text: fmt.Sprintf("loading %+v", use)}
	if err == nil && len(l.Defs) > 0 {
		var list []hookpoints.Decision
		list, use, err = l.Defs[0].Hook.Decide(ctx, call)
		out.Called(list, use)
	}
	out.Allocated = interptest.Allocated() - before
	out.Err = err
	out.Text = fmt.Sprintf("%v %s", err, out.Text)
	if got := call.Payload.String(); got != interptest.Parse(t, interptest.Payload).String() {
		t.Errorf("the payload became %s", got)
	}
	return out
}
