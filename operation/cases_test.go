package operation_test

import (
	"flag"
	"strings"
	"testing"

	"agentd/operation/journaltest"
)

var update = flag.Bool("update", false, "write what the cases of testdata give now; read the difference before you keep it")

// TestBatches plays testdata/batch/*.txt: hooks, what a person says, the calls of one batch, and
// after each restart the same batch again. What comes out is compared line by line: the rows of each
// commit, what ran, what was asked, what the caller is told.
func TestBatches(t *testing.T) {
	journaltest.EachCase(t, "testdata/batch/*.txt", playBatch)
}

func playBatch(t *testing.T, c journaltest.Case) {
	part := c.Part
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
	c.Wants(t, *update, got, "commits", "ran", "asked", "done", "records", "effects", "cells")
}

func lines(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return strings.Join(list, "\n") + "\n"
}
