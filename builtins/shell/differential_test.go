//go:build linux && (amd64 || arm64)

package shell_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// corpusLine is one line of shell.jsonl.
type corpusLine struct {
	ID, Line string
	Tags     []string
	outcome
	Dash *outcome
	Note string
}

type outcome struct {
	Runs            []run
	Writes, Deletes []string
	Exit            int
}

func readCorpus(t testing.TB) []corpusLine {
	t.Helper()
	text, err := os.ReadFile("../../testdata/corpora/shell.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var out []corpusLine
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var c corpusLine
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	if len(out) < 200 {
		t.Fatalf("only %d lines", len(out))
	}
	return out
}

// summary is an outcome without what differs from run to run.
func (o outcome) summary() string {
	var runs []string
	for _, r := range o.Runs {
		if strings.HasPrefix(r.Program, "ld-linux") {
			continue // the corpus' way of logging couldn't see the loader
		}
		runs = append(runs, fmt.Sprintf("%s %q", r.Path+"("+r.Program+")", r.Argv))
	}
	slices.Sort(runs)
	return fmt.Sprintf("runs %s, writes %q, deletes %q", strings.Join(runs, ", "), o.Writes, o.Deletes)
}

// shells are those that lines are run under; posix is bash by the name of sh.
var shells = []string{"bash", "dash", "posix"}

// eachShell runs a test under each shell at once, with a sandbox of its own.
func eachShell(t *testing.T, f func(t *testing.T, s *sandbox, sh string)) {
	for _, sh := range shells {
		t.Run(sh, func(t *testing.T) {
			t.Parallel()
			f(t, openSandbox(t), sh)
		})
	}
}

// wrong returns what the readings of a line get wrong. A line is run if one of them claims to know
// something: nothing that happens could be held against the others.
func (s *sandbox) wrong(t fataler, line, sh string) (complaints []string, read []reading, got truth) {
	t.Helper()
	read = readings(line, sh)
	if slices.ContainsFunc(read, func(r reading) bool { return r.script.Known || r.effects.Known }) {
		got = s.run(t, question{Shell: sh, Line: line, Paths: paths(read), Limit: time.Second})
	}
	for _, r := range read {
		for _, c := range r.complaints(got) {
			complaints = append(complaints, fmt.Sprintf("as %s, %s", dialectNames[r.dialect], c))
		}
	}
	return complaints, read, got
}

// TestRealShellsStartNothingUnforetold runs every line of the corpus and holds what was started and
// changed against what the package says.
func TestRealShellsStartNothingUnforetold(t *testing.T) {
	lines := readCorpus(t)
	eachShell(t, func(t *testing.T, s *sandbox, sh string) {
		differ := 0
		for _, c := range lines {
			wrong, _, got := s.wrong(t, c.Line, sh)
			if !got.Ran {
				got = s.run(t, question{Shell: sh, Line: c.Line})
			}
			for _, w := range wrong {
				t.Errorf("%s %.100q under %s, read %s", c.ID, c.Line, sh, w)
			}
			want := c.outcome
			if sh == "dash" && c.Dash != nil {
				want = *c.Dash
			}
			seen := outcome{got.Runs, got.Writes, got.Deletes, got.Exit}
			if sh != "posix" && seen.summary() != want.summary() && !s.lacks(want) {
				differ++
				t.Logf("note: %s %.100q under %s: here %s; the corpus has %s", c.ID, c.Line, sh, seen.summary(), want.summary())
			}
		}
		t.Logf("%d lines; %d outcomes differ from the corpus; not on this machine: %v", len(lines), differ, s.lacking())
	})
}

// TestRealShellsStartNothingUnforetoldAtRandom does the same with lines that nobody thought of:
// always the same few hundred, or as many as AGENTD_SHELL_LINES says, from AGENTD_SHELL_SEED on.
func TestRealShellsStartNothingUnforetoldAtRandom(t *testing.T) {
	count, first := fromEnv(t, "AGENTD_SHELL_LINES", 600), fromEnv(t, "AGENTD_SHELL_SEED", 0)
	parents := slices.Concat(linesOf(t, "fooled.txt"), linesOf(t, "tricky.txt"))
	for _, c := range readCorpus(t) {
		if len(c.Line) < 300 {
			parents = append(parents, c.Line)
		}
	}
	eachShell(t, func(t *testing.T, s *sandbox, sh string) {
		known, ran, started, lines := 0, 0, 0, 0
		shown := map[string]bool{}
		for seed := first; seed < first+count; seed++ {
			data := seeded(uint64(seed))
			var line string
			switch seed % 3 {
			case 0:
				line = statefulLine(data)
			case 1:
				line = grownLine(data)
			default:
				line = mutantLine(data, parents)
			}
			if strings.ContainsRune(line, 0) {
				continue
			}
			wrong, read, got := s.wrong(t, line, sh)
			lines++
			if read[0].script.Known {
				known++
			}
			if got.Ran {
				ran++
			}
			if len(got.Runs) > 0 {
				started++
			}
			if len(wrong) == 0 {
				continue
			}
			small, why := s.smallest(t, line, sh, wrong[0])
			if !shown[small] && len(shown) < 40 {
				shown[small] = true
				t.Errorf("seed %d: %q under %s, read %s\n\tfrom %q", seed, small, sh, why, line)
			}
		}
		t.Logf("%d lines, %d are known, %d were run, %d of them started programs", lines, known, ran, started)
	})
}

// linesOf reads a file of lines, of which some have line feeds: ---- is between them.
func linesOf(t testing.TB, name string) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n----\n")
}

