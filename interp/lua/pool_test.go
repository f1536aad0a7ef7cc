package lua

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"sync"
	"testing"

	lua "github.com/yuin/gopher-lua"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/interp"
)

// seen is everything that scripts can reach without making it, by path: what it is, and which one.
func seen(e *Engine, L *lua.LState) map[string]string {
	out := map[string]string{}
	visited := map[lua.LValue]bool{}
	var walk func(path string, v lua.LValue)
	walk = func(path string, v lua.LValue) {
		out[path] = fmt.Sprintf("%s %v", v.Type(), v) // with its address
		if visited[v] {
			return
		}
		switch v := v.(type) {
		case *lua.LTable:
			visited[v] = true
			if v.Metatable != lua.LNil {
				walk(path+"<meta>", v.Metatable)
			}
			for k, item := v.Next(lua.LNil); k != lua.LNil; k, item = v.Next(k) {
				walk(path+"."+k.String(), item)
			}
		case *lua.LUserData:
			visited[v] = true
			walk(path+"<meta>", v.Metatable)
		case *lua.LFunction:
			visited[v] = true
			walk(path+"<env>", v.Env)
		}
	}
	walk("globals", e.env().base)
	walk("meta", e.env().meta)
	walk("text", e.env().text)
	walk("views", viewMeta)
	walk("numbers", numberMeta)
	walk("handles", handleMeta)
	walk("ctx", ctxMeta)
	walk("lists", listMeta)
	walk("nowhere", nowhere)
	walk("state's globals", L.G.Global)
	walk("state's registry", L.G.Registry)
	walk("metatable of text", L.GetMetatable(lua.LString("")))
	out["stack"] = fmt.Sprint(L.GetTop())
	return out
}

// reachable are the globals and the members of their tables, as a script writes them.
func reachable(e *Engine) (names []string) {
	base := e.env().base
	for k, v := base.Next(lua.LNil); k != lua.LNil; k, v = base.Next(k) {
		if strings.HasPrefix(k.String(), "@") {
			continue
		}
		names = append(names, k.String())
		t, ok := v.(*lua.LTable)
		if !ok {
			continue
		}
		for m, _ := t.Next(lua.LNil); m != lua.LNil; m, _ = t.Next(m) {
			names = append(names, k.String()+"."+m.String())
		}
	}
	sort.Strings(names)
	return names
}

// poison is a hook that tries to change all that it can name, in every way that there is, and then ends
// as its payload says. What fails is caught, so that it goes on.
func poison(e *Engine) string {
	var b strings.Builder
	b.WriteString(`local left = {"behind"}
local shared = 0
local function try(f, ...) return pcall(f, ...) end
hook{id = "poison", version = "1", run = function(ctx, call)
`)
	for _, name := range reachable(e) {
		fmt.Fprintf(&b, "try(function() %s = 1 end)\n", name)
		fmt.Fprintf(&b, "try(function() %s.poison = 1 end)\n", name)
		fmt.Fprintf(&b, "try(function() setmetatable(%s, {__index = function() return 1 end}) end)\n", name)
		fmt.Fprintf(&b, "try(function() getmetatable(%s).__index = 1 end)\n", name)
		fmt.Fprintf(&b, "try(function() table.insert(%s, 1) table.remove(%s) table.sort(%s) end)\n", name, name, name)
		fmt.Fprintf(&b, "try(function() array(%s) end)\n", name)
	}
	b.WriteString(`
for _, v in ipairs{"", 1, true, null, ctx, call, call.arguments, call.arguments.items, call.arguments.big, reject("x"), left, array{}} do
  try(function() getmetatable(v).__index = {} end)
  try(function() setmetatable(v, {}) end)
  try(function() v.x = 1 end)
  try(function() v[1] = 1 end)
end
try(function() left[1] = "poison" end)
try(function() shared = 1 end)
try(function() leak = 1 end)
try(function() function leak() end end)
try(function() string.upper = function() return "poison" end end)
local a, b = 1, 2
local kept = pcall(function() local c = 3 keep = function() a, b, c = 4, 5, 6 end error(keep) end)
local function deep(n) local here = n local f = function() here = here + 1 return here end if n > 0 then return f() + deep(n - 1) end error("deep") end
try(deep, 50)
try(function() deep(1000) end)
try(function(...) return select("#", ...) end, 1, 2, 3)
for k in pairs(call.arguments) do if k == "q" then break end end
local how = call.how
if how == "error" then error({"object"}) end
if how == "deep" then deep(60) end
if how == "overflow" then local function f(n) return 1 + f(n + 1) end f(1) end
if how == "spin" then while true do end end
if how == "grow" then local s = "x" while true do s = s .. s end end
if how == "many" then return {annotate{a = 1}, annotate{b = 2}} end
return annotate{a = a, b = b}
end}
hook{id = "probe", version = "1", run = function(ctx, call)
  local out = array{}
`)
	for _, name := range reachable(e) {
		fmt.Fprintf(&b, "out[#out + 1] = %q .. type(%s)\n", name+" ", name)
	}
	b.WriteString(`
  out[#out + 1] = left[1] .. shared .. tostring(leak) .. tostring(keep)
  out[#out + 1] = ("x"):upper() .. string.rep("ab", 2) .. ("%d"):format(3) .. #"abc"
  out[#out + 1] = tostring(getmetatable("")) .. type(call.arguments) .. #call.arguments.items
  for k, v in pairs(string) do out[#out + 1] = k .. type(v) end
  return annotate{out = out}
end}
`)
	return b.String()
}

