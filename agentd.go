// Package agentd is agentd as a library: open a runtime, load hooks, call points, run operations.
//
// A [Runtime] builds layers of scripts into generations, serves one of them, and keeps the others
// that a run is pinned to. It makes decisions with [Runtime.Decide], which saves nothing, and
// real actions with the sessions of [Runtime.Session], which save everything. What it needs from
// the world (a store, facts, a person to ask, clocks) comes in with [Options].
package agentd

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/internal/effects"
	"agentd/internal/facts"
	"agentd/interp"
	"agentd/interp/lua"
	"agentd/interp/starlark"
	"agentd/operation"
	"agentd/revision"
)

// Options are what a host gives. Clock and Monotonic are required. Without a Journal and a Source
// the runtime can decide, but not run or publish.
type Options struct {
	Journal   operation.Journal
	Source    revision.Source
	Clock     operation.Clock
	Monotonic hookpoints.Clock
	Facts     operation.Facts
	Gate      operation.Gate
	Vault     *Vault            // nil: no secret can be asked for
	Effects   operation.Effects // nil: what hooks ask for fails
	Tracer    hookpoints.Tracer
	Limits    meter.Limits // of a hook; the zero value is meter.Default
	Hooks     []GoHook     // of the host, in the shipped layer
	// Isolation makes engines whose scripts run in a process of their own, for hooks that say isolate; nil:
	// such a hook is a fault at load. Suffix is that of the files, as in Engines. Hooks that nobody trusts share
	// no process with others.
	Isolation interface {
		Engine(suffix string, inner interp.Engine, untrusted bool) interp.Engine
	}
	Engine revision.Engine // what manifests say about this program, for tests; the zero value is the truth
	// Decided is told of each record once it is durable.
	Decided func(h operation.Head, rec hookpoints.Record)
	// Background is told what became of a call of a background hook: the record says that it ran, or
	// why not. It must not block.
	Background func(h operation.Head, rec hookpoints.Record)
	// Effected is told of each effect that is over, once that is durable.
	Effected func(h operation.Head, status string, value payload.Value)
	// At is called at named places between two durable steps, for tests that die there.
	At func(place string)
	// CheckAnswer says what is wrong with an answer to a question before it is saved.
	CheckAnswer func(operation.WaitingRow, operation.Answer) error
	// QuestionTimeout is how long a question waits before it counts as denied; nil: 24 hours.
	QuestionTimeout func() time.Duration
}

// Runtime builds, serves and runs. It is safe for concurrent use. Close it at the end.
type Runtime struct {
	runner  *operation.Runner
	builder *revision.Builder
	planner *revision.Planner
	source  revision.Source
	clock   operation.Clock
	vault   *Vault

	background *background
	serving    atomic.Pointer[revision.Generation]
}

// ErrNoStore: the runtime was opened without a store.
var ErrNoStore = errors.New("this runtime has no store")

// Open makes a runtime that serves nothing yet.
func Open(o Options) (*Runtime, error) {
	if o.Clock == nil || o.Monotonic == nil {
		return nil, errors.New("agentd: Clock and Monotonic are required")
	}
	if o.Limits == (meter.Limits{}) {
		o.Limits = meter.Default
	}
	host, err := definitions(o.Hooks)
	if err != nil {
		return nil, err
	}
	engines, isolated, strange := Engines(), revision.Engines{}, revision.Engines{}
	if o.Isolation != nil {
		for suffix, engine := range engines {
			isolated[suffix] = o.Isolation.Engine(suffix, engine, false)
			strange[suffix] = o.Isolation.Engine(suffix, engine, true)
		}
	}
	b := &revision.Builder{Engines: engines, Isolated: isolated, Strange: strange, Points: hookpoints.Standard(), Limits: o.Limits, Host: host, CheckFact: facts.CheckPattern, Engine: o.Engine,
		KnownEffects: effects.Names(), CheckEffect: effects.Check, CheckURL: effects.CheckURL}
	p := &revision.Planner{Builder: b, Source: o.Source, Clock: o.Monotonic}
	r := &Runtime{builder: b, planner: p, source: o.Source, clock: o.Clock, vault: o.Vault, background: newBackground(o.Background)}
	if o.Vault != nil {
		o = masked(o)
	}
	r.runner = &operation.Runner{Journal: o.Journal, Chains: p, Facts: o.Facts, Gate: o.Gate, Clock: o.Clock, Tracer: o.Tracer, Decided: o.Decided, Background: r.background.take,
		Effects: o.Effects, Effected: o.Effected, At: o.At, CheckAnswer: o.CheckAnswer, QuestionTimeout: o.QuestionTimeout}
	r.serving.Store(revision.Compose(b.Points, o.Monotonic, nil))
	return r, nil
}

