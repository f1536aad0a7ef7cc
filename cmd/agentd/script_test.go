package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"agentd/hookpoints/payload"
	"agentd/internal/api"
	"agentd/operation"
	"agentd/store"
)

// TestMain makes this test binary the real program when a scenario runs agentd.
func TestMain(m *testing.M) {
	testscript.Main(builder{m}, map[string]func(){"agentd": func() { os.Exit(Main()) }})
}

// TestScenarios drives the real program. Each has a HOME of its own, so nobody's layer gets in.
func TestScenarios(t *testing.T) {
	captures, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	var root atomic.Value // of the folders of all scenarios; where only some run, nobody else removes it
	t.Cleanup(func() {
		if dir, ok := root.Load().(string); ok {
			os.Remove(dir) // what -testwork keeps stays
		}
	})
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			root.Store(filepath.Dir(e.WorkDir))
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("CAPTURES", captures)
			e.Setenv("GORACE", "atexit_sleep_ms=0") // or each process would sleep for a second
			e.Defer(func() { replays(e) })
			return os.MkdirAll(filepath.Join(e.WorkDir, "home"), 0o755)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"json":    cmdJSON,
			"let":     cmdLet,
			"told":    cmdTold,
			"listens": cmdListens,
			"locked":  cmdLocked,
			"event":   cmdEvent,
			"model":   cmdModel,
			"asked":   cmdAsked,
			"another": cmdAnother,
			"sql":     cmdSQL,
			"nowhere": cmdNowhere,
			"fails":   cmdFails,
			"port":    cmdPort,
			"fetch":   cmdFetch,
			"ends":    cmdEnds,
			"holds":   cmdHolds,
			"workers": cmdWorkers,
			"beside":  cmdBeside,
			"attack":  cmdAttack,
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
	got := lookUp(ts, lines[len(lines)-1], args[0])
	if (got == args[1]) == neg {
		ts.Fatalf("%s is %s, want %s (negated: %v)\n%s", args[0], got, args[1], neg, out)
	}
}

// lookUp finds a field of a JSON text; an absent one is the word absent.
func lookUp(ts *testscript.TestScript, text, path string) string {
	v, err := payload.ParseString(text)
	if err != nil {
		ts.Fatalf("standard output is no JSON: %v\n%s", err, text)
	}
	for _, name := range strings.Split(path, ".") {
		i, err := strconv.Atoi(name)
		switch {
		case name == "len" && v.Kind() == payload.Array:
			v = payload.NewInt(int64(v.Len()))
		case err == nil && v.Kind() == payload.Array && i < v.Len():
			v = v.At(i)
		default:
			v = v.Get(name)
		}
	}
	switch {
	case !v.Exists():
		return "absent"
	case v.Kind() == payload.String:
		return v.Text()
	}
	return v.String()
}

// cmdLet keeps a field of the last standard output as a variable: let NAME PATH.
func cmdLet(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: let NAME PATH")
	}
	lines := strings.Split(strings.TrimSpace(ts.ReadFile("stdout")), "\n")
	ts.Setenv(args[0], lookUp(ts, lines[len(lines)-1], args[1]))
}

// cmdTold checks a field of the events of a type in the last standard output: told TYPE PATH VALUE...,
// a value for each. Without values there may be none.
func cmdTold(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: told TYPE PATH VALUE...")
	}
	out := strings.TrimSpace(ts.ReadFile("stdout"))
	got := []string{}
	for _, line := range strings.Split(out, "\n") {
		if lookUp(ts, line, "type") == args[0] {
			got = append(got, lookUp(ts, line, args[1]))
		}
	}
	if !slices.Equal(got, args[2:]) {
		ts.Fatalf("%s of %s is %q, want %q\n%s", args[1], args[0], got, args[2:], out)
	}
}

// cmdSQL changes the database of the project in the current folder behind agentd's back: sql STATEMENT, in parts.
func cmdSQL(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("sqlite3", ts.MkAbs(filepath.Join(".agentd", "state", "agentd.db")))
	ts.Check(err)
	defer db.Close()
	_, err = db.Exec(strings.Join(args, ""))
	ts.Check(err)
}

// cmdHolds looks for a text in the database of the project in the current folder and its log: holds TEXT.
func cmdHolds(ts *testscript.TestScript, neg bool, args []string) {
	found := false
	for _, suffix := range []string{"", "-wal"} {
		text, err := os.ReadFile(ts.MkAbs(filepath.Join(".agentd", "state", "agentd.db"+suffix)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			ts.Check(err)
		}
		found = found || strings.Contains(string(text), strings.Join(args, " "))
	}
	if found == neg {
		ts.Fatalf("the database holds it: %v", found)
	}
}

// cmdNowhere looks for texts in all that a project keeps: every row and large value of its database, as
// text, and the bytes of all files of its state: nowhere TEXT...
func cmdNowhere(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(filepath.Join(".agentd", "state"))
	all := map[string]string{}
	r, err := store.OpenReader(context.Background(), filepath.Join(dir, "agentd.db"), nil)
	ts.Check(err)
	defer r.Close()
	ops, err := r.Operations(context.Background(), store.Filter{})
	ts.Check(err)
	if len(ops) == 0 {
		ts.Fatalf("nothing is kept")
	}
	for _, o := range ops {
		rows, err := r.Rows(context.Background(), o.Head.ID)
		ts.Check(err)
		for _, row := range rows {
			e, err := operation.EncodeRow(row)
			ts.Check(err)
			all[o.Head.ID] += string(e.Body)
			for _, b := range e.Blobs {
				all[o.Head.ID] += string(b.Text)
			}
		}
	}
	ts.Check(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	}))
	for where, text := range all {
		for _, secret := range args {
			if strings.Contains(text, secret) {
				ts.Fatalf("%s holds %s", where, secret)
			}
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

// cmdEnds runs a command, and waits until a run ends as it should in the daemon: ends RUN EVENT COMMAND...
func cmdEnds(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 3 {
		ts.Fatalf("usage: ends RUN EVENT COMMAND...")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := api.Dial(ctx, ts.MkAbs(filepath.Join(".agentd", "state", "agentd.sock")))
	ts.Check(err)
	defer c.Close()
	listening, ended, over := make(chan struct{}), make(chan string, 1024), make(chan error, 1)
	go func() {
		over <- c.Events(ctx, func() { close(listening) }, func(e api.Event) {
			if api.Ends(e.Type) && strings.Contains(string(e.Data), args[0]) {
				ended <- e.Type
			}
		})
	}()
	select {
	case <-listening:
	case <-ctx.Done():
		ts.Fatalf("the daemon tells no events")
	}
	ts.Check(ts.Exec(args[2], args[3:]...))
	select {
	case how := <-ended:
		if how != args[1] {
			ts.Fatalf("the run ended with %s, want %s", how, args[1])
		}
	case <-ctx.Done():
		ts.Fatalf("the run %s doesn't end", args[0])
	}
	cancel()
	<-over
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
