package lua

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/interp"
	"agentd/interp/interptest"
)

func TestModulesThatMayNotBeLoaded(t *testing.T) {
	files := map[string]string{
		"lib/one.lua":   `return require("lib.two")`,
		"lib/two.lua":   `return require("lib.one")`,
		"lib/hooks.lua": "\nhook{id = 'x', version = '1', run = function() end}",
		"lib/main.lua":  `return require("limit")`,
		"lib/error.lua": "\n\nlocal x = nil .. 'a'",
		"lib/bad.lua":   "local x =\n= 1",
	}
	for name, want := range map[string]string{
		"lib.one":   "lib/two.lua:1: require \"lib.one\": the module loads itself, by way of others",
		"lib.hooks": "lib/hooks.lua:2: hook can only be called by the main file, and lib/hooks.lua is loaded as a module",
		"lib.main":  "lib/main.lua:1: require \"limit\": the module loads itself",
		"lib.error": "lib/error.lua:3: attempt to concatenate a nil value",
		"lib.bad":   "lib/bad.lua:2: syntax error near =",
		"lib.none":  "limit.lua:1: require \"lib.none\": there is no such module in hooks/",
		"lib.a/b":   "limit.lua:1: require \"lib.a/b\": require takes names like",
	} {
		_, err := New().Load(context.Background(), interp.Source{Name: "limit.lua", Text: fmt.Appendf(nil, "require(%q)", name)}, interptest.Modules(files), meter.Default)
		if err == nil || !strings.HasPrefix(err.Error(), want) || !errors.Is(err, hookpoints.ErrHookFailed) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}

func TestModulesRunOnceAndAreNamed(t *testing.T) {
	files := map[string]string{
		"lib/one.lua": `local two = require("lib.two") two.count() return {n = two.n}`,
		"lib/two.lua": `local M = {n = 0} function M.count() M.n = 1 end return M`,
	}
	text := `local one, two = require("lib.one"), require("lib.two")
hook{id = "a", version = "1", run = function() return annotate{n = one.n} end}`
	_, err := New().Load(context.Background(), interp.Source{Name: "a.lua", Text: []byte(text)}, interptest.Modules(files), meter.Default)
	if err == nil || !strings.Contains(err.Error(), "lib/two.lua:1: this table was made while the file was loaded") {
		t.Errorf("a module changed another one: %v", err)
	}
	files["lib/one.lua"] = `return {n = require("lib.two").n + 2}`
	defs, err := New().Load(context.Background(), interp.Source{Name: "a.lua", Text: []byte(text)}, interptest.Modules(files), meter.Default)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(defs[0].Modules); got != "[lib/one.lua lib/two.lua]" {
		t.Errorf("modules: %s", got)
	}
	got, _, err := defs[0].Hook.Decide(context.Background(), callOf(t, `{}`))
	if err != nil || got[0].Fields[0].Value.String() != "2" {
		t.Errorf("got %v, %v", got, err)
	}
}

// TestSourceThatTheParserShouldNotSee are texts that would take the parser or compiler too long, or
// too deep. They are refused, and fast enough for a budget to mean something.
func TestSourceThatTheParserShouldNotSee(t *testing.T) {
	lines := func(n int, f func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(f(i))
		}
		return b.String()
	}
	for name, c := range map[string]struct{ text, want string }{
		"long":             {strings.Repeat("-", 300_000), "the file has 300000 bytes"},
		"parentheses":      {"x = " + strings.Repeat("(", 50_000), "nested deeper than 200"},
		"tables":           {"x = " + strings.Repeat("{", 50_000), "nested deeper than 200"},
		"not":              {"x = " + strings.Repeat("not ", 50_000) + "1", "nested deeper than 200"},
		"minus":            {"x = " + strings.Repeat("- ", 50_000) + "1", "nested deeper than 200"},
		"length":           {"x = " + strings.Repeat("#", 50_000) + "1", "nested deeper than 200"},
		"functions":        {strings.Repeat("function f() ", 10_000), "nested deeper than 200"},
		"do":               {strings.Repeat("do ", 50_000), "nested deeper than 200"},
		"if":               {strings.Repeat("if x then ", 20_000), "nested deeper than 200"},
		"repeat":           {strings.Repeat("repeat ", 20_000), "nested deeper than 200"},
		"elseif":           {"if x then " + strings.Repeat("elseif x then ", 15_000) + "end", "follow one another"},
		"plus":             {"x = 1" + strings.Repeat("+1", 100_000), "follow one another"},
		"concat":           {"x = 1" + strings.Repeat(" ..1", 60_000), "follow one another"},
		"concat texts":     {"x = ''" + strings.Repeat("..''", 60_000), "follow one another"},
		"power":            {"x = 1" + strings.Repeat("^1", 100_000), "follow one another"},
		"fields":           {"x = a" + strings.Repeat(".b", 100_000), "follow one another"},
		"calls":            {"a" + strings.Repeat("()", 100_000), "follow one another"},
		"methods":          {"a" + strings.Repeat(":b()", 60_000), "follow one another"},
		"string calls":     {"a" + strings.Repeat("''", 100_000), "follow one another"},
		"and":              {"x = a" + strings.Repeat(" and a", 40_000), "follow one another"},
		"constants":        {lines(25_000, func(i int) string { return fmt.Sprintf("x=%d.5\n", i) }), "more than 2000 names, texts and numbers"},
		"names":            {lines(20_000, func(i int) string { return fmt.Sprintf("x%d=1\n", i) }), "more than 2000 names, texts and numbers"},
		"many functions":   {lines(12_000, func(i int) string { return "f(function()end)\n" }), "more than 2000 functions"},
		"locals":           {lines(10_000, func(i int) string { return fmt.Sprintf("local x%d\n", i) }), "too many local variables|register overflow"},
		"upvalues":         {lines(190, func(i int) string { return fmt.Sprintf("local x%d\n", i) }) + "function f()\n" + lines(190, func(i int) string { return fmt.Sprintf("x%d=1\n", i) }) + "end", "uses more than 60 variables"},
		"items":            {"x = {" + strings.Repeat("1,", 100_000) + "}", "at most 20000 can be written out"},
		"names in a table": {"x = {" + lines(20_000, func(i int) string { return fmt.Sprintf("x%d=1,", i) }) + "}", "more than 2000 names"},
		"a long name":      {"x = a." + strings.Repeat("b", 100_000), ""},
		"labels":           {lines(20_000, func(i int) string { return fmt.Sprintf("::x%d::\n", i) }), "more than 200 labels"},
		"gotos":            {lines(20_000, func(i int) string { return "goto x\n" }), "more than 200 labels"},
		"comments":         {strings.Repeat("--\n", 80_000), ""},
		"open bracket":     {"x = [[" + strings.Repeat("a", 200_000), ""},
		"brackets":         {strings.Repeat("[=", 100_000), ""},
		"open quote":       {`x = "` + strings.Repeat("a", 200_000), ""},
		"escapes":          {`x = "` + strings.Repeat(`\065`, 60_000) + `"`, ""},
		"zero bytes":       {strings.Repeat("\x00", 200_000), ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New().Load(context.Background(), interp.Source{Name: "a.lua", Text: []byte(c.text)}, nil, meter.Default)
			matches := false
			for _, want := range strings.Split(c.want, "|") {
				matches = matches || c.want == "" || err != nil && strings.Contains(err.Error(), want)
			}
			if !matches {
				t.Errorf("got %v, want %s", err, c.want)
			}
			var e *interp.Error
			if err != nil && !errors.As(err, &e) {
				t.Errorf("it is no *interp.Error: %v", err)
			}
		})
	}
}

