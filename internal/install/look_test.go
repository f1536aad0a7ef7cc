package install

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"agentd/internal/config"
)

// place is a home, a project in it and an agentd with its program beside it, all empty.
func newPlace(t *testing.T, env map[string]string) (root string, q Request) {
	t.Helper()
	root = t.TempDir()
	project := filepath.Join(root, "project")
	p := config.Places{Project: project, StateDir: filepath.Join(project, ".agentd", "state"), UserState: filepath.Join(root, "home", ".local", "state", "agentd"),
		Program: filepath.Join(root, "bin", "agentd")}
	for _, dir := range []string{"home", "project/.agentd", "bin"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"agentd", programName} {
		if err := os.WriteFile(filepath.Join(root, "bin", name), []byte("\x00"+name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	getenv := func(name string) string {
		if name == "HOME" {
			return filepath.Join(root, "home")
		}
		return strings.ReplaceAll(env[name], "ROOT", root)
	}
	return root, Request{Places: p, Getenv: getenv, Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

// TestLook: each archive has files, what is installed before they are written (not at all, project, user or
// both), and the findings.
func TestLook(t *testing.T) {
	files, err := filepath.Glob("testdata/look/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			in, env := map[string]string{}, map[string]string{}
			for line := range strings.Lines(string(a.Comment)) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
				if in[name] = value; name == "env" {
					k, v, _ := strings.Cut(value, "=")
					env[k] = v
				}
			}
			root, q := newPlace(t, env)
			if q.Client, err = For(in["client"]); err != nil {
				t.Skip(err)
			}
			for _, user := range []bool{false, true} {
				if scope := map[bool]string{false: "project", true: "user"}[user]; in["installed"] == scope || in["installed"] == "both" {
					q.User = user
					if _, err := Install(q); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, f := range a.Files {
				if f.Name == "findings" {
					continue
				}
				path := filepath.Join(root, f.Name)
				text := strings.ReplaceAll(string(f.Data), "ROOT", root)
				if text == "gone\n" {
					err = os.Remove(path)
				} else if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
					err = os.WriteFile(path, []byte(text), 0o644)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			var got strings.Builder
			looked := Look(q)
			for _, f := range looked.Findings {
				got.WriteString(f.Level + ": " + f.What + "\n")
				if f.Fix != "" {
					got.WriteString("  -> " + f.Fix + "\n")
				}
			}
			for _, s := range looked.Canary {
				got.WriteString("canary of the " + s.Scope + ": " + Line(s.Argv) + "\n")
			}
			said := strings.ReplaceAll(got.String(), root, "ROOT")
			i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == "findings" })
			if i < 0 {
				a.Files, i = append(a.Files, txtar.File{Name: "findings"}), len(a.Files)
			}
			if d := cmp.Diff(string(a.Files[i].Data), said); d != "" && !*update {
				t.Error(d)
			}
			if a.Files[i].Data = []byte(said); *update {
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestManagedSwitches: the files stand where no test may write.
func TestManagedSwitches(t *testing.T) {
	c, err := For("claude")
	if err != nil {
		t.Fatal(err)
	}
	for text, off := range map[string]bool{
		`{"allowManagedHooksOnly": true}`: true, `{"allowManagedHooksOnly": false}`: false, `{"disableAllHooks": true}`: true,
		`{"strictPluginOnlyCustomization": true}`: true, `{"strictPluginOnlyCustomization": ["mcp", "hooks"]}`: true,
		`{"strictPluginOnlyCustomization": ["mcp"]}`: false, `{"strictPluginOnlyCustomization": false}`: false,
	} {
		root, err := parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(c.Switches, func(s Switch) bool { return s.off([]byte(text), root) }); got != off {
			t.Errorf("%s: off is %v", text, got)
		}
	}
}
