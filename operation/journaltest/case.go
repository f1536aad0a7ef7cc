package journaltest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// Case is a file of parts, each under a line "-- NAME --": first what a case asks, then what it wants.
type Case struct {
	file  string
	parts *txtar.Archive
}

// EachCase makes a test of each file that matches a pattern.
func EachCase(t *testing.T, pattern string, play func(t *testing.T, c Case)) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases are called %s: %v", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), func(t *testing.T) {
			parts, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			play(t, Case{file, parts})
		})
	}
}

// Part is the text of a part, "" if there is none.
func (c Case) Part(name string) string {
	for _, f := range c.parts.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// Wants compares what came out with the parts of these names; one that isn't there is empty. With update
// it writes what came out in their place.
func (c Case) Wants(t *testing.T, update bool, got map[string]string, names ...string) {
	t.Helper()
	if !update {
		for _, name := range names {
			if d := cmp.Diff(c.Part(name), got[name]); d != "" {
				t.Errorf("%s (-want +got):\n%s", name, d)
			}
		}
		return
	}
	now := *c.parts
	now.Files = nil
	for _, f := range c.parts.Files {
		if !slices.Contains(names, f.Name) {
			now.Files = append(now.Files, f)
		}
	}
	for _, name := range names {
		if got[name] != "" {
			now.Files = append(now.Files, txtar.File{Name: name, Data: []byte(got[name])})
		}
	}
	if err := os.WriteFile(c.file, txtar.Format(&now), 0o644); err != nil {
		t.Fatal(err)
	}
}
