package facts

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// corpusPath is one line of paths.jsonl.
type corpusPath struct {
	ID         string
	Path, Cwd  string
	Real       *string
	Inside     bool
	Kind       string
	Kernel     string
	Create     string
	Shell      *reading
	Decoded    *reading
	SameFileAs string `json:"same_file_as"`
	Note       string
}

// reading is where a path leads that a shell or a decoder read first.
type reading struct {
	Real   *string
	Inside bool
}

const corpora = "../../testdata/corpora"

// fixture makes the corpus' entries in a new folder and returns its own real path.
func fixture(t testing.TB) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(corpora, "fixture.json"))
	if err != nil {
		t.Fatal(err)
	}
	var plan struct {
		Entries []struct{ Dir, File, Text, Link, To, Hardlink, Of string }
	}
	if err := json.Unmarshal(text, &plan); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return root + "/" + name }
	for _, e := range plan.Entries {
		switch {
		case e.Dir != "":
			err = os.Mkdir(at(e.Dir), 0o755)
		case e.File != "":
			err = os.WriteFile(at(e.File), []byte(e.Text), 0o644)
		case e.Link != "":
			err = os.Symlink(strings.ReplaceAll(e.To, "{ROOT}", root), at(e.Link))
		default:
			err = os.Link(at(e.Of), at(e.Hardlink))
		}
		if err != nil {
			t.Skipf("this file system doesn't take the fixture: %v", err)
		}
	}
	return root
}

func corpusPaths(t testing.TB, root string) []corpusPath {
	t.Helper()
	f, err := os.Open(filepath.Join(corpora, "paths.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []corpusPath
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		text := strings.ReplaceAll(lines.Text(), "{ROOT}", root)
		var c corpusPath
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	if err := lines.Err(); err != nil || len(all) == 0 {
		t.Fatalf("%d lines: %v", len(all), err)
	}
	return all
}

func orNone(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func TestPlacesOfTheCorpus(t *testing.T) {
	root := fixture(t)
	ws := root + "/ws"
	right := 0
	all := corpusPaths(t, root)
	for _, c := range all {
		p := Real(t.Context(), c.Path, c.Cwd, Options{Root: ws})
		ok := true
		wrong := func(what string, got, want any) {
			ok = false
			t.Errorf("%s %.80q from %s: %s is %v, want %v (%s) %+v", c.ID, c.Path, c.Cwd, what, got, want, c.Note, p)
		}
		if p.Real != orNone(c.Real) {
			wrong("real", p.Real, orNone(c.Real))
		}
		if p.Inside != c.Inside {
			wrong("inside", p.Inside, c.Inside)
		}
		if p.Kernel != c.Kernel {
			wrong("kernel", p.Kernel, c.Kernel)
		}
		if want := c.Kernel == "ENOENT" && c.Create == "" && c.Real != nil; p.Creatable != want {
			wrong("creatable", p.Creatable, want)
		}
		if want := min(1, len(c.SameFileAs)) + 1; c.Kind == "hardlink" && p.Links != want {
			wrong("links", p.Links, want)
		}
		if c.SameFileAs != "" {
			wide := Real(t.Context(), c.Path, c.Cwd, Options{Root: root})
			if len(wide.SameFileAs) != 1 || wide.SameFileAs[0] != c.SameFileAs {
				wrong("same file as", wide.SameFileAs, c.SameFileAs)
			}
			if len(p.SameFileAs) != 0 {
				wrong("same file as", p.SameFileAs, "nothing in the workspace")
			}
		}
		if ok {
			right++
		}
	}
	t.Logf("paths: %d of %d", right, len(all))
}
