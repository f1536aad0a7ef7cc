package interptest

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"agentd/interp"
)

// Chunk is a script of its own within a test file. Its text keeps the numbers of its lines.
type Chunk struct {
	File string // without its folder
	Line int    // of its first line
	Text string
}

// ReadChunks splits a file at its lines of three dashes.
func ReadChunks(tb testing.TB, files fs.FS, name string) []Chunk {
	tb.Helper()
	data, err := fs.ReadFile(files, name)
	if err != nil {
		tb.Fatal(err)
	}
	var out []Chunk
	line := 1
	for _, text := range strings.Split(string(data), "\n---\n") {
		out = append(out, Chunk{path.Base(name), line, strings.Repeat("\n", line-1) + text})
		line += strings.Count(text, "\n") + 2
	}
	return out
}

// EachChunk makes a test of each chunk of the files that match a pattern.
func EachChunk(t *testing.T, files fs.FS, pattern string, test func(t *testing.T, c Chunk)) {
	t.Helper()
	for _, name := range glob(t, files, pattern) {
		t.Run(strings.TrimSuffix(path.Base(name), path.Ext(name)), func(t *testing.T) {
			for _, c := range ReadChunks(t, files, name) {
				t.Run(c.Name(), func(t *testing.T) { test(t, c) })
			}
		})
	}
}

func glob(tb testing.TB, files fs.FS, pattern string) []string {
	tb.Helper()
	names, err := fs.Glob(files, pattern)
	if err != nil || len(names) == 0 {
		tb.Fatalf("no files are called %s: %v", pattern, err)
	}
	return names
}

// Name is the chunk's name as a test.
func (c Chunk) Name() string { return fmt.Sprintf("line_%d", c.Line) }

// Place says where the chunk is.
func (c Chunk) Place() string { return fmt.Sprintf("%s:%d", c.File, c.Line) }

// Source is the chunk as a file.
func (c Chunk) Source() interp.Source { return interp.Source{Name: c.File, Text: []byte(c.Text)} }

// expectation ends a line that must fail, after --> in Lua's comments and ### in Starlark's.
var expectation = regexp.MustCompile(`(?:-->|###)\s*(".*"|\x60.*\x60)\s*$`)

// Check holds an outcome against what the chunk expects: a line that says --> "pattern" must fail with an
// error that matches, and no other may fail.
func (c Chunk) Check(t *testing.T, err error) {
	t.Helper()
	var e *interp.Error
	if err != nil && !errors.As(err, &e) {
		t.Fatalf("the error is no *interp.Error: %v", err)
	}
	wanted := c.expected(t)
	if e != nil {
		want := wanted[e.Line]
		switch {
		case want == nil:
			t.Errorf("%s", e.Trace())
		case !want.MatchString(e.Message):
			t.Errorf("%s:%d: got %q, want a match of %q", c.File, e.Line, e.Message, want)
		}
		delete(wanted, e.Line)
	}
	for line, want := range wanted {
		t.Errorf("%s:%d: no error, want a match of %q", c.File, line, want)
	}
}

// expected are the patterns of the errors that the chunk wants, by line.
func (c Chunk) expected(t *testing.T) map[int]*regexp.Regexp {
	t.Helper()
	out := map[int]*regexp.Regexp{}
	for i, line := range strings.Split(c.Text, "\n") {
		if m := expectation.FindStringSubmatch(line); m != nil {
			pattern, err := strconv.Unquote(m[1])
			if err != nil {
				t.Fatalf("%s:%d: %v", c.File, i+1, err)
			}
			out[i+1] = regexp.MustCompile(pattern)
		}
	}
	return out
}
