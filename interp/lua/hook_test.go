package lua

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
	"agentd/interp/interptest"
)

const clampText = `
hook{
  id = "clamp-limit", version = "v1", point = "tool.before", targets = {"orders-search"},
  config = {type = "object"}, default = {max_limit = 100},
  run = function(ctx, call)
    local limit = call.arguments.limit
    if limit == nil or limit <= ctx.config.max_limit then
      return nil
    end
    return patch{arguments = merge(call.arguments, {limit = ctx.config.max_limit})}
  end,
}
`

func load(t testing.TB, text string) []interp.Definition {
	t.Helper()
	defs, err := New().Load(context.Background(), interp.Source{Name: "limit.lua", Text: []byte(text)}, nil, meter.Default)
	if err != nil {
		t.Fatal(err)
	}
	return defs
}

func callOf(t testing.TB, text string) *hookpoints.Call {
	t.Helper()
	p := hookpoints.Standard().Point("tool.before")
	return &hookpoints.Call{
		Point: p, Payload: interptest.Parse(t, text),
		Binding: &hookpoints.Binding{BindingID: "project/clamp-limit", Config: interptest.Parse(t, `{"max_limit": 100}`)},
		Around:  &hookpoints.Around{Now: time.Unix(1700000000, 0), Seed: "seed"},
	}
}

func TestClampPatchesTheLimitAndLeavesTheRestAsItCame(t *testing.T) {
	defs := load(t, clampText)
	call := callOf(t, `{"name":"orders-search","arguments":{"limit":5000,"q":1.50}}`)
	got, use, err := defs[0].Hook.Decide(context.Background(), call)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Verb != hookpoints.Patch || len(got[0].Fields) != 1 || got[0].Fields[0].Name != "arguments" {
		t.Fatalf("decisions: %+v", got)
	}
	args := got[0].Fields[0].Value
	if args.String() != `{"limit":100,"q":1.50}` {
		t.Errorf("arguments: %s", args)
	}
	if args.Get("q") != call.Payload.Get("arguments").Get("q") {
		t.Error("q is another node")
	}
	if use.Fuel == 0 || use.Bytes == 0 {
		t.Errorf("usage: %+v", use)
	}
}

func TestAnEndlessLoopSpendsTheBudget(t *testing.T) {
	defs := load(t, `hook{id = "spin", version = "v1", run = function() while true do end end}`)
	_, use, err := defs[0].Hook.Decide(context.Background(), callOf(t, `{}`))
	var e *interp.Error
	if !errors.As(err, &e) || !errors.Is(err, hookpoints.ErrBudget) || e.Line != 1 || e.File != "limit.lua" {
		t.Errorf("got %v", err)
	}
	if use.Fuel != meter.Default.Fuel {
		t.Errorf("usage: %+v", use)
	}
}

func TestPrintAndBacktracesGoToTheAuthorOnly(t *testing.T) {
	defs := load(t, `
local function inner(x)
  print("about to", x)
  return ({a = 1})[x].y
end

hook{id = "h", version = "1", run = function(ctx, call)
  print(call.arguments.big, 1.5, nil, {} ~= nil)
  local n = inner("b")
  return annotate{n = n}
end}
`)
	call := callOf(t, scriptPayload)
	seen := &interptest.Traces{}
	call.Tracer = seen
	_, _, err := defs[0].Hook.Decide(context.Background(), call)
	want := []string{
		"project/clamp-limit print 123456789012345678901234567890\t1.5\tnil\ttrue",
		"project/clamp-limit print about to\tb",
		`project/clamp-limit error limit.lua:4: attempt to index a non-table object(nil) with key 'y'
Traceback (most recent call last):
  limit.lua:9: in the function of line 7
  limit.lua:4: in inner`,
	}
	if diff := cmp.Diff(want, seen.Lines); diff != "" {
		t.Error(diff)
	}
	var e *interp.Error
	if !errors.As(err, &e) || e.File != "limit.lua" || e.Line != 4 || !errors.Is(err, hookpoints.ErrHookFailed) {
		t.Errorf("the error is %v", err)
	}
}