// TestTrickyLines runs lines that were thought of to fool a reader: those that once did under every
// shell, the others under one of them, or under all if AGENTD_SHELL_LINES is set.
func TestTrickyLines(t *testing.T) {
	fooled, tricky := linesOf(t, "fooled.txt"), linesOf(t, "tricky.txt")
	all := os.Getenv("AGENTD_SHELL_LINES") != ""
	eachShell(t, func(t *testing.T, s *sandbox, sh string) {
		lines := slices.Clone(fooled)
		for i, line := range tricky {
			if all || i%len(shells) == slices.Index(shells, sh) {
				lines = append(lines, line)
			}
		}
		known := 0
		for _, line := range lines {
			wrong, read, _ := s.wrong(t, line, sh)
			for _, w := range wrong {
				t.Errorf("%q under %s, read %s", line, sh, w)
			}
			if read[0].script.Known {
				known++
			}
		}
		t.Logf("%d lines, %d are known", len(lines), known)
	})
}

func fromEnv(t *testing.T, name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s is no number: %q", name, text)
	}
	return n
}

// smallest takes pieces out of a line as long as the same kind of thing is wrong with it.
func (s *sandbox) smallest(t fataler, line, sh, why string) (string, string) {
	kind := func(c string) string { k, _, _ := strings.Cut(c, ":"); return k }
	for size := len(line) / 2; size > 0; size /= 2 {
		for at := 0; at+size <= len(line); {
			shorter := line[:at] + line[at+size:]
			wrong, _, _ := s.wrong(t, shorter, sh)
			if i := slices.IndexFunc(wrong, func(c string) bool { return kind(c) == kind(why) }); i >= 0 {
				line, why = shorter, wrong[i]
			} else {
				at += size
			}
		}
	}
	return line, why
}

