package lua

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"agentd/builtins/meter"
	"agentd/interp"
)

// chunk is a script of its own within a test file. Lines that say --> "pattern" must fail with an error
// that matches.
type chunk struct {
	file string
	line int // of its first line
	text string
	want map[int]*regexp.Regexp
}

var expectation = regexp.MustCompile(`--> (".*"|\x60.*\x60)\s*$`)

// readChunks splits a file at its lines of three dashes. The text of each chunk keeps its line numbers.
func readChunks(t *testing.T, name string) []chunk {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var out []chunk
	line := 1
	for _, text := range strings.Split(string(data), "\n---\n") {
		c := chunk{file: filepath.Base(name), line: line, text: strings.Repeat("\n", line-1) + text, want: map[int]*regexp.Regexp{}}
		for _, l := range strings.Split(text, "\n") {
			if m := expectation.FindStringSubmatch(l); m != nil {
				pattern, err := strconv.Unquote(m[1])
				if err != nil {
					t.Fatalf("%s:%d: %v", name, line, err)
				}
				c.want[line] = regexp.MustCompile(pattern)
			}
			line++
		}
		line++
		out = append(out, c)
	}
	return out
}

func (c chunk) name() string { return fmt.Sprintf("line_%d", c.line) }

// check holds an outcome against what the chunk expects.
func (c chunk) check(t *testing.T, err error) {
	t.Helper()
	var e *interp.Error
	if err != nil && !errors.As(err, &e) {
		t.Fatalf("the error is no *interp.Error: %v", err)
	}
	if e != nil {
		want := c.want[e.Line]
		switch {
		case want == nil:
			t.Errorf("%s", e.Trace())
		case !want.MatchString(e.Message):
			t.Errorf("%s:%d: got %q, want a match of %q", c.file, e.Line, e.Message, want)
		}
		delete(c.want, e.Line)
	}
	for line, want := range c.want {
		t.Errorf("%s:%d: no error, want a match of %q", c.file, line, want)
	}
}

// modulesOf are the files of testdata/modules.
func modulesOf(name string) (interp.Source, error) {
	text, err := os.ReadFile(filepath.Join("testdata", "modules", filepath.FromSlash(name)))
	if err != nil {
		return interp.Source{}, errors.New("there is no such module in hooks/")
	}
	return interp.Source{Name: name, Text: text}, nil
}

var testEngine = New()

// execute loads a text with what test files have, and hook.
func execute(src interp.Source, limits meter.Limits) (*run, error) {
	r := newRun(context.Background(), limits)
	r.loading = newLoading(testEngine, testEngine.tests(), src, modulesOf, limits)
	_, err := r.loadMain(src)
	return r, err
}

// TestScripts runs the chunks of testdata/*.lua as files that are loaded, and, where a chunk defines a
// hook called "call", that hook.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.lua")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".lua"), func(t *testing.T) {
			for _, c := range readChunks(t, file) {
				t.Run(c.name(), func(t *testing.T) {
					r, err := execute(interp.Source{Name: c.file, Text: []byte(c.text)}, meter.Default)
					if err == nil {
						for _, d := range r.loading.defs {
							if d.HookID == "call" {
								_, _, err = d.Hook.Decide(context.Background(), callOf(t, scriptPayload))
							}
						}
					}
					c.check(t, err)
				})
			}
		})
	}
}

// scriptPayload is what the hooks of chunks see.
const scriptPayload = `{"name":"shell","arguments":{"limit":5000,"q":"x","items":[1,"two",null,true,{"k":[]}],"get":"mine",
 "big":123456789012345678901234567890,"long":0.1234567890123456789,"huge":1e400,"exact":9007199254740992,"over":9007199254740993,"e":1.50e1,"none":null},"empty":{},"list":[]}`
