package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
)

// The names under which the program is run again.
const (
	argument = "_worker"
	confined = "_worker-confined"
)

// socket is the descriptor that a worker speaks through.
const socket = 3

// Asked tells whether the program was run to be a worker.
func Asked(args []string) bool {
	return len(args) == 2 && (args[1] == argument || args[1] == confined)
}

// Main is the whole life of a worker, and gives the exit code. Engines are by suffix.
func Main(args []string, engines map[string]interp.Engine) int {
	return run(args, engines, nil)
}

// probes are what a test lets a worker try.
type probes map[string]func(payload.Value) payload.Value

func run(args []string, engines map[string]interp.Engine, extra probes) int {
	open := os.Getenv(openEnv) == "1"
	if args[1] == argument && !open {
		fmt.Fprintln(os.Stderr, confineAndExec([]string{args[0], confined}))
		return 1
	}
	s := &server{engines: engines, extra: extra, conn: rawFile(socket), scripts: map[string][]interp.Definition{}, limits: map[string]meter.Limits{}, points: hookpoints.Standard()}
	if !open {
		if err := shut(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	if err := s.say(object(text("ready", "yes"))); err != nil {
		return 1
	}
	if err := s.serve(); !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// server is the worker's side.
type server struct {
	engines map[string]interp.Engine
	extra   probes
	conn    io.ReadWriter
	scripts map[string][]interp.Definition
	limits  map[string]meter.Limits
	points  *hookpoints.Catalogue
}

func (s *server) say(v payload.Value) error {
	out, err := frame(v)
	if err != nil {
		return err
	}
	_, err = s.conn.Write(out)
	return err
}

// serve answers until the other side is gone, which is io.EOF.
func (s *server) serve() error {
	for {
		q, err := read(s.conn)
		if err != nil {
			return err
		}
		var a payload.Value
		switch do := q.Get("do").Text(); do {
		case "load":
			a, err = s.load(q)
		case "decide", "facts":
			a, err = s.trip(do, q)
		default:
			probe := s.extra[do]
			if probe == nil {
				return fmt.Errorf("the worker was asked to %q", do)
			}
			a = probe(q)
		}
		if err != nil {
			return err
		}
		if err := s.say(a); err != nil {
			return err
		}
	}
}

func (s *server) load(q payload.Value) (payload.Value, error) {
	src := interp.Source{Name: q.Get("name").Text(), Text: []byte(q.Get("text").Text())}
	engine := s.engines[q.Get("suffix").Text()]
	if engine == nil {
		return payload.Value{}, fmt.Errorf("the worker has no engine for %q", q.Get("suffix").Text())
	}
	module := func(name string) (interp.Source, error) {
		if err := s.say(object(text("module", name))); err != nil {
			return interp.Source{}, err
		}
		m, err := read(s.conn)
		if err != nil {
			return interp.Source{}, err
		}
		if m.Get("error").Exists() {
			return interp.Source{}, errors.New(m.Get("error").Text())
		}
		return interp.Source{Name: m.Get("name").Text(), Text: []byte(m.Get("text").Text())}, nil
	}
	limits := limitsOf(q)
	defs, err := engine.Load(context.Background(), src, module, limits)
	if err != nil {
		return object(payload.Field{Name: "fault", Value: packFault(err)}), nil
	}
	list, err := packDefinitions(defs)
	if err != nil {
		return payload.Value{}, err
	}
	key := q.Get("key").Text()
	s.scripts[key], s.limits[key] = defs, limits
	return object(payload.Field{Name: "definitions", Value: list}), nil
}

func packFault(err error) payload.Value {
	var e *interp.Error
	if !errors.As(err, &e) {
		e = &interp.Error{Message: err.Error()}
	}
	return object(text("file", e.File), integer("line", int64(e.Line)), text("message", hookpoints.Cut(e.Message, hookpoints.MaxText)), text("hook_id", e.HookID),
		text("backtrace", hookpoints.Cut(e.Backtrace, hookpoints.MaxText)), text("cause", wordOf(err)))
}

// trip runs calls one after another, up to the first after which the next one could see something else.
func (s *server) trip(do string, q payload.Value) (payload.Value, error) {
	scope, err := hookpoints.NewScope(q.Get("scope"))
	if err != nil {
		return payload.Value{}, err
	}
	now, err := time.Parse(time.RFC3339Nano, q.Get("now").Text())
	if err != nil {
		return payload.Value{}, err
	}
	around := &hookpoints.Around{Scope: scope, Now: now, Seed: q.Get("seed").Text()}
	var results []payload.Value
	for c := range q.Get("calls").Items() {
		key := c.Get("key").Text()
		defs := s.scripts[key]
		index, _ := c.Get("index").Int64()
		if defs == nil || index < 0 || index >= int64(len(defs)) {
			return object(text("need", key)), nil
		}
		spent := limitsOf(c)
		told := &traces{}
		call := &hookpoints.Call{Point: s.points.Point(c.Get("point").Text()), Binding: &hookpoints.Binding{BindingID: c.Get("binding_id").Text(), Config: c.Get("config")},
			Payload: q.Get("payload"), Facts: c.Get("facts"), Missing: c.Get("missing"), State: c.Get("state"), Tracer: told,
			Spent: hookpoints.Usage{Fuel: spent.Fuel, Bytes: spent.Bytes}, Around: around}
		var r result
		if do == "decide" {
			r.decisions, r.usage, r.err = defs[index].Hook.Decide(context.Background(), call)
		} else if asks, ok := defs[index].Hook.(hookpoints.FactAsker); ok {
			r.keys, r.usage, r.err = asks.FactKeys(context.Background(), call)
		}
		r.traces = told.list
		results = append(results, r.pack())
		if r.err != nil || changes(r.decisions) {
			break
		}
	}
	return object(payload.Field{Name: "results", Value: payload.NewArray(results)}), nil
}

// traces keeps what an author may see.
type traces struct{ list []trace }

// Trace implements hookpoints.Tracer.
func (t *traces) Trace(_, kind, text string) {
	if len(t.list) < maxTraces {
		t.list = append(t.list, trace{kind, text})
	}
}

// environment is all that a worker gets to know. It allocates little at a time and lives long, so it may
// collect seldom; its limits hold anyway.
var environment = []string{"GOMAXPROCS=1", "GOTRACEBACK=none", "GOGC=400"}
