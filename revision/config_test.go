package revision_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentd/hookpoints/payload"
	"agentd/revision"
)

func ptr[T any](v T) *T { return &v }

func TestAConfigurationIsReadAsItIsWritten(t *testing.T) {
	c, faults := revision.ParseConfig([]byte(`
agents:
  default:
    model: {provider: openai, name: m, base_url: "http://127.0.0.1:8080/v1", api_key_env: KEY}
    tools: [shell]
    confirm: deny
    max_steps: 3
    budget: {tokens: 200000}
  play: {model: &played {provider: scripted, file: a.yaml}}
  again: {model: *played, tools: []}
hooks:
  - binding_id: a
    hook_id: h
    version: 1
    point: tool.before
    priority: -5
    timeout: 1500ms
    failure_policy: continue
    enabled: true
    purposes: [action]
    instances: []
    targets: [x, "1"]
    clients: [c]
    config:
      b: 1.50
      a: [null, true, False, ~, yes, "1", '2', 1e3, 2026-01-02, x y, 1e400, -0]
      c: {}
      d e: |
        two
        lines
  - {binding_id: b, point: [tool.before, tool.after], timeout: 0.25, enabled: false}
facts: {allow: ["git.*"]}
grants: {h: [git.commit], g: []}
listen: 127.0.0.1:1
log: {level: info}
`))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	played := revision.Model{Provider: "scripted", File: "a.yaml"}
	want := revision.Config{
		Agents: map[string]revision.Agent{
			"default": {Model: revision.Model{Provider: "openai", Name: "m", BaseURL: "http://127.0.0.1:8080/v1", APIKeyEnv: "KEY"}, Tools: []string{"shell"}, Confirm: "deny", MaxSteps: 3, Budget: revision.Budget{Tokens: 200000}},
			"play":    {Model: played},
			"again":   {Model: played, Tools: []string{}},
		},
		Hooks: []revision.Entry{
			{Line: 12, BindingID: "a", HookID: "h", Version: "1", Points: []string{"tool.before"}, Priority: ptr(-5), Timeout: ptr(1500 * time.Millisecond), FailurePolicy: ptr("continue"), Enabled: ptr(true),
				Purposes: []string{"action"}, Instances: []string{}, Targets: []string{"x", "1"}, Clients: []string{"c"},
				Config: parse(t, `{"b":1.50,"a":[null,true,false,null,"yes","1","2",1e3,"2026-01-02","x y",1e400,-0],"c":{},"d e":"two\nlines\n"}`)},
			{Line: 31, BindingID: "b", Points: []string{"tool.before", "tool.after"}, Timeout: ptr(250 * time.Millisecond), Enabled: ptr(false)},
		},
		Facts: []string{"git.*"}, FactLines: []int{32}, Grants: map[string][]string{"h": {"git.commit"}, "g": {}},
		GrantLines: map[string]int{"h": 33, "g": 33},
	}
	text := cmp.Transformer("text", func(v payload.Value) string { return v.String() })
	if diff := cmp.Diff(want, c, text); diff != "" {
		t.Error(diff)
	}
}

func TestYAMLThatIsNoConfiguration(t *testing.T) {
	for _, c := range []struct {
		name, text string
		line       int
		says       string
	}{
		{"a tab", "hooks:\n\t- a\n", 2, "character"},
		{"an open list", "hooks: [a\n", 1, ""},
		{"no UTF-8", "listen: \xff\n", 1, "UTF-8"},
		{"a list", "- a\n", 1, "the file is no mapping"},
		{"a text", "hello\n", 1, "the file is no mapping"},
		{"two documents", "listen: a\n---\nlisten: b\n", 2, "a second document"},
		{"an unknown alias", "listen: *a\n", 1, "unknown anchor"},
		{"a merge", "hooks:\n  - &a {binding_id: a}\n  - {<<: *a, point: tool.before}\n", 3, "is no text"},
		{"a merge in a config", "hooks:\n  - {binding_id: a, config: {x: &x {y: 1}, z: {<<: *x}}}\n", 2, "is no text"},
		{"a mapping as a key", "? {a: 1}\n: b\n", 1, "is no text"},
		{"a key twice in a config", "hooks:\n  - binding_id: a\n    config: {x: 1, y: 2, x: 3}\n", 3, `the key "x" stands twice`},
		{"hooks as a mapping", "hooks: {a: 1}\n", 1, "hooks is no list"},
		{"a budget of nothing", "agents:\n  a:\n    model: {provider: scripted}\n    budget: {tokens: 0}\n", 4, "tokens is 0"},
		{"a budget beyond counting", "agents: {a: {model: {provider: scripted}, budget: {tokens: 1000000000001}}}\n", 1, "tokens is 1000000000001"},
		{"a budget in words", "agents: {a: {model: {provider: scripted}, budget: {tokens: many}}}\n", 1, "tokens is no integer"},
		{"a budget of money", "agents:\n  a: {model: {provider: scripted}, budget: {usd: 5}}\n", 2, "budget.usd"},
		{"a budget that is a number", "agents: {a: {model: {provider: scripted}, budget: 5}}\n", 1, "budget"},
		{"a timeout of nan", "hooks: [{binding_id: a, timeout: .nan}]\n", 1, "timeout"},
		{"a timeout of infinity", "hooks: [{binding_id: a, timeout: inf}]\n", 1, "timeout"},
		{"a negative timeout", "hooks: [{binding_id: a, timeout: -1}]\n", 1, "timeout"},
		{"a timeout that is no text", "hooks: [{binding_id: a, timeout: [1]}]\n", 1, "timeout"},
		{"a file too large", strings.Repeat("#", revision.MaxConfigFile+1), 1, "at most 1048576"},
	} {
		_, faults := revision.ParseConfig([]byte(c.text))
		if len(faults) == 0 {
			t.Errorf("%s is taken", c.name)
			continue
		}
		f := faults[0]
		if f.Line != c.line || f.File != revision.ConfigFile || f.Fix == "" || !strings.Contains(f.Message, c.says) {
			t.Errorf("%s: %v, want line %d and %q", c.name, f, c.line, c.says)
		}
	}
	for _, text := range []string{"", "\n", "# only a comment\n", "---\n", "agents:\nhooks:\nfacts:\ngrants:\nlog:\n"} {
		if c, faults := revision.ParseConfig([]byte(text)); len(faults) > 0 || len(c.Hooks)+len(c.Agents)+len(c.Facts)+len(c.Grants) > 0 {
			t.Errorf("%q: %+v %v", text, c, faults)
		}
	}
}

