package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentd/internal/model/modeltest"
)

// site is a project on a disk that can fail, with a model that waits before it answers. The tool that
// it calls is the witness: it writes a line each time it runs.
type site struct {
	t                      *testing.T
	dir, state, fifo, home string
	asked, answer          chan struct{}
	model                  *modeltest.Server
}

func newSite(t *testing.T, state string) *site {
	t.Helper()
	dir, err := os.MkdirTemp("", "site-") // a test's own folder has a name too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if state == "" {
		state = filepath.Join(dir, ".agentd", "state")
	}
	s := &site{t: t, dir: dir, state: state, fifo: filepath.Join(dir, "fifo"), home: t.TempDir(), asked: make(chan struct{}, 16), answer: make(chan struct{}, 16)}
	s.model = modeltest.New(nil,
		modeltest.Turn{Calls: []modeltest.Call{{ID: "c", Name: "shell", Arguments: `{"command":"echo ran >> witness.txt; if test -p fifo; then cat fifo; fi"}`}}},
		modeltest.Turn{Text: []string{"Done."}})
	s.model.ByReplies()
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked <- struct{}{}
		select {
		case <-s.answer:
			s.model.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
		s.model.Close()
	})
	s.write(".agentd/agentd.yaml", "agents: {default: {model: {provider: openai, name: m, base_url: \""+front.URL+"/v1\"}, tools: [shell], confirm: allow}}\n")
	s.must("publish")
	return s
}

func (s *site) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		s.t.Fatal(err)
	}
}

// command is the real program in the project. One that doesn't come to an end is ended.
func (s *site) command(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	s.t.Cleanup(cancel)
	c := exec.CommandContext(ctx, "agentd", args...)
	c.WaitDelay = time.Second
	c.Dir = s.dir
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "AGENTD_STATE=" + s.state, "GORACE=atexit_sleep_ms=0", "TMPDIR=" + s.home}
	return c
}

// tell runs a command to its end.
func (s *site) tell(args ...string) (out string, code int) {
	s.t.Helper()
	text, err := s.command(args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	if exit != nil {
		code = exit.ExitCode()
	}
	return string(text), code
}

func (s *site) must(args ...string) string {
	s.t.Helper()
	out, code := s.tell(args...)
	if code != 0 {
		s.t.Fatalf("agentd %v: exit code %d\n%s", args, code, out)
	}
	return out
}

// runs is how often the tool ran.
func (s *site) runs() int {
	text, err := os.ReadFile(filepath.Join(s.dir, "witness.txt"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.t.Fatal(err)
	}
	return strings.Count(string(text), "ran\n")
}

// waits waits for something that a process does.
func (s *site) waits(what string, done <-chan struct{}) {
	s.t.Helper()
	late := time.NewTimer(time.Minute)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
		s.t.Fatal(what)
	}
}

// tool waits until the tool runs, and returns what lets it end.
func (s *site) tool() (w *os.File) {
	s.t.Helper()
	var err error
	there := make(chan struct{})
	go func() {
		w, err = os.OpenFile(s.fifo, os.O_WRONLY, 0) // waits for who reads
		close(there)
	}()
	s.waits("the tool isn't run", there)
	if err != nil {
		s.t.Fatal(err)
	}
	return w
}

// once plays a whole run.
func (s *site) once() {
	s.t.Helper()
	for range 2 {
		s.answer <- struct{}{}
	}
	s.must("run", "--json", "hello")
}
