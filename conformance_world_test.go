package agentd_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agentd"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/operation"
	"agentd/revision"
	"agentd/store"
)

// world is what stays when a process dies: the store, the clocks, what happened outside.
type world struct {
	t     *testing.T
	spec  scenarioSpec
	dir   string
	files map[string]map[hookpoints.Layer][]revision.File

	wall   time.Time
	mono   int64
	serves operation.Triple // what new operations are pinned to

	mu       sync.Mutex
	witness  []string       // one entry an action, written by the action itself
	called   map[string]int // calls of hooks, by id; of scripts their prints, by binding
	tries    map[string]int // actions, by operation
	requests []payload.Value
	events   []string

	tamper    *tampering
	withdrawn bool
}

// process is one life over the world.
type process struct {
	*world
	ctx     context.Context
	cancel  context.CancelFunc
	store   *store.Store
	commits int
	failAt  int
	rt      *agentd.Runtime
	step    *stepSpec
	visits  int
}

// death is what At panics with: the process is gone.
type death struct{ place string }

// statePath is where a project keeps its store.
func (w *world) statePath() string { return filepath.Join(w.dir, ".agentd", "state", "agentd.db") }

// live runs one process. It reports whether it died where it should.
func (w *world) live(s *stepSpec, do func(p *process) error) (died bool, err error) {
	w.t.Helper()
	p := &process{world: w, step: s, failAt: s.FailCommit}
	p.ctx, p.cancel = context.WithCancel(w.t.Context())
	defer p.cancel()
	if p.store, err = store.Open(p.ctx, w.statePath(), store.Options{Clock: w}); err != nil {
		w.t.Fatal(err)
	}
	defer func() {
		if err := p.store.Close(); err != nil {
			w.t.Error(err)
		}
	}()
	p.rt, err = agentd.Open(agentd.Options{Journal: journal{p.store, p}, Source: source{p.store, p}, Clock: w, Monotonic: w, Hooks: w.host(p), Tracer: w, At: p.at})
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(death); !ok {
				panic(r)
			}
			died = true
		}
	}()
	return false, do(p)
}

// at dies, or cancels, where the step says so: "PLACE", or "PLACE N" for the n-th time.
func (p *process) at(place string) {
	named, nth := p.step.Die, 1
	if p.step.Cancel != "" {
		named = p.step.Cancel
	}
	if name, n, ok := strings.Cut(named, " "); ok {
		named = name
		if _, err := fmt.Sscan(n, &nth); err != nil {
			p.t.Fatalf("die: %q", p.step.Die)
		}
	}
	if place != named {
		return
	}
	if p.visits++; p.visits != nth {
		return
	}
	if p.step.Cancel != "" {
		p.cancel()
		return
	}
	panic(death{place})
}

// Now and Nanos are the clocks.
func (w *world) Now() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.wall }
func (w *world) Nanos() int64   { w.mu.Lock(); defer w.mu.Unlock(); return monoBase + w.mono }

// monoBase is a reading that would be found if it were stored.
const monoBase = 777_000_111_222_333

func (w *world) passes(mono, wall time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mono, w.wall = w.mono+int64(mono), w.wall.Add(wall)
}

// note writes down what happened outside.
func (w *world) note(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.witness = append(w.witness, strings.TrimSpace(line))
}

func (w *world) count(hook string) (before int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.called == nil {
		w.called = map[string]int{}
	}
	w.called[hook]++
	return w.called[hook] - 1
}

// try counts the actions of an operation.
func (w *world) try(op string) (before int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tries == nil {
		w.tries = map[string]int{}
	}
	w.tries[op]++
	return w.tries[op] - 1
}

// Trace implements hookpoints.Tracer: a script that prints was called.
func (w *world) Trace(binding, kind, _ string) {
	if kind == "print" {
		w.count(binding)
	}
}

// journal is the store as an operation.Journal, with a fault.
type journal struct {
	*store.Store
	p *process
}

// Commit implements operation.Journal.
func (j journal) Commit(ctx context.Context, c operation.Commit) error {
	j.p.mu.Lock()
	j.p.commits++
	fails := j.p.commits == j.p.failAt
	j.p.mu.Unlock()
	if fails {
		return errors.New("no space left on device")
	}
	return j.Store.Commit(ctx, c)
}

// tampering changes what a kept revision says.
type tampering struct {
	Layer    string    `yaml:"layer"`
	Manifest [2]string `yaml:"manifest"` // this text, by that one
	File     string    `yaml:"file"`
	Text     [2]string `yaml:"text"` // in that file
}

