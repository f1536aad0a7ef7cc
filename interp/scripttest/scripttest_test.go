package scripttest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"agentd/builtins/meter"
	"agentd/hookpoints/payload"
	"agentd/interp"
	"agentd/interp/interptest"
	"agentd/interp/lua"
	"agentd/interp/starlark"
)

func source(t *testing.T, name string) interp.Source {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return interp.Source{Name: name, Text: text}
}

// modules are the files beside the tests.
var modules = interptest.ModulesIn(os.DirFS("testdata"))

// echo answers with what it was asked, and refuses a point of no name.
func echo(_ context.Context, q Request) (payload.Value, error) {
	if q.Point == "" {
		return payload.Value{}, errors.New("there is no such point")
	}
	return payload.NewObject(
		payload.Field{Name: "outcome", Value: payload.NewString("continue")},
		payload.Field{Name: "payload", Value: q.Payload},
		payload.Field{Name: "point", Value: payload.NewString(q.Point)},
		payload.Field{Name: "hook", Value: payload.NewString(q.Hook)},
		payload.Field{Name: "kind", Value: payload.NewString(q.Kind)},
		payload.Field{Name: "config", Value: q.Config},
		payload.Field{Name: "scope", Value: q.Scope},
		payload.Field{Name: "facts", Value: q.Facts},
		payload.Field{Name: "state", Value: q.State},
	), nil
}

func TestResultsSayWhatPassedAndWhereTheOthersFailed(t *testing.T) {
	const spent = "the budget of 1000000 fuel and 67108864 bytes is spent; a test has the budget of a hook"
	for _, c := range []struct {
		engine interp.Tester
		file   string
		trace  []string // of the test that fails in a module
		want   []TestResult
	}{
		{starlark.New(), "mixed_test.star", []string{"mixed_test.star:16:", "lib/helper.star:5:"}, []TestResult{
			{Name: "test_passes", OK: true, File: "mixed_test.star", Line: 6, Output: "one 1\ntwo\n"},
			{Name: "test_unequal", Message: "assert.eq: got {\"a\": 1}, want {\"a\": 2}", File: "mixed_test.star", Line: 13},
			{Name: "test_fails_in_a_module", Message: "fail: from the module", File: "lib/helper.star", Line: 5},
			{Name: "test_decides", OK: true, File: "mixed_test.star", Line: 18},
			{Name: "test_decides_nowhere", Message: "decide: there is no such point", File: "mixed_test.star", Line: 34},
			{Name: "test_never_ends", Message: spent, File: "mixed_test.star", Line: 37},
			{Name: "test_catches_no_budget", Message: spent, File: "mixed_test.star", Line: 37},
		}},
		{lua.New(), "mixed_test.lua", []string{"mixed_test.lua:19:", "lib/helper.lua:5:"}, []TestResult{
			{Name: "test_passes", OK: true, File: "mixed_test.lua", Line: 6, Output: "one\t1\ntwo\n"},
			{Name: "test_unequal", Message: "assert.eq: got {\"a\":1}, want {\"a\":2}", File: "mixed_test.lua", Line: 15},
			{Name: "test_fails_in_a_module", Message: "from the module", File: "lib/helper.lua", Line: 5},
			{Name: "test_decides", OK: true, File: "mixed_test.lua", Line: 22},
			{Name: "test_decides_nowhere", Message: "decide: there is no such point", File: "mixed_test.lua", Line: 40},
			{Name: "test_never_ends", Message: spent, File: "mixed_test.lua", Line: 44},
			{Name: "test_catches_no_budget", Message: spent, File: "mixed_test.lua", Line: 44},
		}},
	} {
		got, err := Run(context.Background(), c.engine, source(t, c.file), modules, echo, Options{})
		if err != nil {
			t.Fatal(err)
		}
		firstLine := cmp.Transformer("firstLine", func(s string) string { head, _, _ := strings.Cut(s, "\nTraceback"); return head })
		if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(TestResult{}, "Fuel"), cmp.FilterPath(func(p cmp.Path) bool {
			return p.Last().String() == ".Message"
		}, firstLine)); diff != "" {
			t.Fatal(diff)
		}
		for _, place := range c.trace {
			if !strings.Contains(got[2].Message, place) || strings.Contains(got[2].Message, "builtin") {
				t.Errorf("backtrace: %s, want %s in it", got[2].Message, place)
			}
		}
		for _, r := range got {
			if r.Fuel == 0 {
				t.Errorf("%s used no fuel", r.Name)
			}
		}
	}
}

func TestFilterAndLimits(t *testing.T) {
	got, err := Run(context.Background(), starlark.New(), source(t, "mixed_test.star"), modules, nil,
		Options{Filter: regexp.MustCompile(`^test_(passes|decides|never_ends)$`), Limits: meter.Limits{Fuel: 20_000, Bytes: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range got {
		names = append(names, r.Name)
	}
	if diff := cmp.Diff([]string{"test_passes", "test_decides", "test_never_ends"}, names); diff != "" {
		t.Error(diff)
	}
	if got[1].OK || !strings.Contains(got[1].Message, "nothing to decide with") {
		t.Errorf("without a host: %+v", got[1])
	}
	if got[2].Fuel != 20_000 {
		t.Errorf("fuel: %d", got[2].Fuel)
	}
}

func TestAFileThatDoesNotLoadIsAnErrorWithItsLine(t *testing.T) {
	for text, want := range map[string]string{
		"x = (":                               "a_test.star:1: got end of file, want primary expression",
		"\nassert.eq(1, 2)":                   "a_test.star:2: assert.eq: got 1, want 2",
		"hook(id = \"a\")":                    "a_test.star:1: hook can't be called by a test file",
		"load(\"//lib/none.star\", \"x\")":    "a_test.star:1: cannot load //lib/none.star: there is no such module in hooks/",
		"def test_a():\n    return nothing\n": "a_test.star:2: undefined: nothing",
	} {
		_, err := Run(context.Background(), starlark.New(), interp.Source{Name: "a_test.star", Text: []byte(text)}, modules, nil, Options{})
		var e *interp.Error
		if !errors.As(err, &e) || !strings.HasPrefix(e.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func TestTheEndOfTheContextFailsWhatIsLeft(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	stop := func(context.Context, Request) (payload.Value, error) { cancel(); return payload.NewObject(), nil }
	text := `
def test_stops():
    decide("a", {})
    for i in range(1000000):
        pass
def test_after():
    for i in range(1000000):
        pass
`
	got, err := Run(ctx, starlark.New(), interp.Source{Name: "a_test.star", Text: []byte(text)}, nil, stop, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range got {
		if r.OK || !strings.HasPrefix(r.Message, "the wall clock ran out") {
			t.Errorf("%+v", r)
		}
	}
}