// FuzzGrownLines lets the fuzzer make the grammar's choices.
func FuzzGrownLines(f *testing.F) {
	s := openSandbox(f)
	for seed := range uint64(10) {
		f.Add(seeded(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { s.holdAll(t, grownLine(data[:min(len(data), 150)])) })
}

// FuzzAnyLines lets it change the text of the corpus' lines.
func FuzzAnyLines(f *testing.F) {
	s := openSandbox(f)
	for i, c := range readCorpus(f) {
		if i < 5 || flag.Lookup("test.fuzz").Value.String() != "" { // another test runs them all
			f.Add(c.Line)
		}
	}
	f.Fuzz(func(t *testing.T, line string) { s.holdAll(t, line) })
}

func (s *sandbox) holdAll(t *testing.T, line string) {
	if strings.ContainsRune(line, 0) || len(line) > 3000 {
		t.Skip("can't be an argument, or is too long for a shell to be quick")
	}
	for _, sh := range shells {
		if wrong, _, _ := s.wrong(t, line, sh); len(wrong) > 0 {
			t.Errorf("%q under %s, read %s", line, sh, strings.Join(wrong, "; "))
		}
	}
}

// lacks tells whether an outcome needs a program that this machine doesn't have.
func (s *sandbox) lacks(o outcome) bool {
	return slices.ContainsFunc(o.Runs, func(r run) bool { return s.Missing[r.Program] })
}

func (s *sandbox) lacking() []string {
	var out []string
	for name := range s.Missing {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// TestTheSandboxHolds tries to get out, and shows that what happens inside is seen.
func TestTheSandboxHolds(t *testing.T) {
	s := openSandbox(t)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		line     string
		exit     int
		runs     string // programs in order of time
		writes   string
		cut      string
		onlyBash bool
	}{
		{line: "test $(id -u) = 1000 && test $(whoami) = dev && test $PWD = /home/dev/proj", runs: "id whoami"},
		{line: "grep -q 'CapEff:.*0000000000000000' /proc/self/status && grep -q 'NoNewPrivs:.*1' /proc/self/status", runs: "grep grep"},
		{line: "test -e '" + here + "'", exit: 1},
		{line: "ls /proc | grep -c '^[0-9]' | { read n; test $n -lt 9; }", runs: "grep ls"},
		{line: "exec 3<>/dev/tcp/127.0.0.1/22", exit: 1, onlyBash: true},
		{line: "grep : /proc/net/dev | grep -v lo: || exit 4", exit: 4, runs: "grep grep"},
		{line: "for d in / /usr /usr/bin /usr/lib /proc /dev /proc/sys/kernel; do true > $d/x && exit 9; done; exit 3", exit: 3},
		{line: "echo x > /etc/x; echo x > a; mkdir d; rm -rf src; unlink src/a.txt", runs: "mkdir rm unlink", writes: "/etc/x a d"},
		{line: "kill -TERM 1; kill -KILL 1; kill -QUIT -1; test -d /proc/1"},
		{line: "yes", runs: "yes", cut: "time"},
		{line: "while :; do :; done", cut: "time"},
		{line: "f() { f | f & }; f; sleep 3", cut: "too many processes"},
		{line: "dd if=/dev/zero of=big bs=1M count=100 2>&1", exit: 128 + 25, runs: "dd", writes: "big"},
		{line: "sudo -u root A=1 sh -c 'echo $A > b'", runs: "sh sudo", writes: "b"},
		{line: "/lib64/ld-linux-x86-64.so.2 --version", runs: "ld-linux-x86-64.so.2"},
		{line: "(sleep 0.1; touch late) & touch early", runs: "sleep touch touch", writes: "early late"},
		{line: "test -e a -o -e b -o -e late -o -e big || test -e /etc/x", exit: 1}, // all was undone
	} {
		for _, sh := range []string{"bash", "dash"} {
			if c.onlyBash && sh == "dash" || strings.Contains(c.line, "ld-linux") && !exists("/lib64/ld-linux-x86-64.so.2") {
				continue
			}
			q := question{Shell: sh, Line: c.line}
			if c.cut == "time" {
				q.Limit = 300 * time.Millisecond
			}
			got := s.run(t, q)
			var runs []string
			for _, r := range got.Runs {
				runs = append(runs, r.Program)
			}
			slices.Sort(runs)
			if got.Cut != c.cut || c.cut == "" && got.Exit != c.exit ||
				c.cut != "too many processes" && strings.Join(runs, " ") != c.runs || strings.Join(got.Writes, " ") != c.writes {
				t.Errorf("%s %q: exit %d, runs %q, writes %q, cut %q", sh, c.line, got.Exit, runs, got.Writes, got.Cut)
			}
		}
	}
}

func exists(name string) bool { _, err := os.Lstat(name); return err == nil }
