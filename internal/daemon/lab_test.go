package daemon

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"agentd"
	"agentd/hookpoints/payload"
	"agentd/internal/api"
	"agentd/internal/config"
	"agentd/internal/model/modeltest"
	"agentd/internal/worker"
)

// TestMain makes this test binary a worker when a daemon runs it again: one that lies about some hooks.
func TestMain(m *testing.M) {
	if worker.Asked(os.Args) {
		os.Exit(worker.Main(os.Args, lying(agentd.Engines())))
	}
	goleak.VerifyTestMain(m)
}

// lab is a project and a user, each with a folder of their own. Its path is short, as sockets want it.
type lab struct {
	t      *testing.T
	dir    string
	places config.Places
	env    map[string]string
	log    *syncBuffer

	unreplayable string // why some of what it recorded can't be replayed; "" if all can
}

type syncBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func newLab(t *testing.T) *lab {
	t.Helper()
	dir, err := os.MkdirTemp("", "a")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	l := &lab{t: t, dir: dir, env: map[string]string{"HOME": filepath.Join(dir, "h")}, log: &syncBuffer{}}
	t.Cleanup(func() { replays(t, dir, l.unreplayable) })
	l.mkdir(filepath.Join(dir, "p", config.Dir))
	l.places = l.find(filepath.Join(dir, "p"))
	return l
}

func (l *lab) getenv(k string) string { return l.env[k] }

func (l *lab) find(cwd string) config.Places {
	l.t.Helper()
	p, err := config.Find(config.Ask{Cwd: cwd, Getenv: l.getenv})
	if err != nil {
		l.t.Fatal(err)
	}
	return p
}

func (l *lab) mkdir(dir string) {
	l.t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		l.t.Fatal(err)
	}
}

// project and user write a file of their layer.
func (l *lab) project(name, text string) {
	l.t.Helper()
	l.put(filepath.Join(l.places.Project, config.Dir, name), text)
}

func (l *lab) user(name, text string) {
	l.t.Helper()
	l.put(filepath.Join(l.places.UserConfig, name), text)
}

func (l *lab) put(path, text string) {
	l.t.Helper()
	l.mkdir(filepath.Dir(path))
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) read(rel string) string {
	l.t.Helper()
	text, err := os.ReadFile(filepath.Join(l.places.Project, rel))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		l.t.Fatal(err)
	}
	return string(text)
}

// model starts a model that plays turns and makes it the default agent's.
func (l *lab) model(confirm string, turns ...modeltest.Turn) *modeltest.Server {
	l.t.Helper()
	s := modeltest.New(nil, turns...)
	l.t.Cleanup(s.Close)
	l.project("agentd.yaml", fmt.Sprintf("agents:\n  default:\n    model: {provider: openai, name: m, base_url: %q}\n    tools: [shell, write_file, read_file, ask]\n    confirm: %s\n", s.URL, confirm))
	return s
}

func (l *lab) options() Options {
	return Options{Places: l.places, Getenv: l.getenv, Log: slog.New(slog.NewTextHandler(l.log, nil))}
}

// sql changes the project's database behind everybody's back.
func (l *lab) sql(statements ...string) {
	l.t.Helper()
	db, err := sql.Open("sqlite3", "file:"+l.places.Database())
	if err != nil {
		l.t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.ExecContext(l.t.Context(), s); err != nil {
			l.t.Fatalf("%s: %v", s, err)
		}
	}
}

// host is a daemon that serves until it is stopped.
type host struct {
	*api.Client
	l         *lab
	d         *Daemon
	addresses []string
	stopOnce  sync.Once
	cancel    func()
	ended     chan error
}

// serve starts a daemon; it is stopped at the latest when the test ends.
func (l *lab) serve(o Options) *host {
	l.t.Helper()
	d, err := Open(l.t.Context(), o)
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &host{l: l, d: d, cancel: cancel, ended: make(chan error, 1)}
	ready := make(chan []string, 1)
	go func() { s.ended <- d.Serve(ctx, func(a []string) { ready <- a }) }()
	select {
	case s.addresses = <-ready:
	case err := <-s.ended:
		cancel()
		l.t.Fatalf("it doesn't serve: %v", err)
	}
	path, err := o.Places.Socket()
	if err != nil {
		l.t.Fatal(err)
	}
	s.Client = api.NewClient(path, "")
	l.t.Cleanup(s.stop)
	return s
}