func TestAnErrorIsBlamedOnTheHookThatIsRefusedOnly(t *testing.T) {
	for text, want := range map[string]string{
		`hook{id = "bad", version = 1, run = function() end}`:                                     "bad",
		`pcall(hook, {id = "bad", version = 1}) error("something else")`:                          "",
		`pcall(hook, {id = "bad", version = 1}) hook{id = "worse", version = 1}`:                  "worse",
		`xpcall(function() hook{id = "bad", version = 1} end, function() end) error("not of it")`: "",
	} {
		_, err := New().Load(t.Context(), interp.Source{Name: "a.lua", Text: []byte(text)}, nil, meter.Default)
		var fault *interp.Error
		if !errors.As(err, &fault) || fault.HookID != want {
			t.Errorf("%s: %q is blamed, want %q: %v", text, fault.HookID, want, err)
		}
	}
}

func TestAModuleThatFailsIsFoundOnce(t *testing.T) {
	for text, want := range map[string]int{
		`for i = 1, 3 do pcall(require, "lib.a") end`:                                         1,
		`for i = 1, 3 do pcall(require, "missing.a") end`:                                     1,
		`for i = 1, 1000 do pcall(require, "missing.a" .. i) end pcall(require, "lib.a")`:     100,
		`pcall(require, "lib.a") for i = 1, 1000 do pcall(require, "missing.a" .. i % 7) end`: 8,
	} {
		asked := 0
		find := func(name string) (interp.Source, error) {
			asked++
			if strings.HasPrefix(name, "missing") {
				return interp.Source{}, errors.New("there is no such module")
			}
			return interp.Source{Name: name, Text: []byte("return missing")}, nil
		}
		if _, err := New().Load(t.Context(), interp.Source{Name: "a.lua", Text: []byte(text)}, find, meter.Default); err != nil || asked != want {
			t.Errorf("%s: it was asked %d times, want %d: %v", text, asked, want, err)
		}
	}
}
