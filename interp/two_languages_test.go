package interp_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/tools/txtar"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
	"agentd/interp/interptest"
	"agentd/interp/lua"
	"agentd/interp/starlark"
)

var update = flag.Bool("update", false, "write what the calls of testdata/two_languages decide")

// leastHooks is how many hooks are written in both languages.
const leastHooks = 60

// twoCall is one line of calls.json: what a hook sees, and what both languages must say to it.
type twoCall struct {
	Hook    string        `json:"hook"`
	Payload payload.Value `json:"payload"`
	Config  payload.Value `json:"config,omitzero"`
	State   payload.Value `json:"state,omitzero"`
	Facts   payload.Value `json:"facts,omitzero"`
	Missing payload.Value `json:"missing,omitzero"`
	Scope   payload.Value `json:"scope,omitzero"`
	Asks    []string      `json:"asks,omitempty"`  // the facts that its function asks for
	Says    []string      `json:"says"`            // its decisions
	Error   string        `json:"error,omitempty"` // or the word of its failure
}

// usageFile is what the calls in Lua used on some machine. Other machines, architectures, time zones and
// languages must come to the same.
const usageFile = "testdata/lua_usage.json"

// TestLuaUsesTheSameOnEveryMachine holds fuel and bytes of every call in Lua against what was recorded.
func TestLuaUsesTheSameOnEveryMachine(t *testing.T) {
	got := map[string][]hookpoints.Usage{}
	for _, a := range archives(t) {
		defs := definitions(t, a.Archive, "hooks.lua", lua.New())
		for _, c := range calls(t, a.Archive) {
			got[a.name+" "+c.Hook] = append(got[a.name+" "+c.Hook], c.ask(t, defs, &twoCall{}))
		}
	}
	if *update {
		text, err := json.MarshalIndent(got, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(usageFile, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(usageFile)
	if err != nil {
		t.Fatal(err)
	}
	var want map[string][]hookpoints.Usage
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hooks in Lua use something else than recorded; if a script or the charges changed, go test ./interp -update\n%s", diff)
	}
}

// archive is one file of testdata/two_languages.
type archive struct {
	*txtar.Archive
	name, file string
}

func archives(t *testing.T) (out []archive) {
	t.Helper()
	files, err := filepath.Glob("testdata/two_languages/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, archive{a, strings.TrimSuffix(filepath.Base(file), ".txtar"), file})
	}
	return out
}

func calls(t *testing.T, a *txtar.Archive) (out []twoCall) {
	t.Helper()
	for i, line := range strings.Split(strings.TrimSpace(part(t, a, "calls.json")), "\n") {
		var c twoCall
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatalf("call %d: %v", i+1, err)
		}
		out = append(out, c)
	}
	return out
}

// TestTwoLanguages runs the same hooks in both languages on the same payloads. A file holds hooks.star,
// hooks.lua, modules under lib/ and calls.json, a call a line.
func TestTwoLanguages(t *testing.T) {
	hooks := 0
	for _, a := range archives(t) {
		t.Run(a.name, func(t *testing.T) {
			star, other := definitions(t, a.Archive, "hooks.star", starlark.New()), definitions(t, a.Archive, "hooks.lua", lua.New())
			same := cmp.Options{cmp.Comparer(func(x, y payload.Value) bool { return x.String() == y.String() }),
				cmpopts.EquateEmpty(), cmpopts.IgnoreFields(interp.Definition{}, "File", "Line", "Hook", "Modules")}
			if diff := cmp.Diff(star, other, same); diff != "" {
				t.Fatalf("the definitions differ: %s", diff)
			}
			hooks += len(star)
			called := map[string]bool{}
			var out []string
			for i, c := range calls(t, a.Archive) {
				called[c.Hook] = true
				one, two := c, c
				c.ask(t, star, &one)
				c.ask(t, other, &two)
				if diff := cmp.Diff(one, two, same); diff != "" {
					t.Errorf("call %d of %s: Starlark and Lua differ: %s", i+1, c.Hook, diff)
				}
				if *update {
					var text strings.Builder
					enc := json.NewEncoder(&text)
					enc.SetEscapeHTML(false)
					if err := enc.Encode(one); err != nil {
						t.Fatal(err)
					}
					out = append(out, strings.TrimSpace(text.String()))
				} else if diff := cmp.Diff(c, two, same); diff != "" {
					t.Errorf("call %d of %s: %s", i+1, c.Hook, diff)
				}
			}
			for _, d := range star {
				if !called[d.HookID] {
					t.Errorf("nobody calls %s", d.HookID)
				}
			}
			if *update {
				setPart(a.Archive, "calls.json", strings.Join(out, "\n")+"\n")
				if err := os.WriteFile(a.file, txtar.Format(a.Archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	if hooks < leastHooks {
		t.Errorf("%d hooks are written in both languages, want at least %d", hooks, leastHooks)
	}
}

func part(t *testing.T, a *txtar.Archive, name string) string {
	t.Helper()
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("there is no %s", name)
	}
	return string(a.Files[i].Data)
}

func setPart(a *txtar.Archive, name, text string) {
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == name })
	a.Files[i].Data = []byte(text)
}

func definitions(t *testing.T, a *txtar.Archive, name string, engine interp.Engine) []interp.Definition {
	t.Helper()
	texts := map[string]string{}
	for _, f := range a.Files {
		texts[f.Name] = string(f.Data)
	}
	defs, err := engine.Load(context.Background(), interp.Source{Name: name, Text: []byte(part(t, a, name))}, interptest.Modules(texts), meter.Default)
	if err != nil {
		t.Fatal(err)
	}
	return defs
}

// ask calls a hook, writes down what it said, and returns what it used.
func (c twoCall) ask(t *testing.T, defs []interp.Definition, to *twoCall) hookpoints.Usage {
	t.Helper()
	i := slices.IndexFunc(defs, func(d interp.Definition) bool { return d.HookID == c.Hook })
	if i < 0 {
		t.Fatalf("there is no hook %s", c.Hook)
	}
	scope := c.Scope
	if !scope.Exists() {
		scope = payload.NewObject()
	}
	s, err := hookpoints.NewScope(scope)
	if err != nil {
		t.Fatal(err)
	}
	config := c.Config
	if !config.Exists() {
		config = defs[i].Default
	}
	point := "tool.before"
	if len(defs[i].Points) > 0 {
		point = defs[i].Points[0]
	}
	call := &hookpoints.Call{
		Point: hookpoints.Standard().Point(point), Payload: c.Payload, Facts: c.Facts, Missing: c.Missing, State: c.State,
		Binding: &hookpoints.Binding{BindingID: "project/" + c.Hook, Config: config}, Tracer: &interptest.Traces{},
		Around: &hookpoints.Around{Scope: s, Now: time.Unix(1700000000, 5e6), Seed: "s33d"},
	}
	if asks, ok := defs[i].Hook.(hookpoints.FactAsker); ok {
		var use hookpoints.Usage
		to.Asks, use, err = asks.FactKeys(context.Background(), call)
		call.Spent = use
		if err != nil {
			to.Says, to.Error = []string{}, word(err)
			return use
		}
	}
	list, use, err := defs[i].Hook.Decide(context.Background(), call)
	if use.Fuel == 0 {
		t.Errorf("%s used no fuel", c.Hook)
	}
	to.Says, to.Error = []string{}, word(err)
	for _, d := range list {
		to.Says = append(to.Says, sentence(d))
	}
	return use
}

func word(err error) string {
	for _, e := range []error{hookpoints.ErrBudget, hookpoints.ErrHostTimeout, hookpoints.ErrHookFailed} {
		if errors.Is(err, e) {
			return e.Error()
		}
	}
	if err != nil {
		return "?: " + err.Error()
	}
	return ""
}

// sentence is a decision in words.
func sentence(d hookpoints.Decision) string {
	s := d.Verb.String()
	if len(d.Fields) > 0 {
		s += " " + payload.NewObject(d.Fields...).String()
	}
	if d.Value.Exists() {
		s += " " + d.Value.String()
	}
	if d.Name != "" {
		s += " " + d.Name
	}
	if d.Text != "" {
		s += fmt.Sprintf(" %q", d.Text)
	}
	if d.Flag {
		s += " !"
	}
	return s
}