func (s *host) stop() {
	s.stopOnce.Do(func() {
		s.Close()
		s.cancel()
		if err := <-s.ended; err != nil {
			s.l.t.Errorf("the daemon ended with %v", err)
		}
	})
}

// follow collects a run's events until one that each returns false for, or its end.
type followed struct {
	t      *testing.T
	events chan api.Event
	ended  chan error
	cancel func()
	seen   []api.Event
}

// run starts a run and follows it.
func (s *host) run(q api.StartRun) *followed {
	return s.follow(func(ctx context.Context, each func(api.Event)) error { return s.StartRun(ctx, q, each) })
}

func (s *host) resume(id string, q api.ResumeRun) *followed {
	return s.follow(func(ctx context.Context, each func(api.Event)) error { return s.ResumeRun(ctx, id, q, each) })
}

// listen follows all events from now on.
func (s *host) listen() *followed {
	listening := make(chan struct{})
	f := s.follow(func(ctx context.Context, each func(api.Event)) error {
		return s.Events(ctx, func() { close(listening) }, each)
	})
	<-listening
	return f
}

func (s *host) follow(start func(context.Context, func(api.Event)) error) *followed {
	ctx, cancel := context.WithCancel(context.Background())
	f := &followed{t: s.l.t, events: make(chan api.Event, 4096), ended: make(chan error, 1), cancel: cancel}
	go func() {
		err := start(ctx, func(e api.Event) { f.events <- e })
		close(f.events)
		f.ended <- err
	}()
	s.l.t.Cleanup(cancel)
	return f
}

// until waits for an event of a kind.
func (f *followed) until(kind string) payload.Value {
	f.t.Helper()
	for e := range f.events {
		f.seen = append(f.seen, e)
		if e.Type == kind {
			return parse(f.t, string(e.Data))
		}
	}
	f.t.Fatalf("no %s came, but %v, then %v", kind, kinds(f.seen), <-f.ended)
	return payload.Value{}
}

// end waits for the end and returns the last event.
func (f *followed) end() payload.Value {
	f.t.Helper()
	for e := range f.events {
		f.seen = append(f.seen, e)
	}
	if err := <-f.ended; err != nil {
		f.t.Fatalf("after %v: %v", kinds(f.seen), err)
	}
	last := f.seen[len(f.seen)-1]
	return parse(f.t, string(last.Data))
}

func kinds(list []api.Event) (out []string) {
	for _, e := range list {
		out = append(out, e.Type)
	}
	return out
}

func parse(t *testing.T, text string) payload.Value {
	t.Helper()
	v, err := payload.ParseString(text)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func text(v payload.Value, path ...string) string {
	for _, name := range path {
		v = v.Get(name)
	}
	if v.Kind() == payload.String {
		return v.Text()
	}
	return v.String()
}

// readCall is a call of read_file with a limit.
const readCall = `{"name":"read_file","tool_id":"read_file","implementation_id":null,"parameters":{},"arguments":{"path":"a","limit":5000}}`

// limit asks what the hooks make of the limit of readCall.
func (s *host) limit() string {
	s.l.t.Helper()
	res, err := s.Decide(s.l.t.Context(), agentd.DecideRequest{Point: "tool.before", Payload: parse(s.l.t, readCall)})
	if err != nil {
		s.l.t.Fatal(err)
	}
	return text(res.Payload, "arguments", "limit")
}

// clamp is a hook that sets the limit of readCall.
func clamp(limit int) string {
	return fmt.Sprintf(`
def clamp(ctx, call):
    return patch(arguments = call.arguments | {"limit": %d})

hook(id = "clamp", version = "v1", run = clamp, point = "tool.before", targets = ["read_file"])
`, limit)
}

func shell(id, command string) modeltest.Turn {
	return modeltest.Turn{Calls: []modeltest.Call{{ID: id, Name: "shell", Arguments: fmt.Sprintf(`{"command":%q}`, command)}}}
}

func say(parts ...string) modeltest.Turn { return modeltest.Turn{Text: parts} }
