package main

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentd/internal/daemon"
	"agentd/internal/install"
)

// TestEveryClientIsInstalledAndRefused drives the real program for each client, in a project and for its user: the
// hook is registered, what is registered refuses the canary without a daemon, and afterwards nothing is left of it.
func TestEveryClientIsInstalledAndRefused(t *testing.T) {
	root := t.TempDir()
	bin, project, home := filepath.Join(root, "bin"), filepath.Join(root, "a project"), filepath.Join(root, "home")
	for _, dir := range []string{bin, project, home} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program, err := hookProgram()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "agentd-hook"), program, 0o755); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	agentd, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "agentd"), agentd, 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		cmd := exec.Command(filepath.Join(bin, "agentd"), args...)
		cmd.Dir = project
		cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0"}
		out, err := cmd.Output()
		if err != nil && args[0] != "--json" {
			t.Fatalf("agentd %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	run("init")
	before := tree(t, root)
	for _, name := range install.Names() {
		for _, scope := range []string{"project", "user"} {
			t.Run(name+" "+scope, func(t *testing.T) {
				more := []string{name}
				if scope == "user" {
					more = append(more, "--user")
				}
				run(append([]string{"install"}, more...)...)
				var looked struct{ Findings []daemon.Finding }
				if err := json.Unmarshal([]byte(run("--json", "doctor", name)), &looked); err != nil {
					t.Fatal(err)
				}
				refused := false
				for _, f := range looked.Findings {
					refused = refused || f.Level == daemon.LevelOK && f.What == "a call that has to be refused is refused, as the "+scope+"'s configuration registers it"
					if f.Level == daemon.LevelError && !strings.Contains(f.What, "nobody approved them") { // only a person can
						t.Errorf("%s -> %s", f.What, f.Fix)
					}
				}
				if !refused {
					t.Errorf("the canary wasn't refused: %+v", looked.Findings)
				}
				run(append([]string{"uninstall"}, more...)...)
				if d := cmp.Diff(before, tree(t, root)); d != "" {
					t.Errorf("something is left, or gone: %s", d)
				}
			})
		}
	}
}

// tree is what files there are, less what states keep and what is in backups.
func tree(t *testing.T, root string) []string {
	t.Helper()
	files := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		inState := strings.Contains(rel, "state") || strings.Contains(rel, ".local")
		if !inState || strings.Contains(d.Name(), "agentd-hook") || d.Name() == "installed.json" {
			files[rel] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(files))
}
