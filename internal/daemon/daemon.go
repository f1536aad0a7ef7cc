// Package daemon joins everything into the process that holds the writer's lock and serves the
// socket. Serve and the verbs that work without a daemon are one path: whoever takes the lock is the
// daemon for as long as it holds it.
package daemon

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"agentd"
	"agentd/hookpoints"
	"agentd/internal/agent"
	"agentd/internal/api"
	"agentd/internal/config"
	"agentd/internal/tool"
	"agentd/operation"
	"agentd/revision"
	"agentd/store"
)

// Options are how a daemon is started.
type Options struct {
	Places config.Places
	Dev    bool
	Listen string // "" or 127.0.0.1:PORT, over the configuration
	Log    *slog.Logger
	Getenv func(string) string
	Wait   bool // for the writer's lock, until the context ends
	// At is called at named places between two durable steps, for tests that die there.
	At func(place string)
}

// Daemon is open for as long as it holds the writer's lock.
type Daemon struct {
	o     Options
	live  config.Live
	store *store.Store
	rt    *agentd.Runtime
	agent *agent.Agent
	bus   *bus
	runs  *runs
	log   *slog.Logger

	mu         sync.Mutex
	generation int64
	notes      []string
	faults     []revision.Fault // why the working files don't serve
	unread     error            // why they can't even be read
	foreign    map[string]*sync.Mutex
}

// Open takes the lock and loads what serves. It fails with store.ErrInUse when another process
// holds it.
func Open(ctx context.Context, o Options) (*Daemon, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	live, err := config.ReadLive(o.Places, o.Getenv)
	if err != nil {
		return nil, err
	}
	if live.KeyFile != "" { // never pretend that something is encrypted
		return nil, errors.New("store.key_file: this agentd can't encrypt its store; leave it out")
	}
	st, err := store.Open(ctx, o.Places.Database(), store.Options{Wait: o.Wait, Clock: wall{}})
	if err != nil {
		return nil, err
	}
	d := &Daemon{o: o, live: live, store: st, log: o.Log, bus: newBus(newID("e")), foreign: map[string]*sync.Mutex{}}
	d.runs = newRuns(d)
	if err := d.begin(ctx); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return d, nil
}

func (d *Daemon) begin(ctx context.Context) error {
	var err error
	d.rt, err = agentd.Open(agentd.Options{
		Journal: d.store, Source: d.store, Clock: wall{}, Monotonic: monotonic{time.Now()}, Gate: d.runs, Tracer: tracer{d.log},
		Decided: d.decided, At: d.o.At,
	})
	if err != nil {
		return err
	}
	d.agent = agent.New(agent.Options{Runtime: d.rt, Workspace: d.o.Places.Project, Provider: d.provider, Emit: d.emit,
		Tools: func(names []string) (*tool.Set, error) { return tool.New(d.o.Places.Project, names, tool.Options{}) }})
	layers, notes, err := serving(ctx, d.rt, d.o.Places, d.store)
	if err != nil {
		return err
	}
	d.notes = notes
	return d.serve(ctx, layers)
}

// serve puts layers to use: each is stored before the first operation can name it.
func (d *Daemon) serve(ctx context.Context, layers []*revision.Layer) error {
	g, err := d.rt.Serve(ctx, layers)
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.generation++
	n := d.generation
	d.mu.Unlock()
	d.tell("generation.active", "", map[string]any{"generation": n, "revisions": g.Triple, "hooks": len(g.Table.Bindings())})
	return nil
}

