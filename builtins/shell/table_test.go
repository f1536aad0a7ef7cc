package shell

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

func readLines[T any](t testing.TB, file string) []T {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []T
	for in := bufio.NewScanner(f); in.Scan(); {
		var x T
		dec := json.NewDecoder(strings.NewReader(in.Text()))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&x); err != nil {
			t.Fatalf("%s: %s: %v", file, in.Text(), err)
		}
		out = append(out, x)
	}
	return out
}

func dialectOf(t testing.TB, name string) Dialect {
	t.Helper()
	for d, n := range dialectNames {
		if n == name || name == "" && d == Bash {
			return d
		}
	}
	t.Fatalf("there is no dialect %q", name)
	return 0
}

// construct is a line and what has to be said about it. Known is true unless it is given.
type construct struct {
	About, Line, Dialect, Note string
	Runs                       *[]string // programs of all commands, in order, "" where it isn't known or there is none
	Known                      *bool
	Reason                     string   // part of one of the reasons
	Code                       []string // languages and texts, in turn
	Error                      bool
	MayRun                     map[string]string
}

func TestConstructs(t *testing.T) {
	for _, c := range readLines[construct](t, "testdata/constructs.jsonl") {
		s := Parse(c.Line, dialectOf(t, c.Dialect))
		if want := c.Known == nil || *c.Known; s.Known != want {
			t.Errorf("%q: known is %v: %q", c.Line, s.Known, s.Reasons)
		}
		if got := programsOf(s); c.Runs != nil && !slices.Equal(got, *c.Runs) {
			t.Errorf("%q: runs\n%q, want\n%q (%q)", c.Line, got, *c.Runs, s.Reasons)
		}
		if c.Reason != "" && !strings.Contains(strings.Join(s.Reasons, "; "), c.Reason) {
			t.Errorf("%q: reasons %q, want %q among them", c.Line, s.Reasons, c.Reason)
		}
		var code []string
		for _, cmd := range s.Commands {
			if cmd.Code != nil {
				code = append(code, cmd.Code.Language, cmd.Code.Text)
			}
		}
		if c.Code != nil && !slices.Equal(code, c.Code) {
			t.Errorf("%q: code %q, want %q", c.Line, code, c.Code)
		}
		if (s.Error != "") != c.Error {
			t.Errorf("%q: error %q", c.Line, s.Error)
		}
		for program, want := range c.MayRun {
			if got := s.MayRun(program).String(); got != want {
				t.Errorf("%q: may run %s: %s, want %s", c.Line, program, got, want)
			}
		}
		for _, cmd := range s.Commands {
			if !cmd.Known && cmd.Reason == "" || !cmd.Known && s.Known {
				t.Errorf("%q: %s is unknown without a reason, or the line is known all the same", c.Line, cmd.Program)
			}
		}
	}
}

func TestFiles(t *testing.T) {
	type files struct {
		Line, Note      string
		Writes, Deletes *[]string
		Known           *bool
	}
	for _, c := range readLines[files](t, "testdata/files.jsonl") {
		e := Writes(Parse(c.Line, Bash))
		if want := c.Known == nil || *c.Known; e.Known != want {
			t.Errorf("%q: known is %v: %q", c.Line, e.Known, e.Reasons)
		}
		if c.Writes != nil && !slices.Equal(e.Writes, *c.Writes) {
			t.Errorf("%q: writes %q, want %q", c.Line, e.Writes, *c.Writes)
		}
		if c.Deletes != nil && !slices.Equal(e.Deletes, *c.Deletes) {
			t.Errorf("%q: deletes %q, want %q", c.Line, e.Deletes, *c.Deletes)
		}
		if e.Known == (len(e.Reasons) > 0) {
			t.Errorf("%q: known %v with reasons %q", c.Line, e.Known, e.Reasons)
		}
	}
}

func TestTheTableOfProgramsIsWhole(t *testing.T) {
	kinds := strings.Fields("any reads writes deletes copies moves runs own unknown starts special")
	roles := strings.Fields("write delete program words sh shell dir read")
	for name, s := range programs() {
		if !slices.Contains(kinds, s.kind) {
			t.Errorf("%s: there is no kind %q", name, s.kind)
		}
		if (s.kind == "special") != (specials[name] != nil) {
			t.Errorf("%s: is of kind %s, but special code is there: %v", name, s.kind, specials[name] != nil)
		}
		if (s.kind == "unknown" || s.kind == "starts") && s.text == "" {
			t.Errorf("%s: kind %s needs a text", name, s.kind)
		}
		for _, o := range s.long {
			if o.role != "" && !slices.Contains(roles, o.role) {
				t.Errorf("%s: %s has the role %q", name, o.terminal, o.role)
			}
		}
		for c, o := range s.short {
			if o.role != "" && !slices.Contains(roles, o.role) || c <= ' ' || c >= 0x7f {
				t.Errorf("%s: %q has the role %q", name, o.terminal, o.role)
			}
		}
	}
	for name := range specials {
		if s := programs()[name]; s == nil || s.kind != "special" {
			t.Errorf("%s has code, but isn't special in the table", name)
		}
	}
}
