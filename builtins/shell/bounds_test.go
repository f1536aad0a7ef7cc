package shell

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// cost is what a script takes, in the units that Work counts, as far as it shows.
func cost(s Script) int {
	n := len(s.Reasons)
	for i := range s.Commands {
		c := &s.Commands[i]
		n += 1 + len(c.Args) + len(c.Chain) + len(c.Assignments) + len(c.Redirects) + len(c.effects.writes) + len(c.effects.deletes)
	}
	return n
}

// hold checks what must hold of any line.
func hold(t testing.TB, line string, d Dialect) Script {
	t.Helper()
	s := Parse(line, d)
	work, _ := Work(len(line), d)
	if got := cost(s); got > work+maxDepth+64 {
		t.Errorf("%.60q (%d bytes, %s) takes %d, want at most %d", line, len(line), dialectNames[d], got, work)
	}
	if len(s.Commands) > MaxCommands || len(s.Reasons) > maxReasons {
		t.Errorf("%.60q: %d commands and %d reasons", line, len(s.Commands), len(s.Reasons))
	}
	if s.Known == (len(s.Reasons) > 0) {
		t.Errorf("%.60q: known %v with the reasons %q", line, s.Known, s.Reasons)
	}
	if s.Error != "" && s.Known {
		t.Errorf("%.60q: known with an error", line)
	}
	for _, c := range s.Commands {
		if !c.Known && (s.Known || c.Reason == "") {
			t.Errorf("%.60q: %q is unknown without a reason, or the line is known", line, c.Written)
		}
	}
	for _, r := range append(s.Reasons, s.Error) {
		if len(r) > maxReason+3 || !utf8.ValidString(r) {
			t.Errorf("%.60q: reason %q", line, r)
		}
	}
	e := Writes(s)
	if e.Known && !s.Known || e.Known == (len(e.Reasons) > 0) {
		t.Errorf("%.60q: effects known %v, reasons %q, script known %v", line, e.Known, e.Reasons, s.Known)
	}
	if ok, _ := Allowed(s, Policy{}); ok && (len(programsOf(s)) > 0 || len(e.Writes)+len(e.Deletes) > 0) {
		t.Errorf("%.60q passes an empty list", line)
	}
	return s
}

func repeated(s string, size int) string { return strings.Repeat(s, size/len(s)) }

func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// hostile are lines that would take much of what isn't bounded.
func hostile() map[string]string {
	const big = 100_000
	nested := "rm a"
	for range 14 {
		nested = "sh -c '" + strings.ReplaceAll(nested, "'", `'\''`) + "'"
		if len(nested) > big {
			break
		}
	}
	doubled := "a(){ rm a;}\n"
	for i, before := 0, "a"; i < 40; i++ {
		name := fmt.Sprintf("f%d", i)
		doubled += fmt.Sprintf("%s(){ %s;%s;}\n", name, before, before)
		before = name
	}
	return map[string]string{
		"commands":            repeated("a;", big),
		"pipes":               repeated("a|", 20_000) + "rm",
		"many pipes":          repeated("a|", big) + "rm",
		"and":                 repeated("a&&", big) + "rm",
		"arguments":           "rm " + repeated("a ", big),
		"parentheses":         strings.Repeat("(", 10_000) + "rm" + strings.Repeat(")", 10_000),
		"parentheses apart":   strings.Repeat("( ", 10_000) + "rm" + strings.Repeat(" )", 10_000),
		"substitutions":       strings.Repeat("$(", 10_000) + "rm" + strings.Repeat(")", 10_000),
		"quoted":              strings.Repeat(`"$(`, 10_000) + "rm" + strings.Repeat(`)"`, 10_000),
		"arithmetic":          "echo $((" + strings.Repeat("(", 10_000) + "1" + strings.Repeat(")", 10_000) + "))",
		"sums":                "echo $((1" + repeated("+1", big) + "))",
		"assignments in sums": "echo $((" + repeated("a=", big) + "1))",
		"signs":               "echo $((" + repeated("- ", big) + "1))",
		"defaults":            repeated("${a:-", big/2) + "x" + strings.Repeat("}", big/10),
		"braces":              "echo " + strings.Repeat("{a,b}", 40),
		"many braces":         "echo " + repeated("{a,b}", big),
		"nested braces":       "echo " + strings.Repeat("{a,", 5000) + "b" + strings.Repeat("}", 5000),
		"sequences":           "echo " + strings.Repeat("{1..99999999}", 40),
		"shells":              nested,
		"functions":           doubled + "f39",
		"many functions":      numbered("f%d(){ rm;};", 6000) + "f1",
		"one function":        repeated("f(){ a;};", big) + "f",
		"endless":             "f(){ f;f;}; f",
		"evals":               "x='eval $x;eval $x'; eval \"$x\"",
		"doubling":            "x=aaaaaaaaaaaaaaaa;" + repeated("x=$x$x;", 10_000) + "$x",
		"words":               "x='" + repeated("a ", big/2) + "';" + repeated("b $x;", big/2),
		"loops":               strings.Repeat("while x; do y=1$y;", 60) + strings.Repeat("done;", 60),
		"loops of variables":  numbered("a%d=1;", 3000) + strings.Repeat("for i in 1 2; do a=$a$i;", 9) + strings.Repeat("done;", 9),
		"variables":           numbered("a%d=1|", 9000) + "x",
		"joins":               numbered("a%d=1;", 3000) + repeated("if x;then a=1;else a=2;fi;", big/2),
		"copies":              numbered("a%d=$(b)\n", 6000),
		"aliases":             "shopt -s expand_aliases\n" + numbered("alias a%d=b\n", 5000),
		"ifs":                 repeated("if ", big),
		"elifs":               "if a;then b;" + repeated("elif a;then b;", big) + "fi",
		"cases":               "case x in " + repeated("a) b;;", big) + " esac",
		"wrappers":            repeated("env ", big) + "rm",
		"options":             "sort " + repeated("-o x ", big),
		"finds":               "find . " + repeated("-exec rm {} ; ", big),
		"git":                 "git log " + repeated("--output=x ", big),
		"sed":                 "sed '" + repeated("s/a/b/;", 60_000) + "'",
		"awk":                 "awk '" + repeated("{print $1}", 60_000) + "'",
		"redirections":        "rm " + repeated(">a ", big),
		"documents":           repeated("cat <<E\n$(a)\nE\n", big),
		"a document":          "cat <<'E' > f\n" + repeated("it's $(nothing) `to` \"run\"\n", big) + "E\n",
		"traps":               repeated("trap 'rm' 1;", big),
		"tildes":              repeated("~/x ", big),
		"patterns":            repeated("* ", big),
		"comments":            repeated("# it's\n", big),
		"line feeds":          repeated("\n", big) + "rm",
		"carriage returns":    repeated("a\r\n", big),
		"conditions":          "[[ " + repeated("( ", big),
		"more conditions":     "[[ a" + repeated(" && a", big) + " ]]",
		"not":                 repeated("! ", big),
		"arrays":              "a=(" + repeated("[1]=$(b) ", big) + ")",
		"open quote":          "'" + repeated("a ", big),
		"open document":       repeated("<<a ", big),
		"long name":           repeated("a", big),
		"reasons":             numbered("./a%d;", 20_000),
		"deep chain":          strings.Repeat("( ", 190) + repeated("a;", 50_000) + strings.Repeat(" )", 190),
		"too long":            repeated("a;", MaxLine+2),
		"longest":             repeated("git status; ", MaxLine),
		"private letters": func() string {
			var b strings.Builder
			for r := rune(0xE000); r < 0xE200; r++ {
				b.WriteRune(r)
			}
			return "echo \r" + b.String()
		}(),
	}
}

