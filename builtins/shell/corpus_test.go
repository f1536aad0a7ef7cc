package shell

import (
	"bufio"
	"encoding/json"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// run is a program that a real shell started.
type run struct {
	Program string   `json:"program"`
	Argv    []string `json:"argv"`
	Path    string   `json:"path"`
}

// truth is what really happened.
type truth struct {
	Runs       []run    `json:"runs"`
	Writes     []string `json:"writes"`
	Deletes    []string `json:"deletes"`
	Exit       int      `json:"exit"`
	ParseError bool     `json:"parse_error"`
}

type corpusLine struct {
	ID   string   `json:"id"`
	Line string   `json:"line"`
	Tags []string `json:"tags"`
	Note string   `json:"note"`
	truth
	Dash *truth `json:"dash"`
}

// under is the truth of a dialect.
func (l *corpusLine) under(d Dialect) *truth {
	if d == Dash && l.Dash != nil {
		return l.Dash
	}
	return &l.truth
}

const corpora = "../../testdata/corpora/"

func readCorpus(t testing.TB) []corpusLine {
	t.Helper()
	f, err := os.Open(corpora + "shell.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines []corpusLine
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var l corpusLine
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

var dialectNames = map[Dialect]string{Bash: "bash", Dash: "dash", Sh: "sh"}

func TestNoLineOfTheCorpusRunsWhatIsNeitherNamedNorUnknown(t *testing.T) {
	lines := readCorpus(t)
	for _, d := range []Dialect{Bash, Dash, Sh} {
		wrong, unknown, harmless := 0, 0, 0
		for _, l := range lines {
			s := Parse(l.Line, d)
			if !s.Known {
				unknown++
				if l.Tags[0] == "harmless" {
					harmless++
					t.Errorf("%s %s: %q is harmless, but unknown: %q", dialectNames[d], l.ID, l.Line, s.Reasons)
				}
			}
			truths := []*truth{l.under(d)}
			if d == Sh {
				truths = []*truth{l.under(Bash), l.under(Dash)}
			}
			bad := false
			for _, tr := range truths {
				for _, r := range tr.Runs {
					if s.MayRun(r.Program) == No {
						bad = true
						t.Errorf("%s %s: %q ran %s; commands %s", dialectNames[d], l.ID, l.Line, r.Program, programsOf(s))
					}
				}
			}
			if bad {
				wrong++
			}
		}
		t.Logf("%s: of %d lines wrong %d, unknown %d (%d %%), of those harmless %d", dialectNames[d], len(lines), wrong, unknown, unknown*100/len(lines), harmless)
		if d != Sh && unknown*100 > 30*len(lines) { // sh is known only where bash and dash agree
			t.Errorf("%s: %d of %d lines are unknown, want at most 30 %%", dialectNames[d], unknown, len(lines))
		}
	}
}

func programsOf(s Script) []string {
	var out []string
	for _, c := range s.Commands {
		if c.Program != "" || len(c.Args) > 0 || !c.Known { // no mere assignments and redirections
			out = append(out, c.Program)
		}
	}
	return out
}

// world knows where the paths of the fixture lead.
type world struct {
	Cwd   string `json:"cwd"`
	Home  string `json:"home"`
	Links []struct{ Path, To string }
}

func readWorld(t testing.TB) *world {
	t.Helper()
	text, err := os.ReadFile(corpora + "shell-fixture.json")
	if err != nil {
		t.Fatal(err)
	}
	var w world
	if err := json.Unmarshal(text, &w); err != nil {
		t.Fatal(err)
	}
	return &w
}

// real resolves a path that the reader named, as a guard would before the line runs.
func (w *world) real(p string) string {
	if rest, ok := strings.CutPrefix(p, "~"); ok {
		p = w.Home + rest
	}
	if !path.IsAbs(p) {
		p = w.Cwd + "/" + p
	}
	at := "/"
	for _, part := range strings.Split(p, "/") {
		at = path.Join(at, part)
		for _, l := range w.Links {
			if l.Path == at {
				if path.IsAbs(l.To) {
					at = l.To
				} else {
					at = path.Join(path.Dir(at), l.To)
				}
			}
		}
	}
	return at
}

// covered tells whether a path that was changed is one that the reader named, or lies below one.
func (w *world) covered(changed string, named []string) bool {
	if !path.IsAbs(changed) {
		changed = w.Cwd + "/" + changed
	}
	for _, n := range named {
		for _, p := range []string{w.real(n), w.linkItself(n)} {
			if p == changed || strings.HasPrefix(changed, p+"/") || strings.HasPrefix(p, changed+"/") && !strings.HasPrefix(w.Cwd+"/", changed+"/") {
				return true // the last: a folder that was made on the way
			}
		}
	}
	return false
}

// linkItself is where a path leads if its last element isn't followed: mv replaces links.
func (w *world) linkItself(p string) string {
	return path.Join(w.real(path.Dir(strings.Replace(p, "~", w.Home, 1))), path.Base(p))
}

func TestNoLineOfTheCorpusWritesWhatIsNeitherNamedNorUnknown(t *testing.T) {
	lines, w := readCorpus(t), readWorld(t)
	for _, d := range []Dialect{Bash, Dash} {
		unknown, outside := 0, 0
		for _, l := range lines {
			e := Writes(Parse(l.Line, d))
			tr := l.under(d)
			changed := slices.Concat(tr.Writes, tr.Deletes)
			if slices.ContainsFunc(changed, path.IsAbs) {
				outside++
			}
			if !e.Known {
				unknown++
				continue
			}
			for _, p := range tr.Writes {
				if !w.covered(p, e.Writes) {
					t.Errorf("%s %s: %q wrote %s, not in %q", dialectNames[d], l.ID, l.Line, p, e.Writes)
				}
			}
			for _, p := range tr.Deletes {
				if !w.covered(p, e.Deletes) {
					t.Errorf("%s %s: %q removed %s, not in %q", dialectNames[d], l.ID, l.Line, p, e.Deletes)
				}
			}
		}
		t.Logf("%s: of %d lines what is written is unknown in %d; %d write outside", dialectNames[d], len(lines), unknown, outside)
	}
}
