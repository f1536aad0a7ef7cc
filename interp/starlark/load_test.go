package starlark

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
	"agentd/interp/interptest"
)

func load(text string, limits meter.Limits) ([]interp.Definition, error) {
	return New().Load(context.Background(), interp.Source{Name: "main.star", Text: []byte(text)}, modulesOf, limits)
}

var compareTrees = cmp.Comparer(func(a, b payload.Value) bool { return a.Exists() == b.Exists() && a.String() == b.String() })

func TestDefinitionHoldsWhatHookWasGiven(t *testing.T) {
	defs, err := load(`
load("//lib/a.star", "a_list")
def run(ctx, call):
    return None
hook(
    id = "all", version = "v2", run = run, point = ["tool.before", "tool.after"], guard = False, observation = True,
    background = True, isolate = True, facts = ["git.head", "file:AGENTS.md"], effects = ["notify"],
    state = {"name": "shared", "scope": "project"}, kinds = ["shell", "edit"], clients = ["gemini"], purposes = ["action"],
    instances = ["main", "child"], targets = ["orders-search"], priority = -5, timeout = "500ms", failure_policy = "continue",
    stream = "provisional", contract = 3, config = {"type": "object"}, default = {"a": 1.0},
)
hook(id = "little", version = "1", run = run, state = "mine", targets = [])
`, meter.Default)
	if err != nil {
		t.Fatal(err)
	}
	want := []interp.Definition{{
		HookID: "all", Version: "v2", File: "main.star", Line: 5, Points: []string{"tool.before", "tool.after"},
		Purposes: []string{"action"}, Instances: []string{"main", "child"}, Targets: []string{"orders-search"},
		Kinds: []string{"shell", "edit"}, Clients: []string{"gemini"},
		ConfigSchema: interptest.Parse(t, `{"type":"object"}`), Default: interptest.Parse(t, `{"a":1.0}`),
		Priority: -5, Timeout: 500 * time.Millisecond, FailurePolicy: "continue", Stream: "provisional", Contract: 3,
		Observation: true, Background: true, Isolate: true, FactKeys: []string{"git.head", "file:AGENTS.md"},
		Effects: []string{"notify"}, StateName: "shared", StateProject: true, Modules: []string{"lib/a.star", "lib/b.star"},
	}, {
		HookID: "little", Version: "1", File: "main.star", Line: 12, Targets: []string{}, StateName: "mine",
		Priority: hookpoints.DefaultPriority, Timeout: time.Second, FailurePolicy: "block", Stream: "held", Contract: 2,
		Modules: []string{"lib/a.star", "lib/b.star"},
	}}
	if diff := cmp.Diff(want, defs, compareTrees, cmpopts.IgnoreFields(interp.Definition{}, "Hook")); diff != "" {
		t.Error(diff)
	}
}

func TestEachModuleRunsOnce(t *testing.T) {
	var asked []string
	module := func(name string) (interp.Source, error) {
		asked = append(asked, name)
		return modulesOf(name)
	}
	text := `
load("//lib/b.star", "copy")
load("//lib/a.star", "a_list")
load("//lib/b.star", "b_list")
`
	if _, err := New().Load(context.Background(), interp.Source{Name: "main.star", Text: []byte(text)}, module, meter.Default); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"lib/b.star", "lib/a.star"}, asked); diff != "" {
		t.Error(diff)
	}
}

