package operation_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what the cases of testdata give now; read the difference before you keep it")

// wanted are the parts of a case that say what comes out.
var wanted = []string{"commits", "ran", "asked", "done", "records", "effects", "cells"}

// TestBatches plays testdata/batch/*.txt: hooks, what a person says, the calls of one batch, and
// after each restart the same batch again. What comes out is compared line by line: the rows of each
// commit, what ran, what was asked, what the caller is told.
func TestBatches(t *testing.T) {
	files, err := filepath.Glob("testdata/batch/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { playBatch(t, file) })
	}
}

func playBatch(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parts := sections(string(data))
	part := func(name string) string { return parts[name] }
	said := part("person")
	l := openLab(t, said != "nobody\n", part("hooks.star")) // nobody: a host without a gate
	l.person.answers = strings.FieldsFunc(said, func(r rune) bool { return r == '\n' })
	restarts := 0
	if s := strings.TrimSpace(part("restarts")); s != "" {
		restarts = len(s)
	}
	var out strings.Builder
	for i := 0; ; i++ {
		done, err := l.batch(l.session("r"), parseCalls(t, part("calls"))...)
		if err != nil {
			out.WriteString("error: " + err.Error() + "\n")
		}
		for _, d := range done {
			out.WriteString(describe(d) + "\n")
		}
		if i == restarts {
			break
		}
		out.WriteString("restart\n")
	}
	got := map[string]string{"commits": l.commits(), "ran": lines(l.ran), "done": out.String(), "effects": l.effects(), "cells": l.cells()}
	for _, c := range parseCalls(t, part("calls")) {
		got["records"] += l.records(c.id)
	}
	got["asked"] = lines(l.person.asked)
	if *update {
		rewrite(t, file, string(data), got)
		return
	}
	for _, name := range wanted {
		same(t, name, got[name], part(name))
	}
}

// sections splits text at its lines "-- NAME --".
func sections(data string) map[string]string {
	out, name := map[string]string{}, ""
	for line := range strings.Lines(data) {
		if n, ok := strings.CutPrefix(line, "-- "); ok {
			name = strings.TrimSuffix(n, " --\n")
			continue
		}
		out[name] += line
	}
	return out
}

// rewrite keeps what a case asks and replaces what it wants.
func rewrite(t *testing.T, file, data string, got map[string]string) {
	t.Helper()
	head, _, _ := strings.Cut(data, "-- commits --\n")
	for _, name := range wanted {
		if got[name] != "" {
			head += "-- " + name + " --\n" + got[name]
		}
	}
	if err := os.WriteFile(file, []byte(head), 0o644); err != nil {
		t.Fatal(err)
	}
}

func lines(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return strings.Join(list, "\n") + "\n"
}
