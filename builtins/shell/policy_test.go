package shell

import (
	"encoding/json"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

func harmlessPolicy(t *testing.T) Policy {
	t.Helper()
	text, err := os.ReadFile("testdata/harmless.json")
	if err != nil {
		t.Fatal(err)
	}
	var p struct {
		Note     string
		Programs []string
		Flags    map[string][]string
		Writes   []string
	}
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	return Policy{Programs: p.Programs, Flags: p.Flags, Writes: p.Writes}
}

// Of the corpus the list lets pass what is harmless. Of what it lets pass, nothing starts a program that
// isn't on it, and nothing changes a file outside, unless through a link that was there before: such a
// path is named, and whoever resolves it sees where it leads.
func TestTheListLetsTheHarmlessPassAndNothingElseRun(t *testing.T) {
	p, w := harmlessPolicy(t), readWorld(t)
	for _, d := range []Dialect{Bash, Dash, Sh} {
		passed, links := 0, 0
		for _, l := range readCorpus(t) {
			s := Parse(l.Line, d)
			ok, why := Allowed(s, p)
			if ok == (why != "") {
				t.Errorf("%s: %q is %v because %q", dialectNames[d], l.Line, ok, why)
			}
			if !ok {
				if l.Tags[0] == "harmless" {
					t.Errorf("%s: %q is harmless, but %s", dialectNames[d], l.Line, why)
				}
				continue
			}
			passed++
			truths := []*truth{l.under(d)}
			if d == Sh {
				truths = []*truth{l.under(Bash), l.under(Dash)}
			}
			for _, tr := range truths {
				for _, r := range tr.Runs {
					if !slices.Contains(p.Programs, r.Program) {
						t.Errorf("%s: %q passed and ran %s", dialectNames[d], l.Line, r.Program)
					}
				}
				for _, changed := range slices.Concat(tr.Writes, tr.Deletes) {
					if !path.IsAbs(changed) {
						continue
					}
					e := Writes(s)
					if named := slices.Concat(e.Writes, e.Deletes); slices.ContainsFunc(named, func(n string) bool { return w.real(n) == changed }) {
						links++
						continue
					}
					t.Errorf("%s: %q passed and changed %s", dialectNames[d], l.Line, changed)
				}
			}
		}
		t.Logf("%s: %d of 205 lines pass, %d paths of them lead outside through a link", dialectNames[d], passed, links)
	}
}

func TestPolicies(t *testing.T) {
	for _, c := range []struct {
		line     string
		programs string
		flags    map[string][]string
		writes   string
		why      string // part of it, "" if it is allowed
	}{
		{"ls && git status | wc -l", "ls git wc", nil, ".", ""},
		{"ls && rm x", "ls git", nil, ".", "rm isn't on the list"},
		{"/usr/bin/ls", "ls", nil, ".", ""},
		{"./ls", "ls", nil, ".", "file of its own"},
		{"cd x && ls", "ls", nil, ".", "cd isn't on the list"},
		{"cd x && ls", "ls cd", nil, ".", ""},
		{"cd x && ls > y", "ls cd", nil, ".", "after a change of the folder"},
		{"cd x && ls > y", "ls cd", nil, "/", ""},
		{"x=1", "", nil, ".", ""},
		{"[[ -f x ]]", "", nil, ".", ""},
		{"> x", "", nil, ".", ""},
		{"> x", "", nil, "", "x may not be changed"},
		{"$x", "x", nil, "/", "only known at run time"},
		{"$x ls", "ls", nil, "/", "only known at run time"},
		{"\"\"", "ls", nil, ".", ""},
		{"sh -c 'ls; rm x'", "sh ls", nil, ".", "rm isn't on the list"},
		{"ls -la", "ls", map[string][]string{"ls": {"-l", "-a"}}, ".", ""},
		{"ls -laR", "ls", map[string][]string{"ls": {"-l", "-a"}}, ".", "-laR"},
		{"ls --color=auto --all", "ls", map[string][]string{"ls": {"--color", "--all"}}, ".", ""},
		{"ls --colour", "ls", map[string][]string{"ls": {"--color"}}, ".", "--colour"},
		{"ls --color=auto", "ls", map[string][]string{"ls": {"--color=never"}}, ".", "--color=auto"},
		{"ls x -- -R", "ls", map[string][]string{"ls": {}}, ".", ""},
		{"ls $x", "ls", map[string][]string{"ls": {}}, ".", "may be an option"},
		{"ls \"./$x\" src/* $#", "ls", map[string][]string{"ls": {}}, ".", ""},
		{"ls *", "ls", map[string][]string{"ls": {}}, ".", "may be an option"},
		{"ls - -x", "ls", map[string][]string{"ls": {"-x"}}, ".", ""},
		{"ls $x", "ls", map[string][]string{"rm": {}}, ".", ""},
		{"find . -name x", "find", map[string][]string{"find": {"-name"}}, ".", ""},
		{"find . -type f", "find", map[string][]string{"find": {"-name"}}, ".", "-type"},
		{"echo > a/b; rm a", "echo rm", nil, "a", ""},
		{"echo > ab", "echo", nil, "a", "ab may not be changed"},
		{"echo > a/../b", "echo", nil, ".", "a/../b may not be changed"},
		{"echo > ../b", "echo", nil, ".", "../b may not be changed"},
		{"echo > ../b/c", "echo", nil, "../b", ""},
		{"echo > ../b/../c", "echo", nil, "../b", "may not be changed"},
		{"echo > /tmp/x", "echo", nil, ". /tmp", ""},
		{"echo > /tmpx", "echo", nil, ". /tmp", "/tmpx may not be changed"},
		{"echo > ~/x", "echo", nil, ".", "~/x may not be changed"},
		{"echo > ~/x", "echo", nil, ". ~", ""},
		{"echo > '~/x'", "echo", nil, ".", ""},
		{"echo > \"$x\"", "echo", nil, ".", "only known at run time"},
		{"echo > /dev/null", "echo", nil, "", ""},
		{"echo > /dev/tcp/h/1", "echo", nil, ".", "/dev/tcp/h/1 may not be changed"},
		{"cat < /dev/tcp/h/1", "cat", nil, ".", "/dev/tcp/h/1 may not be changed"},
		{"ln -s a b", "ln", nil, ".", "a link can lead anywhere"},
		{"ln -s a b", "ln", nil, "/", ""},
		{"mv a b; echo > c", "mv echo", nil, ".", "link"},
		{"npm test", "npm", nil, ".", ""},
		{"npm test; git checkout x", "npm git", nil, ".", "doesn't name"},
		{"python3 -c 1", "python3", nil, "/", "code of another language"},
		{"ls 'x", "ls", nil, "/", "syntax"},
		{"f() { rm x; }; ls", "ls", nil, ".", ""},
		{"f() { rm x; }; f", "f", nil, ".", "rm isn't on the list"},
		{"ls() { rm x; }; ls", "ls", nil, ".", "rm isn't on the list"},
		{"rm() { :; }; rm x", ":", nil, ".", ""},
	} {
		ok, why := Allowed(Parse(c.line, Bash), Policy{Programs: strings.Fields(c.programs), Flags: c.flags, Writes: strings.Fields(c.writes)})
		if ok != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%q with %q, %v and %q: %v, %q; want %q", c.line, c.programs, c.flags, c.writes, ok, why, c.why)
		}
	}
}
