package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/rogpeppe/go-internal/testscript"

	"agentd/internal/api"
	"agentd/internal/model/modeltest"
)

// models are the model servers of the scenarios that run, by working folder.
var models sync.Map

// cmdModel starts a model that plays the turns of a file (a JSON list): model FILE. $MODEL_URL is its
// address; it writes the requests that it gets to requests.log, and beside it in journal.log how the calls
// stood in the database of the folder "project" when each came.
func cmdModel(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: model FILE")
	}
	var turns []modeltest.Turn
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &turns))
	log, err := os.Create(filepath.Join(ts.Getenv("WORK"), "requests.log"))
	ts.Check(err)
	journal, err := os.Create(filepath.Join(ts.Getenv("WORK"), "journal.log"))
	ts.Check(err)
	s := modeltest.New(&beside{requests: log, journal: journal, database: filepath.Join(ts.Getenv("WORK"), "project", ".agentd", "state", "agentd.db")}, turns...)
	ts.Defer(func() {
		s.Close()
		log.Close()
		journal.Close()
	})
	models.Store(ts.Getenv("WORK"), s)
	ts.Setenv("MODEL_URL", s.URL)
}

// cmdAsked waits until the model has got so many more requests: asked N.
func cmdAsked(ts *testscript.TestScript, _ bool, args []string) {
	s, ok := models.Load(ts.Getenv("WORK"))
	if !ok || len(args) != 1 {
		ts.Fatalf("usage: asked N, after model FILE")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	late := time.After(time.Minute)
	for range n {
		select {
		case <-s.(*modeltest.Server).Asked():
		case <-late:
			ts.Fatalf("the model wasn't asked %d times", n)
		}
	}
}

// cmdPort keeps a free port as a variable: port NAME.
func cmdPort(ts *testscript.TestScript, _ bool, args []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	ts.Check(errors.Join(err, l.Close()))
	ts.Setenv(args[0], port)
}

// cmdFetch asks for an address and checks the status: fetch STATUS URL [TOKENFILE].
func cmdFetch(ts *testscript.TestScript, _ bool, args []string) {
	req, err := http.NewRequest("GET", args[1], nil)
	ts.Check(err)
	if len(args) > 2 {
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(ts.ReadFile(args[2])))
	}
	res, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	ts.Check(err)
	if strconv.Itoa(res.StatusCode) != args[0] {
		ts.Fatalf("status %d, want %s: %s", res.StatusCode, args[0], body)
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
