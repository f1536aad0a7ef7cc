package shell

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// quote makes one word of a text, as both shells read it.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// detours are ways to run a line that change nothing about which programs it runs.
var detours = []struct {
	name string
	wrap func(line string, d Dialect) string
}{
	{"eval", func(line string, _ Dialect) string { return "eval " + quote(line) }},
	{"shell", func(line string, d Dialect) string { return dialectNames[d] + " -c " + quote(line) }},
	{"env", func(line string, d Dialect) string { return "env A=1 " + dialectNames[d] + " -ec " + quote(line) }},
	{"wrappers", func(line string, d Dialect) string {
		return "nohup nice -n 3 timeout 5 " + dialectNames[d] + " -c " + quote(line)
	}},
	{"variable", func(line string, _ Dialect) string { return "v=" + quote(line) + "; eval \"$v\"" }},
	{"document", func(line string, d Dialect) string { return dialectNames[d] + " <<'E_N_D'\n" + line + "\nE_N_D" }},
	{"xargs", func(line string, d Dialect) string {
		return "ls | xargs " + dialectNames[d] + " -c " + quote(line) + " _"
	}},
	{"find", func(line string, d Dialect) string {
		return "find . -exec " + dialectNames[d] + " -c " + quote(line) + " \\;"
	}},
	{"function", func(line string, _ Dialect) string { return "fn() {\n" + line + "\n}\nfn" }},
	{"subshell", func(line string, _ Dialect) string { return "(\n" + line + "\n)" }},
	{"substitution", func(line string, _ Dialect) string { return "echo $(\n" + line + "\n)" }},
	{"background", func(line string, _ Dialect) string { return "{\n" + line + "\n} &" }},
	{"loop", func(line string, _ Dialect) string { return "while x; do\n" + line + "\ndone" }},
	{"trap", func(line string, _ Dialect) string { return "trap " + quote(line) + " EXIT" }},
	{"pipe", func(line string, d Dialect) string { return "printf %s " + quote(line) + " | " + dialectNames[d] }},
}

// Whatever the detour, what a line runs is found behind it, or the answer is unknown.
func TestDetoursHideNothing(t *testing.T) {
	lines := readCorpus(t)
	rapid.Check(t, func(t *rapid.T) {
		l := lines[rapid.IntRange(0, len(lines)-1).Draw(t, "line")]
		d := rapid.SampledFrom([]Dialect{Bash, Dash}).Draw(t, "dialect")
		tr := l.under(d)
		line := l.Line
		for range rapid.IntRange(1, 3).Draw(t, "detours") {
			line = rapid.SampledFrom(detours).Draw(t, "detour").wrap(line, d)
		}
		s := Parse(line, d)
		for _, r := range tr.Runs {
			if s.MayRun(r.Program) == No && !slices.Contains(l.Tags, "unreached") {
				t.Fatalf("%q by way of %q: %s isn't found in %q", l.Line, line, r.Program, programsOf(s))
			}
		}
	})
}

// What stands before and behind a line changes nothing about it either.
func TestNeighboursHideNothing(t *testing.T) {
	lines := readCorpus(t)
	for _, l := range lines {
		for _, around := range [][2]string{{"ls; ", ""}, {"ls\n", "\nls"}, {"true && ", ""}, {"other=1; ", ""}, {"# it's a note\n", " # don't"}} {
			if strings.Contains(l.Line, "<<") && around[1] != "" {
				continue
			}
			s := Parse(around[0]+l.Line+around[1], Bash)
			for _, r := range l.Runs {
				if s.MayRun(r.Program) == No {
					t.Errorf("%q within %q: %s isn't found", l.Line, around, r.Program)
				}
			}
		}
	}
}
