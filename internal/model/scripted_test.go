package model

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agentd/hookpoints/payload"
)

func TestScenarioPlaysTheTurnThatTheConversationAsksFor(t *testing.T) {
	s, err := ParseScenario("s.yaml", []byte(`
turns:
  - calls: [{name: shell, arguments: {command: "ls", deep: [1.50, 1e400, null, yes, true, 0x10, 2026-01-02, "7"]}}, {name: list_files}]
  - text: "Looking."
    calls: [{name: read_file, arguments: "{broken"}]
  - text: Three files.
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		messages string
		streamed []string
		want     string
	}{
		{`[{"role":"system","content":""},{"role":"user","content":"go"}]`, nil,
			`{"role":"assistant","content":null,"tool_calls":[` +
				`{"id":"call_0_0","type":"function","function":{"name":"shell","arguments":"{\"command\":\"ls\",\"deep\":[1.50,1e400,null,\"yes\",true,16,\"2026-01-02\",\"7\"]}"}},` +
				`{"id":"call_0_1","type":"function","function":{"name":"list_files","arguments":"{}"}}],"finish_reason":"tool_calls"}`},
		{`[{"role":"user"},{"role":"assistant"},{"role":"tool"},{"role":"user"}]`, []string{"Looking."},
			`{"role":"assistant","content":"Looking.","tool_calls":[{"id":"call_1_0","type":"function","function":{"name":"read_file","arguments":"{broken"}}],"finish_reason":"tool_calls"}`},
		{`[{"role":"assistant"},{"role":"assistant"}]`, []string{"Three ", "files."},
			`{"role":"assistant","content":"Three files.","finish_reason":"stop"}`},
	} {
		for range 2 { // asking again changes nothing
			var streamed []string
			got, err := s.Chat(t.Context(), Request{Messages: value(t, c.messages)}, func(d string) { streamed = append(streamed, d) })
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.String()); diff != "" {
				t.Errorf("reply (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.streamed, streamed); diff != "" {
				t.Errorf("streamed (-want +got):\n%s", diff)
			}
		}
	}
	_, err = s.Chat(t.Context(), Request{Messages: value(t, `[{"role":"assistant"},{"role":"assistant"},{"role":"assistant"}]`)}, nil)
	if want := "the scenario s.yaml has 3 turns and the conversation asks for turn 4: add one to the file"; !errors.Is(err, ErrRefused) || err.Error() != want {
		t.Errorf("past the end: got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = s.Chat(ctx, Request{}, nil); !errors.Is(err, ErrNotSent) || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
}

func TestDefaultScenarioAlwaysAnswers(t *testing.T) {
	s := DefaultScenario()
	for _, messages := range []string{`[]`, `[{"role":"assistant"},{"role":"assistant"}]`} {
		got, err := s.Chat(t.Context(), Request{Messages: value(t, messages)}, nil)
		if err != nil || !strings.Contains(got.Get("content").Text(), "agentd.yaml") {
			t.Errorf("got %v, %v", got, err)
		}
	}
}

func TestScenarioFaultsNameFileAndLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                 "s.yaml:1: the scenario is empty: it needs the key turns",
		"# nothing":        "s.yaml:1: the scenario is empty: it needs the key turns",
		"turns: []":        "s.yaml:1: the scenario has no turns",
		"turns: {}":        "s.yaml:1: turns must be a list",
		"- text: x":        "s.yaml:1: a scenario must be a mapping",
		"turns:\n- txt: x": `s.yaml:2: a turn has no key "txt": it takes calls, text, usage`,
		"turns:\n- text: x\n  usage: {input_tokens: many}":            `s.yaml:3: input_tokens must be a number of tokens`,
		"turns:\n- text: x\n  usage: {output_tokens: -1}":             `s.yaml:3: output_tokens must be a number of tokens`,
		"turns:\n- text: x\n  usage: {words: 1}":                      `s.yaml:3: usage has no key "words": it takes input_tokens, output_tokens, total_tokens`,
		"turns:\n- text: x\nmore: 1":                                  `s.yaml:3: a scenario has no key "more": it takes turns`,
		"turns:\n- {}":                                                "s.yaml:2: a turn needs calls or text",
		"turns:\n- text: [x]":                                         "s.yaml:2: text must be text",
		"turns:\n- text:":                                             "s.yaml:2: text must be text",
		"turns:\n- text: a\n  text: b":                                `s.yaml:3: a turn has the key "text" twice`,
		"turns:\n- calls:\n  - x":                                     "s.yaml:3: a call must be a mapping",
		"turns:\n- calls:\n  - {name: \"\"}":                          "s.yaml:3: a call needs a name",
		"turns:\n- calls:\n  - {name: a, args: {}}":                   `s.yaml:3: a call has no key "args": it takes name, arguments`,
		"turns:\n- calls:\n  - {name: a, arguments: [1]}":             "s.yaml:3: arguments must be a mapping",
		"turns:\n- calls:\n  - {name: a, arguments: 1}":               "s.yaml:3: arguments must be a mapping",
		"turns:\n- calls:\n  - {name: a, arguments: {\n  n: .inf}}":   "s.yaml:4: the number .inf can't be written in JSON",
		"turns:\n- calls:\n  - {name: a, arguments: {a: 1,\n  a: 2}}": `s.yaml:4: an object has the key "a" twice`,
		"turns:\n- calls:\n  - {name: a, arguments: {b: !x 1}}":       "s.yaml:3: the tag !x can't be written in JSON",
		"turns:\n- text: x\n---\nturns: []":                           "s.yaml:1: a scenario is one YAML document",
		"turns:\n- text: [":                                           "s.yaml:2: did not find expected node content",
		"turns:\n- &a\n  calls: [{name: x, arguments: {b: *a}}]\n":    "s.yaml:2: arguments are nested deeper than 256 levels",
		"a: &a [x,x,x,x,x,x,x,x]\n":                                   `s.yaml:1: a scenario has no key "a": it takes turns`,
		"turns:\n- calls: [{name: x, arguments: {a: &a [1,1,1,1,1,1,1,1], b: &b [*a,*a,*a,*a,*a,*a,*a,*a], c: &c [*b,*b,*b,*b,*b,*b,*b,*b], d: &d [*c,*c,*c,*c,*c,*c,*c,*c], e: &e [*d,*d,*d,*d,*d,*d,*d,*d], f: [*e,*e,*e,*e,*e,*e,*e,*e]}}]": "s.yaml:2: the scenario is larger than 100000 nodes",
	} {
		_, err := ParseScenario("s.yaml", []byte(text))
		if err == nil || err.Error() != want {
			t.Errorf("%q\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestOpenScenario(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.yaml")
	if _, err := OpenScenario(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: got %v", err)
	}
	if err := os.WriteFile(path, []byte("turns: [{text: x}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := OpenScenario(path); err != nil || s.Turns() != 1 {
		t.Errorf("got %v, %v", s, err)
	}
}

func TestRecordIsMadeToBeRead(t *testing.T) {
	got, err := Record([]payload.Value{
		value(t, `{"role":"assistant","content":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"write_file","arguments":"{\"path\":\"a.go\",\"content\":\"package a\\n\\nfunc F() {\\n  g()\\n}\\n\",\"n\":1.0,\"list\":[],\"none\":null}"}}],"usage":{"total_tokens":1}}`),
		value(t, `{"role":"assistant","content":"Done: yes.","tool_calls":[]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `turns:
  - calls:
      - name: write_file
        arguments:
          path: "a.go"
          content: |
            package a

            func F() {
              g()
            }
          n: 1.0
          list: []
          none: null
  - text: "Done: yes."
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := Record([]payload.Value{value(t, `{"role":"assistant","content":""}`)}); err == nil {
		t.Error("a reply without anything is recorded")
	}
}

// Whatever a model said plays again as it was, whatever is in the strings, numbers and keys.
func TestRecordPlaysAgain(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("ab  \n\t\r-:#'\"|>&*!%@`{}[],0\u0000\u0085\u00a0\u2028\ufeff\U0001f600<~"))),
		rapid.SampledFrom([]string{"null", "~", "yes", "no", "on", "1", "1e3", "0x1", ".inf", "<<", "=", "a\nb", "a\n\nb\n", "a\n b", "a \nb", "a\n\n", "\na", " a\nb", "2026-01-02", "---\na", "# a\nb", "..."}))
	number := rapid.SampledFrom([]string{"0", "-0", "1.0", "1e400", "-1.5E+10", "123456789012345678901234567890", "1e5", "0.1"})
	var node func(depth int) *rapid.Generator[payload.Value]
	object := func(depth int) *rapid.Generator[payload.Value] {
		return rapid.Custom(func(t *rapid.T) payload.Value {
			var fields []payload.Field
			for _, k := range rapid.SliceOfNDistinct(text, 0, 4, rapid.ID[string]).Draw(t, "keys") {
				fields = append(fields, field(k, node(depth-1).Draw(t, "value")))
			}
			return payload.NewObject(fields...)
		})
	}
	node = func(depth int) *rapid.Generator[payload.Value] {
		leaves := []*rapid.Generator[payload.Value]{
			rapid.Map(text, payload.NewString), rapid.Map(number, payload.NewNumber), rapid.Map(rapid.Bool(), payload.NewBool), rapid.Just(payload.NewNull())}
		if depth > 0 {
			leaves = append(leaves, object(depth), rapid.Map(rapid.SliceOfN(rapid.Deferred(func() *rapid.Generator[payload.Value] { return node(depth - 1) }), 0, 3), payload.NewArray))
		}
		return rapid.OneOf(leaves...)
	}
	rapid.Check(t, func(t *rapid.T) {
		var replies []payload.Value
		for i := range rapid.IntRange(1, 3).Draw(t, "turns") {
			said := text.Filter(func(s string) bool { return s != "" }).Draw(t, "text")
			var calls []payload.Value
			for n := range rapid.IntRange(0, 2).Draw(t, "calls") {
				arguments := object(2).Draw(t, "arguments").String()
				if rapid.Bool().Draw(t, "broken") {
					arguments = "{" + arguments
				}
				calls = append(calls, functionCall(callID(i, n), "a"+rapid.String().Draw(t, "name"), arguments))
			}
			finish := "stop"
			fields := []payload.Field{field("role", payload.NewString("assistant")), field("content", payload.NewString(said))}
			if calls != nil {
				fields, finish = append(fields, field("tool_calls", payload.NewArray(calls))), "tool_calls"
			}
			replies = append(replies, payload.NewObject(append(fields, field("finish_reason", payload.NewString(finish)))...))
		}
		text, err := Record(replies)
		if err != nil {
			t.Fatal(err)
		}
		s, err := ParseScenario("recorded", text)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		for i, want := range replies {
			streamed := ""
			got, err := s.Chat(context.Background(), Request{Messages: payload.NewArray(replies[:i])}, func(d string) { streamed += d })
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.String(), got.String()); diff != "" {
				t.Fatalf("turn %d (-want +got):\n%s\nin\n%s", i, diff, text)
			}
			if streamed != want.Get("content").Text() {
				t.Fatalf("streamed %q of %v", streamed, want)
			}
		}
	})
}
