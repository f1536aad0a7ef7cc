package hookpoints_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

func scope(t *testing.T, text string) hookpoints.Scope {
	t.Helper()
	s, err := hookpoints.NewScope(parse(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestABindingMatchesByWhatItSays(t *testing.T) {
	set := func(purposes, instances, targets, kinds, clients []string) func(*hookpoints.Binding) {
		return func(b *hookpoints.Binding) {
			b.Purposes, b.Instances, b.Targets, b.Kinds, b.Clients = purposes, instances, targets, kinds, clients
		}
	}
	for _, c := range []struct {
		name, point string
		binding     func(*hookpoints.Binding)
		yes, no     []string
	}{
		{"nothing said at a tool", "tool.before", set(nil, nil, nil, nil, nil), []string{`{}`, `{"purpose":"completion","instance_id":"sub-1","kind":"read","client":"x"}`}, nil},
		{"nothing said at a model", "model.chat.before", set(nil, nil, nil, nil, nil), []string{`{}`, `{"purpose":null}`, `{"purpose":"action"}`}, []string{`{"purpose":"compaction"}`, `{"purpose":"completion"}`, `{"purpose":"verification"}`, `{"purpose":"document"}`}},
		{"nothing said at an embedder", "model.embedding.before", set(nil, nil, nil, nil, nil), []string{`{"purpose":"document"}`, `{"purpose":"query"}`}, []string{`{}`, `{"purpose":"action"}`}},
		{"completion is verification", "model.chat.before", set([]string{"completion"}, nil, nil, nil, nil), []string{`{"purpose":"verification"}`, `{"purpose":"completion"}`}, []string{`{}`}},
		{"verification is completion", "model.chat.before", set([]string{"verification"}, nil, nil, nil, nil), []string{`{"purpose":"verification"}`, `{"purpose":"completion"}`}, []string{`{}`}},
		{"no purposes at all", "tool.before", set([]string{}, nil, nil, nil, nil), nil, []string{`{}`, `{"purpose":"action"}`}},
		{"children", "tool.before", set(nil, []string{"child"}, nil, nil, nil), []string{`{"instance_id":"sub-2"}`}, []string{`{}`, `{"instance_id":"main"}`, `{"instance_id":null}`}},
		{"main", "tool.before", set(nil, []string{"main"}, nil, nil, nil), []string{`{}`, `{"instance_id":null}`}, []string{`{"instance_id":"sub-2"}`}},
		{"targets", "tool.before", set(nil, nil, []string{"shell", "edit"}, nil, nil), []string{`{"target":"shell"}`, `{"target":"edit"}`}, []string{`{}`, `{"target":"read"}`, `{"target":null}`, `{"tool_id":"shell"}`}},
		{"kinds", "tool.before", set(nil, nil, nil, []string{"write", "edit"}, nil), []string{`{"kind":"edit"}`}, []string{`{}`, `{"kind":"read"}`}},
		{"clients", "tool.before", set(nil, nil, nil, nil, []string{"gemini"}), []string{`{"client":"gemini"}`}, []string{`{}`, `{"client":"claude"}`}},
		{"all of it", "model.chat.before", set([]string{"completion"}, []string{"child"}, []string{"m1"}, nil, nil), []string{`{"purpose":"verification","instance_id":"sub-1","target":"m1"}`},
			[]string{`{"purpose":"verification","instance_id":"sub-1","target":"m2"}`, `{"purpose":"verification","target":"m1"}`, `{"instance_id":"sub-1","target":"m1"}`}},
	} {
		b := bind("b", says(), c.binding)
		b.Point = c.point
		table := hookpoints.NewTable(hookpoints.Standard(), &clock{}, []*hookpoints.Binding{b})
		for want, scopes := range map[int][]string{1: c.yes, 0: c.no} {
			for _, text := range scopes {
				for range 2 { // planned, and recalled
					if got := len(table.Chain(c.point, scope(t, text)).Bindings(hookpoints.Ordinary)); got != want {
						t.Errorf("%s: %d bindings for %s, want %d", c.name, got, text, want)
					}
				}
			}
		}
	}
	table := hookpoints.NewTable(hookpoints.Standard(), &clock{}, nil)
	if c := table.Chain("tool.never", scope(t, `{}`)); c != nil {
		t.Error("a point that doesn't exist has a chain")
	}
	if c := table.Chain("tool.before", hookpoints.Scope{}); c == nil || len(c.Bindings(hookpoints.Guards)) != 0 {
		t.Error("the zero scope can't be planned")
	}
}

// Targets come from models: a thousand of them and more neither mix up plans nor pile up.
func TestPlansAreKeptApartHoweverManyTargetsThereAre(t *testing.T) {
	var bindings []*hookpoints.Binding
	for i := range 3 {
		b := bind(fmt.Sprint("b", i), says(), func(b *hookpoints.Binding) { b.Targets = []string{fmt.Sprint("t", i)} })
		b.Point = "tool.before"
		bindings = append(bindings, b)
	}
	table := hookpoints.NewTable(hookpoints.Standard(), &clock{}, bindings)
	for i := range 5000 {
		list := table.Chain("tool.before", scope(t, fmt.Sprintf(`{"target":"t%d"}`, i%2500))).Bindings(hookpoints.Ordinary)
		if n := i % 2500; (n < 3) != (len(list) == 1) || n < 3 && list[0] != bindings[n] {
			t.Fatalf("target t%d has %d bindings", n, len(list))
		}
	}
}

func TestTheOrderIsPriorityLayerFileLineAndThenTheEntries(t *testing.T) {
	in := func(layer hookpoints.Layer, file string, line, entry, priority int) func(*hookpoints.Binding) {
		return func(b *hookpoints.Binding) {
			b.Layer, b.File, b.Line, b.ConfigOrder, b.Priority = layer, file, line, entry, priority
		}
	}
	want := []*hookpoints.Binding{
		bind("early", says(), in(hookpoints.Project, "z.star", 9, 0, -5)),
		bind("shipped", says(), in(hookpoints.Shipped, "z.star", 1, 0, 100)),
		bind("shipped entry", says(), in(hookpoints.Shipped, "a.star", 1, 1, 100)),
		bind("user a9", says(), in(hookpoints.User, "a.star", 9, 0, 100)),
		bind("user b2", says(), in(hookpoints.User, "b.star", 2, 0, 100)),
		bind("user b10", says(), in(hookpoints.User, "b.star", 10, 0, 100)),
		bind("user lib", says(), in(hookpoints.User, "sub/a.star", 1, 0, 100)),
		bind("user entry 1", says(), in(hookpoints.User, "z.star", 90, 1, 100)),
		bind("user entry 2", says(), in(hookpoints.User, "a.star", 1, 2, 100)),
		bind("project", says(), in(hookpoints.Project, "a.star", 1, 0, 100)),
		bind("late", says(), in(hookpoints.Shipped, "a.star", 1, 0, 101)),
		bind("untrusted", says(), in(hookpoints.Project, "a.star", 1, 0, -99), untrusted),
	}
	for shift := range want {
		mixed := append(slices.Clone(want[shift:]), want[:shift]...)
		slices.Reverse(mixed)
		got := hookpoints.NewChain(point(t, "tool.before"), &clock{}, mixed).Bindings(hookpoints.Ordinary)
		for i, b := range got {
			if b != want[i] {
				t.Fatalf("place %d has %s, want %s", i, b.BindingID, want[i].BindingID)
			}
		}
	}
}

func TestABindingThatCanNeverMatchIsAFault(t *testing.T) {
	none := []string{}
	for _, c := range []struct {
		at     string
		change func(*hookpoints.Binding)
		says   string
	}{
		{"tool.before", func(b *hookpoints.Binding) {}, ""},
		{"tool.before", func(b *hookpoints.Binding) {
			b.Purposes, b.Instances, b.Kinds = []string{"verification"}, []string{"main", "child"}, []string{"mcp"}
		}, ""},
		{"tool.before", func(b *hookpoints.Binding) { b.Targets = none }, ""}, // empty means all
		{"tool.before", func(b *hookpoints.Binding) { b.Purposes = none }, "purposes is empty"},
		{"tool.before", func(b *hookpoints.Binding) { b.Instances = none }, "instances is empty"},
		{"tool.before", func(b *hookpoints.Binding) { b.Kinds = none }, "kinds is empty"},
		{"tool.before", func(b *hookpoints.Binding) { b.Clients = none }, "clients is empty"},
		{"tool.before", func(b *hookpoints.Binding) { b.Purposes = []string{"action", "fun"} }, `purposes has "fun"`},
		{"tool.before", func(b *hookpoints.Binding) { b.Instances = []string{"sub-1"} }, `instances has "sub-1"`},
		{"tool.before", func(b *hookpoints.Binding) { b.Kinds = []string{"bash"} }, `kinds has "bash"`},
		{"tool.before", func(b *hookpoints.Binding) { b.Targets = []string{""} }, `targets has ""`},
		{"turn.before", func(b *hookpoints.Binding) { b.Targets = []string{"shell"} }, "turn.before has no targets"},
		{"context.prepare.before", func(b *hookpoints.Binding) { b.Targets = []string{"m"} }, "has no targets"},
	} {
		message, fix := bind("b", says(), c.change).MatchFault(point(t, c.at))
		if c.says == "" && message != "" || !strings.Contains(message, c.says) || (message == "") != (fix == "") {
			t.Errorf("%q; %q, want %q", message, fix, c.says)
		}
	}
}

func TestAScopeIsAClosedSetOfScalars(t *testing.T) {
	fields := hookpoints.ScopeFields()
	for _, name := range fields {
		for _, text := range []string{`"read"`, `7`, `null`} {
			v := payload.NewObject(field(name, parse(t, text)))
			_, err := hookpoints.NewScope(v)
			if ok := err == nil; ok == (name == "absent") {
				t.Errorf("%s: %v", v, err)
			}
		}
		s, _ := hookpoints.NewScope(payload.Value{})
		if got := s.Get(name); got.Kind() != payload.Null {
			t.Errorf("%s of an empty scope is %s", name, got.Kind())
		}
	}
	for _, text := range []string{`[]`, `{"nonsense":1}`, `{"run_id":1.5}`, `{"run_id":true}`, `{"run_id":{}}`, `{"kind":"bash"}`, `{"absent":[1]}`, `{"target":"` + strings.Repeat("x", hookpoints.MaxScope) + `"}`} {
		if _, err := hookpoints.NewScope(parse(t, text)); err == nil {
			t.Errorf("%.40s is a scope", text)
		}
	}
	s := scope(t, `{"purpose":"verification","instance_id":"sub-1","target":"m","kind":"mcp","client":"c","absent":["a"],"turn":3}`)
	if want := (hookpoints.Key{Purpose: "completion", Instance: "child", Target: "m", Kind: "mcp", Client: "c"}); s.Key != want {
		t.Errorf("the key is %+v", s.Key)
	}
	if s.Get("purpose").Text() != "completion" || s.Get("nonsense").Exists() || s.Get("turn").Text() != "3" {
		t.Error("the scope reads otherwise than it should")
	}
	if len(fields) != 22 || fields[0] != "space_id" {
		t.Errorf("%d fields", len(fields))
	}
}