func TestACallLeavesNothingBehind(t *testing.T) {
	e := New()
	text := poison(e)
	limits := meter.Limits{Fuel: 10_000_000, Bytes: 256 << 20}
	src := interp.Source{Name: "poison.lua", Text: []byte(text)}
	defs, err := e.Load(context.Background(), src, nil, limits)
	if err != nil {
		t.Fatal(err)
	}
	decide := func(d interp.Definition, how string) (string, hookpoints.Usage, error) {
		c := callOf(t, strings.Replace(scriptPayload, "{", `{"how":"`+how+`",`, 1))
		got, use, err := d.Hook.Decide(context.Background(), c)
		var out strings.Builder
		for _, x := range got {
			fmt.Fprintln(&out, x.Verb, x.Fields)
		}
		return out.String(), use, err
	}
	L := e.states.take()
	before := seen(e, L)
	L.SetTop(0)
	e.states.give(L)
	want, wantUse, err := decide(defs[1], "")
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"", "error", "deep", "overflow", "spin", "grow", "many"} {
		_, _, err := decide(defs[0], how)
		if ended := how == "" || how == "many"; ended != (err == nil) {
			t.Errorf("%q: %v", how, err)
		}
		if how == "spin" || how == "grow" {
			if !errors.Is(err, hookpoints.ErrBudget) {
				t.Errorf("%q: %v", how, err)
			}
		}
		L := e.states.take()
		L.SetContext(newRun(context.Background(), limits))
		after := seen(e, L)
		for path, is := range after {
			if was, ok := before[path]; !ok || was != is && !strings.HasPrefix(path, "state's") && !strings.HasPrefix(path, "metatable of text") {
				t.Errorf("%q: %s was %q and is %q", how, path, was, is)
			}
		}
		for path := range before {
			if _, ok := after[path]; !ok {
				t.Errorf("%q: %s is gone", how, path)
			}
		}
		e.states.give(L)
		got, use, err := decide(defs[1], "")
		if err != nil || got != want || use != wantUse {
			t.Errorf("%q: the next call came to\n%s%+v %v, want\n%s%+v", how, got, use, err, want, wantUse)
		}
	}
	fresh, err := New().Load(context.Background(), src, nil, limits)
	if err != nil {
		t.Fatal(err)
	}
	if got, use, err := decide(fresh[1], ""); err != nil || got != want || use != wantUse {
		t.Errorf("a fresh engine comes to\n%s%+v %v, want\n%s%+v", got, use, err, want, wantUse)
	}
}

func TestCallsOfOneHookAtOnceShareNothing(t *testing.T) {
	e := New()
	defs, err := e.Load(context.Background(), interp.Source{Name: "a.lua", Text: []byte(`
local names = {one = 1, list = {1, 2, 3}}
local Point = {}
Point.__index = Point
function Point.new(n) return setmetatable({n = n}, Point) end
function Point:double() self.n = self.n * 2 return self end
hook{id = "a", version = "1", run = function(ctx, call)
  local sum, made = 0, {}
  for i, v in ipairs(names.list) do made[i] = Point.new(v):double() end
  for _, p in ipairs(made) do sum = sum + p.n end
  local f = function() sum = sum + call.arguments.limit end
  f()
  return annotate{sum = sum, text = ("%d"):format(sum):rep(2)}
end}`)}, nil, meter.Default)
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 200 {
				got, _, err := defs[0].Hook.Decide(context.Background(), callOf(t, scriptPayload))
				if err != nil || got[0].Fields[0].Value.String() != "5012" || got[0].Fields[1].Value.Text() != "50125012" {
					t.Errorf("got %v, %v", got, err)
					return
				}
			}
		})
	}
	wait.Wait()
}