func TestHostileLinesAreBounded(t *testing.T) {
	unknown := map[string]bool{}
	for name, line := range hostile() {
		for _, d := range []Dialect{Bash, Dash, Sh} {
			s := hold(t, line, d)
			if !s.Known {
				unknown[name] = true
			}
			if again := Parse(line, d); len(again.Commands) != len(s.Commands) || again.Known != s.Known || strings.Join(again.Reasons, "\n") != strings.Join(s.Reasons, "\n") {
				t.Errorf("%s: another reading of %s gives something else", dialectNames[d], name)
			}
		}
	}
	for _, name := range strings.Fields("parentheses substitutions arithmetic braces functions endless evals shells pipes reasons") {
		if !unknown[name] {
			t.Errorf("%s: is known", name)
		}
	}
}

// What was seen before a limit isn't lost.
func TestLimitsLoseNothing(t *testing.T) {
	for _, line := range []string{
		"rm a; " + repeated("b;", 100_000),
		"rm a\n" + strings.Repeat("(", 10_000),
		"rm " + repeated("a ", 100_000),
		"rm a; f(){ f; }; f",
		"rm a\n'",
	} {
		if s := Parse(line, Bash); s.Known || s.MayRun("rm") != Yes || s.MayRun("other") != Unknown {
			t.Errorf("%.20q: known %v, %d commands, rm %v: %q", line, s.Known, len(s.Commands), s.MayRun("rm"), s.Reasons)
		}
	}
	if s := Parse(repeated("a ", MaxLine+2), Bash); s.Known || len(s.Reasons) != 1 {
		t.Errorf("a line that is too long: %v %q", s.Known, s.Reasons)
	}
}

// The usual long lines are known: documents that are written to files, and scripts of some length.
func TestUsualLongLinesAreKnown(t *testing.T) {
	for name, line := range map[string]string{
		"a document":                    hostile()["a document"],
		"a script":                      repeated("git status --short && grep -rn 'some text' src | head -n 5\n", 8_000),
		"parentheses":                   strings.Repeat("( ", 150) + "ls" + strings.Repeat(" )", 150),
		"a shell in a shell in a shell": `sh -c "sh -c 'sh -c \"ls\"'"`,
	} {
		if s := Parse(line, Bash); !s.Known {
			t.Errorf("%s: %q", name, s.Reasons)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, l := range readCorpus(f) {
		f.Add(l.Line)
	}
	for _, c := range readLines[construct](f, "testdata/constructs.jsonl") {
		f.Add(c.Line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		for _, d := range []Dialect{Bash, Dash, Sh} {
			hold(t, line, d)
		}
	})
}