// Serve listens on the socket (and on Listen) until the context ends, then lets runs come to a place
// where they can be resumed, and closes everything. Ready is called with the addresses.
func (d *Daemon) Serve(ctx context.Context, ready func(addresses []string)) error {
	listeners, err := d.listen()
	if err != nil {
		return errors.Join(err, d.store.Close())
	}
	server := &http.Server{Handler: api.Handler(d, ""), ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(d.log.Handler(), slog.LevelDebug)}
	servers := []*http.Server{server}
	var wg sync.WaitGroup
	errs := make(chan error, len(listeners)+1)
	var addresses []string
	for i, l := range listeners {
		s := server
		if i > 0 {
			token, err := d.token()
			if err != nil {
				return errors.Join(err, d.store.Close())
			}
			s = &http.Server{Handler: api.Handler(d, token), ReadHeaderTimeout: 10 * time.Second, ErrorLog: server.ErrorLog}
			servers = append(servers, s)
		}
		addresses = append(addresses, l.Addr().Network()+":"+l.Addr().String())
		wg.Go(func() {
			if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				errs <- err
			}
		})
	}
	inner, stop := context.WithCancel(ctx)
	defer stop()
	if d.o.Dev {
		w := d.follower(inner)
		wg.Go(func() {
			if err := w.Run(inner); err != nil {
				errs <- err
			}
		})
	}
	if ready != nil {
		ready(addresses)
	}
	var failed error
	select {
	case <-ctx.Done():
	case failed = <-errs:
	}
	stop()
	d.runs.close()
	d.bus.close() // streams of events end, so that the servers can
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	for _, s := range servers {
		if err := s.Shutdown(grace); err != nil {
			failed = errors.Join(failed, s.Close())
		}
	}
	wg.Wait()
	return errors.Join(failed, d.store.Close())
}

// Close gives up a daemon that never served.
func (d *Daemon) Close() error {
	d.runs.close()
	d.bus.close()
	return d.store.Close()
}

// listen opens the socket, which only its owner can reach, and a port where one is wanted. Whoever
// holds the lock may take the place of a socket that was left behind.
func (d *Daemon) listen() ([]net.Listener, error) {
	path, err := d.o.Places.Socket()
	if err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("the old socket: %w", err)
	}
	// It is bound under another name and moved when it has its mode, so nobody can connect before.
	temporary := path + "-"
	if err := os.Remove(temporary); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: temporary, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	l.SetUnlinkOnClose(false)
	if err := errors.Join(os.Chmod(temporary, 0o600), os.Rename(temporary, path)); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	list := []net.Listener{&socket{l, path}}
	address := d.o.Listen
	if address == "" {
		address = d.live.Listen
	}
	if address == "" {
		return list, nil
	}
	host, _, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return nil, errors.Join(fmt.Errorf("listen is %q, want 127.0.0.1:PORT: agentd serves this machine only", address), list[0].Close())
	}
	tcp, err := net.Listen("tcp", address)
	if err != nil {
		return nil, errors.Join(err, list[0].Close())
	}
	return append(list, tcp), nil
}

// socket is a listener that removes its name when it closes.
type socket struct {
	net.Listener
	path string
}

// Close implements net.Listener.
func (s *socket) Close() error {
	err := s.Listener.Close()
	if rm := os.Remove(s.path); rm != nil && !errors.Is(rm, os.ErrNotExist) {
		return errors.Join(err, rm)
	}
	return err
}

// Addr implements net.Listener.
func (s *socket) Addr() net.Addr { return &net.UnixAddr{Name: s.path, Net: "unix"} }

// token is what --listen asks for; it is made at first use.
func (d *Daemon) token() (string, error) {
	path := filepath.Join(d.o.Places.StateDir, "token")
	text, err := os.ReadFile(path)
	if err == nil && len(text) > 0 {
		return string(text), nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	var b [24]byte
	rand.Read(b[:])
	token := hex.EncodeToString(b[:])
	return token, os.WriteFile(path, []byte(token), 0o600)
}

// tell publishes an event that no agent emits.
func (d *Daemon) tell(kind, run string, fields map[string]any) {
	fields["type"] = kind
	data, err := json.Marshal(fields)
	if err != nil {
		d.log.Error("an event can't be written", "type", kind, "err", err)
		return
	}
	d.bus.publish(kind, run, data)
}

func (d *Daemon) emit(e agent.Event) { d.bus.publish(e.Type, e.RunID, e.JSON().JSON()) }

func (d *Daemon) decided(h operation.Head, rec hookpoints.Record) {
	if rec.Ran {
		d.tell("hook.decided", h.RunID, map[string]any{"run_id": h.RunID, "session_id": h.SessionID, "operation_id": h.ID, "client": h.Client, "record": rec})
	}
}

// tracer shows hooks' authors what they print, in the log.
type tracer struct{ log *slog.Logger }

// Trace implements hookpoints.Tracer.
func (t tracer) Trace(id, kind, text string) {
	if kind == "error" {
		t.log.Warn("a hook failed", "binding_id", id, "trace", text)
		return
	}
	t.log.Info("a hook printed", "binding_id", id, "text", text)
}