func TestPrintIsCut(t *testing.T) {
	defs := load(t, `hook{id = "h", version = "1", run = function() for i = 1, 1000 do print(("x"):rep(1000)) end end}`)
	call := callOf(t, `{}`)
	seen := &interptest.Traces{}
	call.Tracer = seen
	if _, _, err := defs[0].Hook.Decide(context.Background(), call); err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, l := range seen.Lines {
		total += len(l)
	}
	if total < interp.MaxPrinted || total > interp.MaxPrinted+len(seen.Lines)*40+20 || !strings.HasSuffix(seen.Lines[len(seen.Lines)-1], "[cut]") {
		t.Errorf("%d bytes in %d lines", total, len(seen.Lines))
	}
}

func TestWhatErrorsSay(t *testing.T) {
	for text, want := range map[string]string{
		`error("no")`:                          "limit.lua:1: no",
		`error("no", 0)`:                       "limit.lua:1: no",
		`error({code = 1})`:                    "limit.lua:1: error object is a table value",
		`error()`:                              "limit.lua:1: error object is a nil value",
		`error(12)`:                            "limit.lua:1: 12",
		`local x = call.a.b`:                   "limit.lua:1: attempt to index a non-table object(nil) with key 'b'",
		`call.a()`:                             "limit.lua:1: attempt to call a non-function object",
		`assert(false, "not so")`:              "limit.lua:1: not so",
		`assert(nil)`:                          "limit.lua:1: assertion failed!",
		`return reject()`:                      "limit.lua:1: reject: argument reason is missing",
		`return reject("a", "b", "c", "d")`:    "limit.lua:1: reject: got 4 arguments, want at most 2",
		`return reject{reason = "a", cod = 1}`: "limit.lua:1: reject: there is no argument cod",
		`return reject("a", {reason = "b"})`:   "limit.lua:1: reject: argument reason is given twice",
		`return patch("a")`:                    "limit.lua:1: patch takes one table with named fields, as in patch{name = value}",
		`return re.match("(", "a")`:            "limit.lua:1: re.match: ",
		`return re.match("a")`:                 "limit.lua:1: re.match: argument text is missing",
		`return re.match("a", 1)`:              "limit.lua:1: re.match: argument text is number, want string",
	} {
		defs := load(t, `hook{id = "h", version = "1", run = function(ctx, call) `+text+` end}`)
		_, _, err := defs[0].Hook.Decide(context.Background(), callOf(t, `{}`))
		if err == nil || !strings.HasPrefix(err.Error(), want) || !errors.Is(err, hookpoints.ErrHookFailed) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

func TestTheCountOfGsubIsNoOperandOfADecision(t *testing.T) {
	for text, want := range map[string]hookpoints.Decision{
		`context(s:gsub("a", "b"))`:         {Verb: hookpoints.Context, Text: "b b"},
		`context((s:gsub("a", "b")), true)`: {Verb: hookpoints.Context, Text: "b b", Flag: true},
		`context(two())`:                    {Verb: hookpoints.Context, Text: "c", Flag: true},
		`stop(string.gsub(s, "a", "b"))`:    {Verb: hookpoints.Stop, Text: "b b"},
		`proceed(s:gsub("a", s:upper()))`:   {Verb: hookpoints.Proceed, Text: "A A A A"},
	} {
		defs := load(t, `local s = "a a" local function two() return "c", true end hook{id = "h", version = "1", run = function() return `+text+` end}`)
		got, _, err := defs[0].Hook.Decide(t.Context(), callOf(t, `{}`))
		if err != nil || len(got) != 1 || got[0].Verb != want.Verb || got[0].Text != want.Text || got[0].Flag != want.Flag {
			t.Errorf("%s: got %+v, %v, want %+v", text, got, err, want)
		}
	}
}

func TestTheWallClockIsItsOwnErrorAndIsLookedAtEveryFewThousandSteps(t *testing.T) {
	for _, text := range []string{`while true do end`, `while true do pcall(function() while true do end end) end`} {
		defs := load(t, `hook{id = "h", version = "1", run = function() `+text+` end}`)
		_, use, err := defs[0].Hook.Decide(interptest.EndsAfter(context.Background(), 3), callOf(t, `{}`))
		if !errors.Is(err, hookpoints.ErrHostTimeout) || errors.Is(err, hookpoints.ErrBudget) {
			t.Errorf("%s: got %v", text, err)
		}
		if use.Fuel < 4*polling || use.Fuel > 5*polling {
			t.Errorf("%s: it was stopped after %d fuel", text, use.Fuel)
		}
	}
	// A short hook never looks.
	if _, _, err := load(t, clampText)[0].Hook.Decide(interptest.EndsAfter(context.Background(), 0), callOf(t, scriptPayload)); err != nil {
		t.Errorf("a short hook: %v", err)
	}
}

func TestFactsAndDecisionShareOneBudget(t *testing.T) {
	defs := load(t, `
local function spend(ctx, call)
  for i = 1, call.n do end
  return {"f"}
end
hook{id = "h", version = "1", facts = spend, run = function(ctx, call) spend(ctx, call) end}
`)
	for n, want := range map[int]error{400_000: nil, 600_000: hookpoints.ErrBudget} {
		call := callOf(t, fmt.Sprintf(`{"n":%d}`, n))
		keys, use, err := defs[0].Hook.(hookpoints.FactAsker).FactKeys(context.Background(), call)
		if err != nil || len(keys) != 1 || keys[0] != "f" {
			t.Fatal(keys, err)
		}
		call.Spent = use
		_, more, err := defs[0].Hook.Decide(context.Background(), call)
		if !errors.Is(err, want) || use.Fuel+more.Fuel > meter.Default.Fuel {
			t.Errorf("%d: got %v after %+v and %+v, want %v", n, err, use, more, want)
		}
	}
}

func TestTwoFieldsOfAMegabyteDoNotIndexTheMegabyte(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"name":"x","messages":[`)
	for i := range 9000 {
		fmt.Fprintf(&b, `{"role":"user","content":"%s","n":%d},`, strings.Repeat("y", 80), i)
	}
	b.WriteString(`{}],"arguments":{"limit":5000,"q":"z"}}`)
	var nodes payload.Counter
	v, err := payload.ParseCounted([]byte(b.String()), &nodes)
	if err != nil {
		t.Fatal(err)
	}
	call := callOf(t, `{}`)
	call.Payload = v
	got, use, err := load(t, clampText)[0].Hook.Decide(context.Background(), call)
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	small := callOf(t, `{"name":"x","messages":[],"arguments":{"limit":5000,"q":"z"}}`)
	_, smallUse, err := load(t, clampText)[0].Hook.Decide(context.Background(), small)
	if err != nil || use != smallUse {
		t.Errorf("a megabyte uses %+v, a few bytes %+v (%v)", use, smallUse, err)
	}
	if n := nodes.Nodes(); n > 10 {
		t.Errorf("%d nodes were indexed", n)
	}
}

func TestNoAddressesInText(t *testing.T) {
	defs := load(t, `
hook{id = "h", version = "1", run = function(ctx, call)
  local out = array{}
  for i, v in ipairs{{}, function() end, print, string.upper, ctx, call, call.list, null, reject("a"), string, pairs(call), call.arguments.big} do
    out[i] = tostring(v) .. " " .. string.format("%s", tostring(v)) .. " " .. select(2, pcall(error, v and "x"))
  end
  local _, e1 = pcall(function() local x = nil; local k = {}; return x[k] end)
  local _, e2 = pcall(function() return {} .. "" end)
  local _, e3 = pcall(function() return {} < {} end)
  local _, e4 = pcall(function() return {} + 1 end)
  local _, e5 = pcall(function() return string.rep({}) end)
  local _, e6 = pcall(function() return ({})() end)
  out[#out + 1] = e1 .. e2 .. e3 .. e4 .. e5 .. e6
  return annotate{out = out}
end}
`)
	got, _, err := defs[0].Hook.Decide(context.Background(), callOf(t, scriptPayload))
	if err != nil {
		t.Fatal(err)
	}
	if text := got[0].Fields[0].Value.String(); strings.Contains(text, "0x") {
		t.Errorf("an address: %s", text)
	}
}