func TestFaultsOfLoadingSayWhere(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	blocks := func(n int) string {
		var b strings.Builder
		b.WriteString("def f():\n")
		for i := range n {
			b.WriteString(strings.Repeat(" ", i+1) + "if 1:\n")
		}
		return b.String() + strings.Repeat(" ", n+1) + "pass\n"
	}
	for name, c := range map[string]struct {
		text, want string
		cause      error
	}{
		"syntax":              {"x = 1\ny = (\n", "main.star:3: got end of file, want primary expression", hookpoints.ErrHookFailed},
		"names":               {"x = a\ny = b\n", "main.star:1: undefined: a (and 1 more)", hookpoints.ErrHookFailed},
		"in a module":         {"\nload(\"//lib/broken.star\", \"y\")\n", "lib/broken.star:4: floored division by zero", hookpoints.ErrHookFailed},
		"modules in a circle": {"load(\"//lib/cycle1.star\", \"x\")\n", "lib/cycle2.star:1: cannot load //lib/cycle1.star: the module loads itself, by way of others", hookpoints.ErrHookFailed},
		"hook in a module":    {"load(\"//lib/defines.star\", \"run\")\n", "lib/defines.star:4: hook can only be called by the main file, and lib/defines.star is loaded as a module", hookpoints.ErrHookFailed},
		"fuel":                {"x = [i for i in range(1000000000)]\n", "main.star:1: the budget of 1000000 fuel and 67108864 bytes is spent", hookpoints.ErrBudget},
		"bytes":               {"x = \"a\" * 100000000\n", "main.star:1: the budget of", hookpoints.ErrBudget},
		"too long":            {"#" + strings.Repeat("x", interp.MaxSource), "main.star: the file has 262145 bytes, at most 262144 are allowed", hookpoints.ErrHookFailed},
		"brackets":            {"x = " + nested(199) + "\ny = " + nested(200), "main.star:2: nested deeper than 200 levels", hookpoints.ErrHookFailed},
		"blocks":              {blocks(199), "main.star:201: nested deeper than 200 levels", hookpoints.ErrHookFailed},
		"signs":               {"x = " + strings.Repeat("- ", 5000) + "1", "main.star:1: excessive nesting", hookpoints.ErrHookFailed},
		"lambdas":             {"x = " + strings.Repeat("lambda: ", 5000) + "1", "main.star:1: excessive nesting", hookpoints.ErrHookFailed},
		"operators":           {"x = 1" + strings.Repeat(" + y", 5000), "main.star:1: expressions and blocks nest deeper than 1000", hookpoints.ErrHookFailed},
		"suffixes":            {"x = y" + strings.Repeat("[0]", 5000), "main.star:1: expressions and blocks nest deeper than 1000", hookpoints.ErrHookFailed},
		"functions":           {strings.Repeat("f(lambda: 1)\n", 2001), "main.star:1: the file and its modules have 2001 functions, at most 2000 are allowed", hookpoints.ErrHookFailed},
		"an integer":          {"x = " + strings.Repeat("9", 2000), "main.star:1: an integer has more than 4096 bits", hookpoints.ErrHookFailed},
		"a circle that stays": {"x = []\nx.append(x)\n", "main.star: global x: a value that outlives loading contains itself", hookpoints.ErrHookFailed},
		"a circle in a hook":  {"def make():\n    x = []\n    x.append(x)\n    return lambda ctx, call: x\nhook(id = \"a\", version = \"1\", run = make())\n", "main.star:5: a value that outlives loading contains itself", hookpoints.ErrHookFailed},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(c.text, meter.Default)
			var e *interp.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want an *interp.Error", err)
			}
			if !strings.HasPrefix(e.Error(), c.want) {
				t.Errorf("got %s\nwant %s", e, c.want)
			}
			if !errors.Is(err, c.cause) {
				t.Errorf("the cause is %v, want %v", e.Cause, c.cause)
			}
			if e.Cause == hookpoints.ErrHookFailed && errors.Is(err, hookpoints.ErrBudget) {
				t.Error("it has two causes")
			}
		})
	}
}

func TestWhatJustFitsLoads(t *testing.T) {
	for name, text := range map[string]string{
		"brackets in text":     `x = "` + strings.Repeat("[", 500) + `" + '''` + strings.Repeat("(\n", 500) + `''' + r"\[" # ` + strings.Repeat("{", 500),
		"a quote in a comment": "# it's\nx = [1]\n# \"\"\"\ny = 2\n",
		"carriage returns":     "def f():\r\n    return 1\r\nx = f()\r\n",
		"many operators":       "y = 1\nx = 1" + strings.Repeat(" + y", 900),
		"many branches":        "def f(x):\n    if x == 0:\n        return 0\n" + strings.Repeat("    elif x == 1:\n        return 1\n", 2000),
		"a long display":       "x = {" + strings.Repeat("\"k\": ", 1) + "[" + strings.Repeat("1, ", 20000) + "]}",
		"nothing":              "",
		"only a comment":       "# nothing",
		"70 brackets":          "x = " + strings.Repeat("[", 70) + strings.Repeat("]", 70), // the parser gives up below the limit
	} {
		if _, err := load(text, meter.Default); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestALongChainOfModulesSharesOneBudget(t *testing.T) {
	module := func(name string) (interp.Source, error) {
		var n int
		if _, err := fmt.Sscanf(name, "m%d.star", &n); err != nil {
			return interp.Source{}, err
		}
		return interp.Source{Name: name, Text: fmt.Appendf(nil, "load(\"//m%d.star\", y = \"x\")\nx = [i for i in range(1000)]\n", n+1)}, nil
	}
	for range 2 {
		_, err := New().Load(context.Background(), interp.Source{Name: "main.star", Text: []byte("load(\"//m0.star\", \"x\")\n")}, module, meter.Limits{Fuel: 5000, Bytes: 1 << 20})
		if !errors.Is(err, hookpoints.ErrBudget) {
			t.Errorf("got %v", err)
		}
	}
}

func TestTheEndOfTheContextEndsLoading(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := New().Load(ctx, interp.Source{Name: "main.star", Text: []byte("x = [i for i in range(100000)]\n")}, nil, meter.Default)
	if !errors.Is(err, hookpoints.ErrHostTimeout) || errors.Is(err, hookpoints.ErrBudget) {
		t.Errorf("got %v", err)
	}
}
