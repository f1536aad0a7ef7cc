package starlark

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
	"agentd/interp/interptest"
)

// decisionCase is one case of testdata/decisions.txt.
type decisionCase struct{ name, body, want string }

func decisionCases(t *testing.T) []decisionCase {
	data, err := os.ReadFile("testdata/decisions.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []decisionCase
	for _, part := range strings.Split(string(data), "\n-- ")[1:] {
		name, rest, ok1 := strings.Cut(part, " --\n")
		body, want, ok2 := strings.Cut(rest, "\n=> ")
		if !ok1 || !ok2 {
			t.Fatalf("no case: %q", part)
		}
		out = append(out, decisionCase{name, body, strings.TrimSpace(want)})
	}
	return out
}

func TestDecisions(t *testing.T) {
	for _, c := range decisionCases(t) {
		t.Run(c.name, func(t *testing.T) {
			got, err := decideBody(t, c.body)
			if pattern, fails := strings.CutPrefix(c.want, "fails "); fails {
				checkFault(t, err, pattern)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := interptest.Parse(t, c.want).String()
			if diff := cmp.Diff(want, shown(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// decideBody runs a function body as a hook of tool.before.
func decideBody(t *testing.T, body string) ([]hookpoints.Decision, error) {
	t.Helper()
	text := "def run(ctx, call):\n    " + strings.ReplaceAll(body, "\n", "\n    ") + "\n\nhook(id = \"h\", version = \"1\", run = run)\n"
	hook := loadHook(t, text)
	got, _, err := hook.Decide(context.Background(), interptest.Call(t, interptest.Payload, interptest.Parse(t, `{"c":1.0}`)))
	return got, err
}

// loadHook loads a file that defines one hook.
func loadHook(t testing.TB, text string) hookpoints.Hook {
	t.Helper()
	defs, err := New().Load(context.Background(), interp.Source{Name: "h.star", Text: []byte(text)}, modulesOf, meter.Default)
	if err != nil {
		t.Fatal(err)
	}
	return defs[0].Hook
}

func checkFault(t *testing.T, err error, want string) {
	t.Helper()
	number, quoted, _ := strings.Cut(want, " ")
	line, _ := strconv.Atoi(number)
	pattern := strings.TrimSuffix(strings.TrimPrefix(quoted, `"`), `"`)
	pattern = strings.ReplaceAll(pattern, `\"`, `"`)
	var e *interp.Error
	if !errors.As(err, &e) || !errors.Is(err, hookpoints.ErrHookFailed) {
		t.Fatalf("got %v, want a failed hook", err)
	}
	if !regexp.MustCompile(pattern).MatchString(e.Message) {
		t.Errorf("got %q, want a match of %q", e.Message, pattern)
	}
	if e.File != "h.star" || e.Line != line+1 {
		t.Errorf("it blames %s:%d, want h.star:%d", e.File, e.Line, line+1)
	}
}

// shown writes decisions as JSON, leaving out what is empty.
func shown(list []hookpoints.Decision) string {
	items := make([]payload.Value, len(list))
	for i, d := range list {
		fields := []payload.Field{{Name: "verb", Value: payload.NewString(d.Verb.String())}}
		add := func(name string, v payload.Value) { fields = append(fields, payload.Field{Name: name, Value: v}) }
		if d.Text != "" {
			add("text", payload.NewString(d.Text))
		}
		if d.Name != "" {
			add("name", payload.NewString(d.Name))
		}
		if d.Flag {
			add("flag", payload.NewBool(true))
		}
		if d.Fields != nil {
			add("fields", payload.NewObject(d.Fields...))
		}
		if d.Value.Exists() {
			add("value", d.Value)
		}
		items[i] = payload.NewObject(fields...)
	}
	return payload.NewArray(items).String()
}

func TestDecidersCoverTheVerbs(t *testing.T) {
	env := New().env
	for v := hookpoints.Patch; v.String() != "unknown"; v++ {
		if !env.has(v.String()) {
			t.Errorf("no builtin makes %s", v)
		}
	}
	if env.has("none") {
		t.Error("none is a builtin")
	}
}
