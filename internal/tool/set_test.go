package tool

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentd/hookpoints/payload"
)

// files makes a workspace: names that end in / are folders, contents that begin with -> are links.
func files(t *testing.T, content map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(content)) {
		p := filepath.Join(dir, name)
		parent := filepath.Dir(p)
		if strings.HasSuffix(name, "/") {
			parent = p
		}
		if err := os.MkdirAll(parent, 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, link := strings.CutPrefix(content[name], "->"); link {
			err = os.Symlink(strings.ReplaceAll(target, "$DIR", dir), p)
		} else if parent != p {
			err = os.WriteFile(p, []byte(content[name]), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// content reads a workspace back, without its links and folders.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(p)
		name, _ := filepath.Rel(dir, p)
		out[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func open(t *testing.T, dir string, opts Options) *Set {
	t.Helper()
	s, err := New(dir, Names(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func value(t *testing.T, text string) payload.Value {
	t.Helper()
	v, err := payload.ParseString(text)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// call validates and calls, as an agent does.
func call(t *testing.T, s *Set, name, arguments string) Result {
	t.Helper()
	return callIn(t, t.Context(), s, name, arguments)
}

func callIn(t *testing.T, ctx context.Context, s *Set, name, arguments string) Result {
	t.Helper()
	args := value(t, arguments)
	if err := s.Validate(name, args); err != nil {
		t.Fatal(err)
	}
	tool, _ := s.Tool(name)
	return tool.Call(ctx, Invocation{Arguments: args})
}

// want compares a result with STATUS VALUE; in a value that begins with ~ only the error is
// compared, and only a part of it.
func want(t *testing.T, got Result, status Status, want string) {
	t.Helper()
	if part, only := strings.CutPrefix(want, "~"); only {
		if got.Status != status || !strings.Contains(got.Value.Get("error").Text(), part) {
			t.Errorf("got %s %v, want %s with an error that says %q", got.Status, got.Value, status, part)
		}
		return
	}
	if diff := cmp.Diff(string(status)+" "+want, string(got.Status)+" "+got.Value.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSetChecksItsNames(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		names []string
		extra []Tool
		says  string
	}{
		{[]string{"shell", "rm"}, nil, `there is no such tool as "rm": agentd has ask, edit_file, list_files, read_file, search_files, shell, write_file`},
		{[]string{"shell", "shell"}, nil, `the tool "shell" is listed twice`},
		{[]string{"shell"}, []Tool{foreign{Spec{Name: "shell", Parameters: value(t, "{}")}}}, `the tool "shell" is listed twice`},
		{nil, []Tool{foreign{Spec{Name: "x", Parameters: value(t, `{"type":7}`)}}}, `the parameters of the tool "x" are no JSON Schema`},
		{nil, []Tool{foreign{Spec{Name: "x", Parameters: value(t, `{"$ref":"#/nowhere"}`)}}}, `the parameters of the tool "x" are no JSON Schema`},
	} {
		s, err := New(dir, c.names, Options{Extra: c.extra})
		if s != nil || err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: got %v, want %s", c.names, err, c.says)
		}
	}
	for _, dir := range []string{filepath.Join(dir, "none"), filepath.Join(files(t, map[string]string{"file": ""}), "file")} {
		if _, err := New(dir, nil, Options{}); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("workspace %s: got %v", dir, err)
		}
	}
	if _, err := New(dir, []string{"x"}, Options{}); !errors.Is(err, ErrNoTool) {
		t.Errorf("got %v", err)
	}
}

type foreign struct{ spec Spec }

func (f foreign) Spec() Spec                              { return f.spec }
func (f foreign) Call(context.Context, Invocation) Result { return success() }

func TestSetKeepsTheOrderAndOffersExtraTools(t *testing.T) {
	s, err := New(t.TempDir(), []string{"shell", "read_file"}, Options{Extra: []Tool{foreign{Spec{Name: "ask", ID: "mcp:a:ask", Parameters: value(t, `{"type":"object"}`)}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var names []string
	for _, tool := range s.Tools() {
		names = append(names, tool.Spec().Name)
	}
	if diff := cmp.Diff([]string{"shell", "read_file", "ask"}, names); diff != "" {
		t.Error(diff)
	}
	if _, ok := s.Tool("write_file"); ok || s.Schema("write_file").Exists() || !s.Schema("ask").Exists() {
		t.Error("the set holds another choice than the one asked for")
	}
	if err := s.Validate("ask", value(t, `{"anything":1}`)); err != nil {
		t.Error(err)
	}
	if err := s.Validate("write_file", value(t, `{}`)); !errors.Is(err, ErrNoTool) {
		t.Errorf("got %v", err)
	}
}

// What the specs claim must be what the rest of the program builds on.
func TestSpecs(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	var got []string
	for _, tool := range s.Tools() {
		spec := tool.Spec()
		_, writer := tool.(Writer)
		line := spec.Name + " " + spec.ID + " " + string(spec.Kind)
		for _, c := range []struct {
			word string
			on   bool
		}{{"read-only", spec.ReadOnly}, {"overlaps", spec.Kind.Overlaps()}, {"idempotent", spec.Idempotent}, {"writer", writer}} {
			if c.on {
				line += " " + c.word
			}
		}
		got = append(got, line)
		if spec.Parameters.Get("type").Text() != "object" || spec.Parameters.Get("additionalProperties").IsTrue() || spec.Description == "" {
			t.Errorf("%s: %v", spec.Name, spec.Parameters)
		}
	}
	want := []string{
		"ask ask ask read-only",
		"edit_file edit_file edit idempotent writer",
		"list_files list_files read read-only overlaps idempotent",
		"read_file read_file read read-only overlaps idempotent",
		"search_files search_files search read-only overlaps idempotent",
		"shell shell shell",
		"write_file write_file write idempotent writer",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestArgumentsAreHeldToTheSchema(t *testing.T) {
	s := open(t, t.TempDir(), Options{Extra: []Tool{
		foreign{Spec{Name: "none", Parameters: parameters(0)}},
		foreign{Spec{Name: "top", Parameters: value(t, `{"type":"object","properties":{"n":{"maximum":7},"deep":{"properties":{"n":{"type":"integer"}}}}}`)}},
	}})
	for _, c := range []struct{ name, arguments, says string }{
		{"read_file", `{"path":"a","offset":3.0}`, ""},
		{"read_file", `{"path":"a","offset":0}`, "offset must be at least 1"},
		{"read_file", `{"path":"a","offset":1.5}`, "offset must be of type integer"},
		{"read_file", `{"path":"a","offset":1e400}`, "offset must be of type integer"},
		{"read_file", `{"path":"a","lines":1}`, `there is no argument "lines": it takes path, offset, limit`},
		{"read_file", `{}`, "path is missing"},
		{"read_file", `{"path":null}`, "path must be of type string"},
		{"read_file", `["a"]`, "they must be an object"},
		{"read_file", `"a"`, "they must be an object"},
		{"write_file", `{"path":"a","content":""}`, ""},
		{"write_file", `{"path":"a"}`, "content is missing"},
		{"write_file", `{"path":"a","content":{"a":["` + strings.Repeat("x", 1000) + `"]}}`, "content must be of type string"},
		{"edit_file", `{"path":"a","old":"","new":"b"}`, "old must not be empty"},
		{"edit_file", `{"path":"a","old":"a","new":"b","all":"yes"}`, "all must be of type boolean"},
		{"list_files", `{}`, ""},
		{"list_files", `{"depth":51}`, "depth must be between 1 and 50"},
		{"search_files", `{"pattern":""}`, "pattern must not be empty"},
		{"search_files", `{"pattern":"` + strings.Repeat("x", 2001) + `"}`, "maxLength"},
		{"shell", `{"command":"ls","timeout":3600}`, ""},
		{"shell", `{"command":"ls","timeout":3601}`, "timeout must be between 1 and 3600"},
		{"none", `{}`, ""},
		{"none", `{"a":1}`, `there is no argument "a": it takes none`},
		{"top", `{"n":8}`, "n must be at most 7"},
		{"top", `{"free":1}`, ""},
		{"top", `{"deep":{"n":"x"}}`, "/properties/deep/properties/n"},
	} {
		err := s.Validate(c.name, value(t, c.arguments))
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%s %s: %v", c.name, c.arguments, err)
		case c.says != "" && (!errors.Is(err, ErrArguments) || !strings.Contains(err.Error(), "the tool "+c.name+": ") ||
			!strings.Contains(err.Error(), c.says) || len(err.Error()) > 400):
			t.Errorf("%s %.100s: got %.500v, want it to say %s", c.name, c.arguments, err, c.says)
		}
	}
}

func TestCancelledBeforeItBegan(t *testing.T) {
	dir := files(t, map[string]string{"a": "x"})
	s := open(t, dir, Options{})
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	for name, arguments := range map[string]string{
		"read_file": `{"path":"a"}`, "list_files": `{}`, "search_files": `{"pattern":"x"}`, "shell": `{"command":"touch b"}`,
		"write_file": `{"path":"a","content":"y"}`, "edit_file": `{"path":"a","old":"x","new":"y"}`,
	} {
		want(t, callIn(t, cancelled, s, name, arguments), Cancelled, "~")
		want(t, callIn(t, late, s, name, arguments), Failed, "~")
	}
	if diff := cmp.Diff(map[string]string{"a": "x"}, content(t, dir)); diff != "" {
		t.Errorf("something was done: %s", diff)
	}
}
