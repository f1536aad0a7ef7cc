package agentd_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"agentd"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/internal/daemon"
	"agentd/revision"
)

const (
	exampleDir = "docs/examples/hooks/"
	luaDir     = "docs/examples/lua/" // the same hooks in Lua
)

func exampleFiles(t *testing.T) []revision.File {
	t.Helper()
	return filesOf(t, exampleDir+"*.star")
}

// luaFiles are the examples in Lua with the tests of those in Starlark.
func luaFiles(t *testing.T) []revision.File {
	t.Helper()
	return append(filesOf(t, luaDir+"*.lua"), filesOf(t, exampleDir+"*_test.star")...)
}

func filesOf(t *testing.T, pattern string) []revision.File {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	var files []revision.File
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, revision.File{Path: "hooks/" + filepath.Base(name), Text: text})
	}
	return files
}

// They pass wherever somebody puts them.
func TestTheExamplesPassTheirOwnTests(t *testing.T) {
	for _, c := range []struct {
		which hookpoints.Layer
		files []revision.File
	}{{hookpoints.User, exampleFiles(t)}, {hookpoints.Project, exampleFiles(t)}, {hookpoints.User, luaFiles(t)}, {hookpoints.Project, luaFiles(t)}} {
		rt, layer, files := servedExamples(t, c.which, c.files)
		report, err := daemon.RunTests(t.Context(), rt, layer, files, daemon.TestOptions{Determinism: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range report.Tests {
			if !r.OK {
				t.Errorf("%s: %s (%s:%d)", r.Name, r.Message, r.File, r.Line)
			}
		}
		if report.Passed < 9 {
			t.Errorf("only %d tests ran", report.Passed)
		}
	}
}

func servedExamples(t *testing.T, which hookpoints.Layer, files []revision.File) (*agentd.Runtime, *revision.Layer, []revision.File) {
	t.Helper()
	rt, err := agentd.Open(agentd.Options{Clock: standing{}, Monotonic: standing{}})
	if err != nil {
		t.Fatal(err)
	}
	layer, err := rt.Build(t.Context(), which, files, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rt.Serve(t.Context(), []*revision.Layer{layer}); err != nil {
		t.Fatal(err)
	}
	return rt, layer, files
}

// shellLine is a line of the corpus with what real shells did with it.
type shellLine struct {
	ID   string
	Line string
	Tags []string
	Runs []struct{ Program string }
	Dash *struct{ Runs []struct{ Program string } }
}

func readShellLines(t *testing.T) []shellLine {
	t.Helper()
	text, err := os.ReadFile("testdata/corpora/shell.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var lines []shellLine
	for in := bufio.NewScanner(bytes.NewReader(text)); in.Scan(); {
		var l shellLine
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	if len(lines) != 205 {
		t.Fatalf("the corpus has %d lines, want 205", len(lines))
	}
	return lines
}

// listed are the programs that an example names.
func listed(t *testing.T, file string) []string {
	t.Helper()
	dir := exampleDir
	if filepath.Ext(file) == ".lua" {
		dir = luaDir
	}
	text, err := os.ReadFile(dir + file)
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	var names []string
	for _, m := range regexp.MustCompile(`"([a-z]+)"`).FindAllStringSubmatch(line, -1) {
		names = append(names, m[1])
	}
	if len(names) < 10 {
		t.Fatalf("%s names only %q", file, names)
	}
	return names
}

// Both examples go over the whole corpus by the chain that a real call goes through: they let pass what is
// harmless, and nothing that started a program which isn't on their list.
func TestTheExamplesHoldOverTheCorpus(t *testing.T) {
	star, _, _ := servedExamples(t, hookpoints.User, exampleFiles(t))
	lua, _, _ := servedExamples(t, hookpoints.User, luaFiles(t))
	for _, example := range []struct {
		file, point       string
		passes, otherwise hookpoints.Outcome
	}{
		{"shell_guard.star", "tool.before", hookpoints.Continued, hookpoints.Rejected},
		{"shell_confirm.star", "tool.confirm", hookpoints.Allowed, hookpoints.Asked},
		{"shell_guard.lua", "tool.before", hookpoints.Continued, hookpoints.Rejected},
		{"shell_confirm.lua", "tool.confirm", hookpoints.Allowed, hookpoints.Asked},
	} {
		rt := star
		if filepath.Ext(example.file) == ".lua" {
			rt = lua
		}
		list := listed(t, example.file)
		passed := 0
		for _, l := range readShellLines(t) {
			p := rt.Points().Point(example.point).Example.With(payload.Field{Name: "arguments",
				Value: payload.NewObject(payload.Field{Name: "command", Value: payload.NewString(l.Line)})})
			res, err := rt.Decide(t.Context(), rt.Serving(), agentd.DecideRequest{Point: example.point, Payload: p, Kind: "shell",
				Only: func(b *hookpoints.Binding) bool { return strings.HasSuffix(b.File, example.file) }})
			if err != nil {
				t.Fatal(err)
			}
			if len(res.Records) != 1 || res.Records[0].Error != "" {
				t.Fatalf("%s %s: records %+v", example.point, l.ID, res.Records)
			}
			switch res.Outcome {
			case example.passes:
				passed++
				for _, r := range l.Runs {
					if !slices.Contains(list, r.Program) {
						t.Errorf("%s %s: %q passed and ran %s", example.file, l.ID, l.Line, r.Program)
					}
				}
			case example.otherwise:
				if l.Tags[0] == "harmless" {
					t.Errorf("%s %s: %q is harmless, but %s: %s", example.file, l.ID, l.Line, res.Outcome, res.Reason)
				}
			default:
				t.Errorf("%s %s: %q is %s", example.file, l.ID, l.Line, res.Outcome)
			}
		}
		t.Logf("%s: %d of 205 lines pass", example.file, passed)
	}
}

func TestTheExamplesInTheDocumentationAreTheFiles(t *testing.T) {
	page, err := os.ReadFile("docs/examples.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(exampleFiles(t), filesOf(t, luaDir+"*.lua")...) {
		if revision.IsTest(f.Path) {
			continue
		}
		fence, most := "```python\n", 50
		if filepath.Ext(f.Path) == ".lua" {
			fence, most = "```lua\n", 70
		}
		if n := bytes.Count(f.Text, []byte("\n")); n > most {
			t.Errorf("%s has %d lines; an example fits on a screen", f.Path, n)
		}
		if !bytes.Contains(page, append([]byte(fence), append(bytes.TrimSpace(f.Text), "\n```"...)...)) {
			t.Errorf("docs/examples.md doesn't have the text of %s", f.Path)
		}
	}
}
