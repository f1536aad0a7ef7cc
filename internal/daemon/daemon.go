// Package daemon joins everything into the process that holds the writer's lock and serves the
// socket. Serve and the verbs that work without a daemon are one path: whoever takes the lock is the
// daemon for as long as it holds it.
package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"agentd"
	"agentd/hookpoints"
	"agentd/internal/agent"
	"agentd/internal/api"
	"agentd/internal/config"
	"agentd/internal/facts"
	"agentd/internal/tool"
	"agentd/internal/worker"
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
	// Approved are the powers of the project's files that a person approved when asked, with its hooks,
	// for as long as this daemon runs; nil: nobody was asked.
	Approved *[]string
	// Event: it answers one event of a client and goes. Then nobody looks whether the project's working files
	// are trusted, which reads all of them: as if they weren't, its live settings don't count, but for the
	// key and what it wants closed. What is published serves as ever.
	Event bool
	// Until is when a daemon that lives for a verb has to be gone, as its client waits for the process to end
	// and not for its answer. What hooks asked for and isn't done by then is left where it can be resumed. The
	// zero time is whenever it is done.
	Until time.Time
	// owner is the bearer of the verb that a daemon lives for. Where there is one, only it starts runs:
	// when it is done, the daemon goes, and would interrupt those of others.
	owner string
	grace time.Duration   // instead of the usual one, for tests
	clock operation.Clock // instead of the wall's, for tests
	// At is called at named places between two durable steps, for tests that die there.
	At func(place string)
}

// Daemon is open for as long as it holds the writer's lock.
type Daemon struct {
	o      Options
	live   config.Live
	keys   keys
	store  *store.Store
	rt     *agentd.Runtime
	agent  *agent.Agent
	bus    *bus
	runs   *runs
	apart  *worker.Pool
	trusts *judge
	log    *slog.Logger
	models *http.Client // of all models, so that its connections end with the daemon

	sessions   keyed                       // of clients: their events wait for each other
	inputs     inputs                      // of clients' calls whose end isn't reported yet
	judging    crew                        // of clients' events, also those that nobody waits for any more
	publishing sync.Mutex                  // one at a time
	taking     sync.Mutex                  // of working files
	again      func(context.Context) error // judges them again; nil where what is published serves
	swapping   sync.Mutex                  // what serves and its number change together

	mu         sync.Mutex
	generation int64
	notes      []string
	faults     []revision.Fault // why the working files don't serve
	unread     error            // why they can't even be read
	unserved   error            // why not even what is published serves; nothing is decided then
	brought    map[string]bool  // sessions that came with the folder
}

// Open takes the lock and loads what serves. It fails with store.ErrInUse when another process
// holds it.
func Open(ctx context.Context, o Options) (*Daemon, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	var err error
	if o.Event {
		o.Places.Foreign = o.Places.Project != ""
	} else if o.Places, err = settle(ctx, o.Places); err != nil {
		return nil, err
	}
	live, err := config.ReadLive(o.Places, o.Getenv)
	if err != nil {
		return nil, err
	}
	keys, err := readKeys(live)
	if err != nil {
		return nil, err
	}
	st, err := store.Open(ctx, o.Places.Database(), store.Options{Wait: o.Wait, Key: keys.state, Clock: wall{}, At: o.At})
	if err != nil {
		return nil, err
	}
	if o.clock == nil {
		o.clock = wall{}
	}
	d := &Daemon{o: o, live: live, keys: keys, store: st, log: o.Log, bus: newBus(newID("e"), keepDefault), models: &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}}
	d.runs, d.apart = newRuns(d), worker.New(worker.Options{Program: o.Places.Program, Open: live.AllowUnconfined})
	d.trusts = &judge{places: o.Places, signers: live.RequireSignature}
	if o.Approved != nil {
		d.trusts.said = &approval{*o.Approved}
	}
	if err := d.begin(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Daemon) begin(ctx context.Context) error {
	err := d.knowOrigin(ctx)
	if err != nil {
		return err
	}
	d.rt, err = agentd.Open(agentd.Options{
		Journal: d.store, Source: d.store, Clock: d.o.clock, Monotonic: monotonic{time.Now()}, Gate: d.runs, Tracer: tracer{d.log},
		Isolation: isolation(d.o.Places, d.apart), Engine: d.o.Places.Engine, Decided: d.decided, Background: d.inBackground, At: d.o.At, CheckAnswer: d.checkAnswer, Vault: agentd.NewVault(), QuestionTimeout: d.patience,
		Effects: d.hands(), Effected: d.effected,
		Facts: facts.NewReader(facts.ReaderOptions{Workspace: d.o.Places.Project, Allow: d.allowedFacts, Getenv: d.o.Getenv, Clock: wall{}, History: d.store, Budget: d.budget}),
	})
	if err != nil {
		return err
	}
	d.rt.Planner().Accept = d.trusts.accept
	d.agent = agent.New(agent.Options{Runtime: d.rt, Workspace: d.o.Places.Project, Provider: d.provider, Emit: d.emit,
		Tools: func(names []string) (*tool.Set, error) { return tool.New(d.o.Places.Project, names, tool.Options{}) }})
	if !d.o.Event { // that takes longer the more is open
		if err := d.unobserve(ctx, "", "", d.rt.Now().Add(-operation.UnobservedAfter)); err != nil {
			return err
		}
	}
	return d.serveHeads(ctx)
}