// Engines are the languages, by the suffix of their files.
func Engines() map[string]interp.Engine {
	return map[string]interp.Engine{".star": starlark.New(), ".lua": lua.New()}
}

// Points is the catalogue.
func (r *Runtime) Points() *hookpoints.Catalogue { return r.builder.Points }

// Serving is the generation that a new run is pinned to.
func (r *Runtime) Serving() *revision.Generation { return r.serving.Load() }

// Generation finds a generation that was served or published once.
func (r *Runtime) Generation(ctx context.Context, t operation.Triple) (*revision.Generation, error) {
	return r.planner.Generation(ctx, t)
}

// Recorded is Generation for what only shows what was done and runs nothing: it takes revisions that
// were made for another agentd.
func (r *Runtime) Recorded(ctx context.Context, t operation.Triple) (*revision.Generation, error) {
	return r.planner.Recorded(ctx, t)
}

// Runner takes answers, allows retries and closes what clients left open.
func (r *Runtime) Runner() *operation.Runner { return r.runner }

// Session opens a session for real actions.
func (r *Runtime) Session(ctx context.Context, id string) (*operation.Session, error) {
	if r.runner.Journal == nil {
		return nil, ErrNoStore
	}
	return r.runner.Open(ctx, id)
}

// Build loads the files of a layer over what serves below it, and changes nothing.
func (r *Runtime) Build(ctx context.Context, which hookpoints.Layer, files []revision.File, below []*revision.Layer) (*revision.Layer, error) {
	return r.builder.Build(ctx, which, files, below)
}

// BuildUnder is Build for a layer that isn't trusted with all that it says.
func (r *Runtime) BuildUnder(ctx context.Context, which hookpoints.Layer, files []revision.File, below []*revision.Layer, terms revision.Terms) (*revision.Layer, error) {
	return r.builder.BuildUnder(ctx, which, files, below, terms)
}

// Compose puts built layers over each other, lowest first, and changes nothing.
func (r *Runtime) Compose(layers []*revision.Layer) *revision.Generation {
	return revision.Compose(r.builder.Points, r.planner.Clock, layers)
}

// Serve makes the layers what new runs get. Each is stored, unlisted unless it was published, before
// the first operation can name it; a layer with a fault changes nothing.
func (r *Runtime) Serve(ctx context.Context, layers []*revision.Layer) (*revision.Generation, error) {
	for _, l := range layers {
		if err := l.Err(); err != nil {
			return nil, err
		}
	}
	for _, l := range layers {
		if r.source != nil {
			if err := r.source.Keep(ctx, l.Freeze("", "", r.clock.Now(), false)); err != nil {
				return nil, fmt.Errorf("keep the %s layer: %w", l.Layer, err)
			}
		}
		r.planner.Adopt(l)
	}
	g := r.Compose(layers)
	if r.source != nil { // the same object serves the run now and when it is resumed
		var err error
		if g, err = r.planner.Generation(ctx, g.Triple); err != nil {
			return nil, err
		}
	}
	r.serving.Store(g)
	return g, nil
}

// Now is the runtime's wall clock.
func (r *Runtime) Now() time.Time { return r.clock.Now() }

// definitions turns a host's hooks into definitions.
func definitions(hooks []GoHook) ([]interp.Definition, error) {
	var out []interp.Definition
	for _, h := range hooks {
		d, err := h.definition()
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

// Builder builds layers.
func (r *Runtime) Builder() *revision.Builder { return r.builder }

// Planner finds generations.
func (r *Runtime) Planner() *revision.Planner { return r.planner }
