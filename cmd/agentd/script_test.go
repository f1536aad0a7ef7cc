package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/rogpeppe/go-internal/testscript"

	"agentd/hookpoints/payload"
	"agentd/internal/api"
)

// TestMain makes this test binary the real program when a scenario runs agentd.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"agentd": func() { os.Exit(Main()) }})
}

// TestScenarios drives the real program. Each has a HOME of its own, so nobody's layer gets in.
func TestScenarios(t *testing.T) {
	captures, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("CAPTURES", captures)
			return os.MkdirAll(filepath.Join(e.WorkDir, "home"), 0o755)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"json":    cmdJSON,
			"listens": cmdListens,
			"locked":  cmdLocked,
			"event":   cmdEvent,
		},
		Condition: func(cond string) (bool, error) {
			return false, fmt.Errorf("unknown condition %q", cond)
		},
	})
}

// cmdJSON checks a field of the last standard output: json PATH VALUE, e.g. json records.0.error budget.
// An absent field is the word absent.
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: json PATH VALUE")
	}
	out := strings.TrimSpace(ts.ReadFile("stdout"))
	lines := strings.Split(out, "\n")
	v, err := payload.ParseString(lines[len(lines)-1])
	if err != nil {
		ts.Fatalf("standard output is no JSON: %v\n%s", err, out)
	}
	for _, name := range strings.Split(args[0], ".") {
		var i int
		switch _, err := fmt.Sscanf(name, "%d", &i); {
		case name == "len" && v.Kind() == payload.Array:
			v = payload.NewInt(int64(v.Len()))
		case err == nil && v.Kind() == payload.Array && i < v.Len():
			v = v.At(i)
		default:
			v = v.Get(name)
		}
	}
	got := v.String()
	if v.Kind() == payload.String {
		got = v.Text()
	}
	if !v.Exists() {
		got = "absent"
	}
	if (got == args[1]) == neg {
		ts.Fatalf("%s is %s, want %s (negated: %v)\n%s", args[0], got, args[1], neg, out)
	}
}

// cmdListens waits until a daemon of the project in the current folder answers.
func cmdListens(ts *testscript.TestScript, _ bool, _ []string) {
	dir := ts.MkAbs(filepath.Join(".agentd", "state"))
	ts.Check(os.MkdirAll(dir, 0o700))
	w, err := fsnotify.NewWatcher()
	ts.Check(err)
	defer w.Close()
	ts.Check(w.Add(dir))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		if c, err := api.Dial(ctx, filepath.Join(dir, "agentd.sock")); err == nil {
			c.Close()
			return
		}
		select {
		case <-w.Events:
		case err := <-w.Errors:
			ts.Check(err)
		case <-ctx.Done():
			ts.Fatalf("no daemon answers in %s", dir)
		}
	}
}

// cmdLocked takes the writer's lock of the project in the current folder, as a process would that
// never answers, and holds it until the scenario ends.
func cmdLocked(ts *testscript.TestScript, _ bool, _ []string) {
	dir := ts.MkAbs(filepath.Join(".agentd", "state"))
	ts.Check(os.MkdirAll(dir, 0o700))
	f, err := os.OpenFile(filepath.Join(dir, "agentd.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	ts.Check(err)
	ts.Check(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
	ts.Defer(func() { f.Close() })
}

// cmdEvent does something (event KIND write FILE TEXT...) and waits for an event of the daemon.
func cmdEvent(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 4 || args[1] != "copy" {
		ts.Fatalf("usage: event KIND copy FROM TO")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := api.Dial(ctx, ts.MkAbs(filepath.Join(".agentd", "state", "agentd.sock")))
	ts.Check(err)
	defer c.Close()
	listening, seen, ended := make(chan struct{}), make(chan struct{}, 1024), make(chan error, 1)
	inner, stop := context.WithCancel(ctx)
	go func() {
		ended <- c.Events(inner, func() { close(listening) }, func(e api.Event) {
			if e.Type == args[0] {
				seen <- struct{}{}
			}
		})
	}()
	select {
	case <-listening:
	case <-ctx.Done():
		ts.Fatalf("the daemon tells no events")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[3]), []byte(ts.ReadFile(args[2])), 0o644))
	select {
	case <-seen:
	case <-ctx.Done():
		ts.Fatalf("no event %s came", args[0])
	}
	stop()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		ts.Fatalf("events: %v", err)
	}
}

// TestEveryScenarioSaysWhatItShows keeps the data readable: a scenario begins with a comment.
func TestEveryScenarioSaysWhatItShows(t *testing.T) {
	err := fs.WalkDir(os.DirFS("testdata/script"), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join("testdata/script", path))
		if err == nil && !strings.HasPrefix(string(text), "# ") {
			t.Errorf("%s doesn't begin with a comment", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