// A few lines of YAML can stand for more values than there is memory, or for themselves.
func TestAliasesCanNotBlowUp(t *testing.T) {
	var laughs strings.Builder
	laughs.WriteString("hooks:\n  - binding_id: a\n    config:\n      l0: &l0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n")
	for i := 1; i < 20; i++ {
		fmt.Fprintf(&laughs, "      l%d: &l%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d, ", i-1), 10), ", "))
	}
	deep := strings.Repeat("[", 70) + strings.Repeat("]", 70)
	for name, text := range map[string]string{
		"a billion laughs":       laughs.String(),
		"a list of itself":       "hooks:\n  - {binding_id: a, config: {x: &x [*x]}}\n",
		"a mapping of itself":    "hooks:\n  - {binding_id: a, config: &x {x: *x, y: *x}}\n",
		"more levels than there": "hooks:\n  - {binding_id: a, config: {x: " + deep + "}}\n",
		"a hundred thousand":     "hooks:\n  - {binding_id: a, config: {x: [" + strings.Repeat("1,", 100_001) + "]}}\n",
	} {
		_, faults := revision.ParseConfig([]byte(text))
		if len(faults) != 1 || !strings.Contains(faults[0].Message, "more than 100000 values or 64 levels") || faults[0].BindingID != "a" || faults[0].Line == 0 {
			t.Errorf("%s: %d faults, %.1v", name, len(faults), faults)
		}
	}
	for name, text := range map[string]string{
		"agents of themselves": "agents: &a {default: *a}\n",
		"hooks of themselves":  "hooks: &h [*h]\n",
		"facts of themselves":  "facts: &f {allow: [*f]}\n",
	} {
		if _, faults := revision.ParseConfig([]byte(text)); len(faults) == 0 || len(faults) > 100 {
			t.Errorf("%s: %d faults", name, len(faults))
		}
	}
	many := "hooks:\n" + strings.Repeat("  - {nonsense: 1}\n", 10_000)
	if _, faults := revision.ParseConfig([]byte(many)); len(faults) != 100 {
		t.Errorf("%d faults, want the first hundred", len(faults))
	}
	shared := "hooks:\n  - {binding_id: a, hook_id: h, config: &c {max: 1}}\n  - {binding_id: b, hook_id: h, config: *c}\n"
	c, faults := revision.ParseConfig([]byte(shared))
	if len(faults) > 0 || c.Hooks[1].Config.String() != `{"max":1}` {
		t.Errorf("a shared config: %+v %v", c.Hooks, faults)
	}
}

func FuzzParseConfig(f *testing.F) {
	for _, s := range []string{tree["agentd.yaml"], "hooks: [{binding_id: a, config: {x: &x [*x]}}]", "a: &a\n  b: *a", "? [a]\n: b", "--- !!binary x\n...", "hooks:\n- binding_id: 1\n  timeout: 1e9s\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, faults := revision.ParseConfig(text)
		for _, fault := range faults {
			if fault.File != revision.ConfigFile || fault.Line < 1 || fault.Message == "" || fault.Fix == "" || strings.Contains(fault.Message, "\n") {
				t.Fatalf("%q: %#v", text, fault)
			}
		}
		if len(faults) > 0 {
			return
		}
		for _, e := range c.Hooks {
			if e.BindingID == "" || e.Line < 1 {
				t.Fatalf("%q: %+v", text, e)
			}
			if _, err := payload.Parse(e.Config.JSON()); err != nil {
				t.Fatalf("%q: %s: %v", text, e.Config, err)
			}
		}
	})
}