// allowedFacts are the patterns that count for an operation: those of the layers that it is pinned to.
func (d *Daemon) allowedFacts(h operation.Head) []string {
	g, err := d.rt.Generation(context.Background(), h.Revisions)
	if err != nil { // then no chain of it runs either
		return nil
	}
	var out []string
	for _, l := range g.Layers {
		out = append(out, l.Config.Facts...)
	}
	return out
}

// budget is what the agent of an operation may use in a session, as the revisions say that it is pinned to.
func (d *Daemon) budget(h operation.Head) (tokens int64) {
	g, err := d.rt.Generation(context.Background(), h.Revisions)
	if err != nil { // then no chain of it runs either
		return 0
	}
	a, err := g.Agent(h.Agent)
	if err != nil {
		return 0
	}
	return a.Budget.Tokens
}

// serveHeads puts what is published to use. A head that can't be built (of a damaged database, or one
// that another agentd made) doesn't keep the daemon from starting, as publishing anew needs it; but
// then nothing is decided, since the missing hooks may be those that would have said no.
func (d *Daemon) serveHeads(ctx context.Context) error {
	layers, notes, broken := serving(ctx, d.rt, d.trusts, d.keys, d.store)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if len(layers) == 0 { // not even what ships
		return broken
	}
	if broken != nil && d.o.owner == "" { // a verb says it itself where it needs a head, and publishing is what mends it
		d.log.Error("what is published can't serve, so nothing is decided", "err", broken)
	}
	return d.serve(ctx, layers, notes, broken)
}

// serves says why nothing is decided; nil if all is well.
func (d *Daemon) serves() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.unserved == nil {
		return nil
	}
	return api.Errorf(api.ErrConflict, "%w", d.unserved)
}

// serve puts layers to use: each is stored before the first operation can name it. broken is why they
// aren't all.
func (d *Daemon) serve(ctx context.Context, layers []*revision.Layer, notes []string, broken error) error {
	d.swapping.Lock()
	defer d.swapping.Unlock()
	g, err := d.rt.Serve(ctx, layers)
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.generation++
	n := d.generation
	d.notes, d.unserved = notes, broken
	d.mu.Unlock()
	d.tell("generation.active", "", map[string]any{"generation": n, "revisions": g.Triple, "hooks": len(g.Table.Bindings())})
	return nil
}

// Close interrupts what is going on and lets the lock go. Serve does it at its end.
func (d *Daemon) Close() error {
	d.judging.Wait()
	d.runs.close()
	if d.rt != nil {
		ctx, cancel := context.WithTimeout(context.Background(), d.o.graceNow())
		d.rt.Close(ctx)
		cancel()
	}
	d.apart.Close()
	d.bus.close()
	d.models.CloseIdleConnections()
	return d.store.Close()
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

// inBackground logs what became of a call of a background hook; why it failed the tracer says.
func (d *Daemon) inBackground(h operation.Head, rec hookpoints.Record) {
	switch {
	case !rec.Ran:
		d.log.Warn("a background hook didn't run", "binding_id", rec.BindingID, "operation_id", h.ID, "why", rec.Why)
	case rec.Error != "":
		d.log.Warn("a background hook failed", "binding_id", rec.BindingID, "operation_id", h.ID, "error", rec.Error)
	default:
		d.log.Debug("a background hook ran", "binding_id", rec.BindingID, "operation_id", h.ID, "fuel", rec.Fuel, "us", rec.Micros)
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
