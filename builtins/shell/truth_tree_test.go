//go:build linux && (amd64 || arm64)

package shell_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// fixturePlan is shell-fixture.json.
type fixturePlan struct {
	Cwd, Home, User string
	UID             int
	Path            string
	Dirs            []string
	Files           []struct{ Path, Mode, Text string }
	Links           []struct{ Path, To string }
	Programs        []string          `json:"programs_in_workspace"`
	GitConfig       map[string]string `json:"git_config"`
	GitAliases      map[string]string `json:"git_aliases"`
	GitCommits      [][]string        `json:"git_commits"`
}

func (p *fixturePlan) read(text []byte) error { return json.Unmarshal(text, p) }

// entry is a file, folder or link.
type entry struct {
	mode fs.FileMode
	text string // of a file; a link's target
}

// tree is what lies in the writable folders, by absolute name.
type tree map[string]entry

// names are sorted, so that folders come before what is in them.
func (t tree) names() []string {
	out := make([]string, 0, len(t))
	for name := range t {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// makeFixture makes the workspace and remembers it.
func (w *world) makeFixture() error {
	want := tree{}
	var folders func(dir string)
	folders = func(dir string) {
		if dir == "/" || slices.Contains(writable, dir) {
			return
		}
		folders(path.Dir(dir))
		want[dir] = entry{mode: fs.ModeDir | 0o755}
	}
	add := func(name string, e entry) { folders(path.Dir(name)); want[name] = e }
	for _, d := range w.plan.Dirs {
		folders(d)
	}
	for _, f := range w.plan.Files {
		mode, err := strconv.ParseUint(f.Mode, 8, 12)
		if err != nil {
			return err
		}
		add(f.Path, entry{fs.FileMode(mode), f.Text})
	}
	for _, l := range w.plan.Links {
		if _, err := os.Lstat(l.Path); err != nil { // /bin is there
			add(l.Path, entry{fs.ModeSymlink | 0o777, l.To})
		}
	}
	for _, p := range w.plan.Programs {
		add(p, entry{0o755, string(doNothing())})
	}
	is, touched := readTree()
	if err := restore(want, is, touched); err != nil {
		return err
	}
	w.fresh, _ = readTree()
	if err := w.makeRepository(); err != nil {
		return err
	}
	w.fresh, touched = readTree()
	return restore(w.fresh, w.fresh, touched)
}

// makeRepository lets git do it, once.
func (w *world) makeRepository() error {
	if slices.Contains(w.missing, "git") {
		return nil
	}
	var b strings.Builder
	b.WriteString("set -e; git init -q\n")
	for _, kv := range []map[string]string{w.plan.GitConfig, w.plan.GitAliases} {
		for _, k := range slices.Sorted(keysOf(kv)) {
			name := k
			if !strings.Contains(k, ".") {
				name = "alias." + k
			}
			fmt.Fprintf(&b, "git config %s %s\n", name, quote(kv[k]))
		}
	}
	for i, files := range w.plan.GitCommits {
		b.WriteString("git add --")
		for _, f := range files {
			b.WriteString(" " + quote(f))
		}
		fmt.Fprintf(&b, "\ngit commit -q -m %d\n", i+1)
	}
	out, err := w.trace(question{Shell: "bash", Line: b.String(), Limit: 30 * time.Second})
	if err == nil && out.Exit != 0 {
		err = fmt.Errorf("git ended with %d", out.Exit)
	}
	return err
}

func keysOf(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// readTree reads all that a line could have changed, and which files don't have their settled age.
func readTree() (t tree, touched []string) {
	t = tree{}
	for _, top := range writable {
		filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
			if err != nil || name == top {
				return nil
			}
			info, err := d.Info()
			if err != nil {
				return nil
			}
			e := entry{mode: info.Mode()}
			switch {
			case info.Mode().IsRegular():
				if !info.ModTime().Equal(ageOf(name)) {
					touched = append(touched, name)
				}
				text, err := os.ReadFile(name)
				if err != nil { // owned, but not readable
					os.Chmod(name, 0o700)
					text, _ = os.ReadFile(name)
					os.Chmod(name, info.Mode().Perm())
				}
				e.text = string(text)
			case info.Mode()&fs.ModeSymlink != 0:
				e.text, _ = os.Readlink(name)
			}
			t[name] = e
			return nil
		})
	}
	return t, touched
}

// restore makes the disk what it should be.
func restore(want, is tree, touched []string) error {
	for _, name := range slices.Backward(is.names()) {
		if e, ok := want[name]; !ok || e.mode.Type() != is[name].mode.Type() {
			os.Chmod(path.Dir(name), 0o755)
			if err := os.RemoveAll(name); err != nil {
				return err
			}
			delete(is, name)
		}
	}
	for _, name := range want.names() {
		e, had := want[name], is[name]
		if e == had {
			continue
		}
		var err error
		switch {
		case e.mode.IsDir():
			if err = os.Mkdir(name, 0o755); os.IsExist(err) {
				err = nil
			}
		case e.mode&fs.ModeSymlink != 0:
			os.Remove(name)
			err = os.Symlink(e.text, name)
		default:
			os.Remove(name)
			err = os.WriteFile(name, []byte(e.text), 0o600)
		}
		if err != nil {
			return err
		}
		if e.mode&fs.ModeSymlink == 0 {
			if err := errors.Join(os.Chmod(name, e.mode), settle(name)); err != nil {
				return err
			}
		}
	}
	for _, name := range touched {
		if e, ok := want[name]; ok && e.mode.IsRegular() {
			if err := settle(name); err != nil {
				return err
			}
		}
	}
	return nil
}

func settle(name string) error { return os.Chtimes(name, ageOf(name), ageOf(name)) }

// ageOf gives everything a settled age, and the repository a later one than what is in it, or git
// would look at the files again and write down what it saw.
func ageOf(name string) time.Time {
	day := 1
	if strings.Contains(name, "/.git/") {
		day = 2
	}
	return time.Date(2020, time.January, day, 0, 0, 0, 0, time.UTC)
}

// changes tells what was made, changed or given another mode, and what is gone, in the corpus' way:
// the workspace's names relative, and all of a repository's own files as one.
func changes(cwd string, before, after tree) (writes, deletes []string) {
	inRepo := func(name string) (string, bool) {
		dir, rest, ok := strings.Cut(name, "/.git/")
		if !ok || rest == "config" || strings.HasPrefix(rest, "hooks/") {
			if _, had := before[dir+"/.git"]; !ok || had {
				return "", false
			}
		}
		return dir + "/.git", true
	}
	add := func(list *[]string, name string) {
		if repo, ok := inRepo(name); ok {
			name, list = repo, &writes
		}
		name = strings.TrimPrefix(name, cwd+"/")
		if !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	for name, e := range after {
		if had, ok := before[name]; !ok || had != e {
			add(&writes, name)
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			add(&deletes, name)
		}
	}
	slices.SortFunc(writes, cmp.Compare[string])
	slices.SortFunc(deletes, cmp.Compare[string])
	return writes, deletes
}