// source is the store as a revision.Source, tampered with.
type source struct {
	*store.Store
	p *process
}

// Revision implements revision.Source.
func (s source) Revision(ctx context.Context, id string) (*revision.Revision, error) {
	r, err := s.Store.Revision(ctx, id)
	if err != nil || s.p.tamper == nil || r.Layer.String() != s.p.tamper.Layer {
		return r, err
	}
	change := func(text []byte, by [2]string) []byte {
		out := strings.Replace(string(text), by[0], by[1], 1)
		if by[0] != by[1] && out == string(text) {
			s.p.t.Errorf("there is no %q to tamper with in %s", by[0], text)
		}
		return []byte(out)
	}
	r.Manifest = change(r.Manifest, s.p.tamper.Manifest)
	for i := range r.Files {
		if r.Files[i].Path == s.p.tamper.File {
			r.Files[i].Text = change(r.Files[i].Text, s.p.tamper.Text)
		}
	}
	return r, nil
}

// puppet is a hook of a host, as data: each call makes the next move, the last one again and again.
type puppet struct {
	ID          string   `yaml:"id"`
	Version     string   `yaml:"version"` // default v1
	Points      []string `yaml:"points"`
	Targets     []string `yaml:"targets"`
	Priority    int      `yaml:"priority"`
	Guard       bool     `yaml:"guard"`
	Observation bool     `yaml:"observation"`
	ReplaySafe  bool     `yaml:"replay_safe"`
	Timeout     string   `yaml:"timeout"`
	Calls       []move   `yaml:"calls"`
}

type move struct {
	Patch    map[string]any `yaml:"patch"`
	Remember map[string]any `yaml:"remember"`
	Annotate map[string]any `yaml:"annotate"`
	Reject   string         `yaml:"reject"`
	Context  string         `yaml:"context"`
	Fail     string         `yaml:"fail"`   // with this text, which must be nowhere
	Panic    string         `yaml:"panic"`  // the same
	Takes    string         `yaml:"takes"`  // so long by the monotonic clock
	Wall     string         `yaml:"wall"`   // the wall clock jumps
	Cancel   bool           `yaml:"cancel"` // whoever called goes away meanwhile
}

// host makes the puppets' hooks for a process. The version of one that is named in the step's upgrade
// is that.
func (w *world) host(p *process) (out []agentd.GoHook) {
	for _, h := range w.spec.Host {
		version := "v1"
		if h.Version != "" {
			version = h.Version
		}
		if v := p.step.Upgrade[h.ID]; v != "" {
			version = v
		}
		out = append(out, agentd.GoHook{ID: h.ID, Version: version, Points: h.Points, Targets: h.Targets, Priority: h.Priority, Guard: h.Guard,
			Observation: h.Observation, ReplaySafe: h.ReplaySafe, Timeout: w.duration(h.Timeout),
			Run: func(ctx context.Context, _ *hookpoints.Call) ([]hookpoints.Decision, error) {
				n := w.count(h.ID)
				if len(h.Calls) == 0 {
					return nil, nil
				}
				return w.moves(ctx, p, h.ID, h.Calls[min(n, len(h.Calls)-1)])
			}})
	}
	return out
}

func (w *world) moves(ctx context.Context, p *process, id string, m move) (ds []hookpoints.Decision, err error) {
	w.passes(w.duration(m.Takes), w.duration(m.Wall))
	if m.Cancel {
		p.cancel()
		w.note(id + " cleaned up")
		return nil, ctx.Err()
	}
	if m.Panic != "" {
		panic(m.Panic)
	}
	if m.Fail != "" {
		return nil, errors.New(m.Fail)
	}
	for verb, fields := range map[hookpoints.Verb]map[string]any{hookpoints.Patch: m.Patch, hookpoints.Remember: m.Remember, hookpoints.Annotate: m.Annotate} {
		if fields != nil {
			ds = append(ds, hookpoints.Decision{Verb: verb, Fields: w.fields(fields)})
		}
	}
	if m.Reject != "" {
		ds = append(ds, hookpoints.Decision{Verb: hookpoints.Reject, Text: m.Reject, Name: "rejected"})
	}
	if m.Context != "" {
		ds = append(ds, hookpoints.Decision{Verb: hookpoints.Context, Text: m.Context})
	}
	return ds, nil
}

func (w *world) duration(s string) time.Duration {
	if s == "" {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// value makes a payload value of YAML.
func (w *world) value(v any) payload.Value {
	out, err := payload.From(v)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *world) fields(m map[string]any) (out []payload.Field) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, payload.Field{Name: name, Value: w.value(m[name])})
	}
	return out
}
