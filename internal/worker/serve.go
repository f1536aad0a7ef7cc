package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

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

// withoutEnv tells a worker which walls to leave out. Only the parent sets its environment.
const withoutEnv = "AGENTD_WORKER_WITHOUT"

// environment is all else that a worker gets to know. It allocates little at a time and lives long, so it may
// collect seldom; its limits hold anyway.
var environment = []string{"GOMAXPROCS=1", "GOTRACEBACK=none", "GOGC=400"}

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
	without := split(os.Getenv(withoutEnv))
	if args[1] == argument {
		if err := confineAndExec([]string{args[0], confined}, without); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	s := &server{engines: engines, extra: extra, stream: newStream(rawFile(socket)), scripts: map[string]*loaded{}, points: hookpoints.Standard()}
	if err := shut(without); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := s.say(object(text("without", join(without)))); err != nil {
		return 1
	}
	if err := s.serve(); !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// server is the worker's side. It believes what it is told.
type server struct {
	engines map[string]interp.Engine
	extra   probes
	stream  *stream
	scripts map[string]*loaded
	seats   []*taken
	points  *hookpoints.Catalogue
	around  hookpoints.Around // of the trip that is answered, as the two that follow
	call    hookpoints.Call
	traces  traces
	out     []byte
}

// loaded is a script.
type loaded struct {
	defs   []interp.Definition
	limits meter.Limits
}

// taken is a seat as a worker knows it.
type taken struct {
	hook    hookpoints.Hook
	binding *hookpoints.Binding
	point   *hookpoints.Point
}

func (s *server) say(v payload.Value) error {
	out, err := end(v.AppendJSON(begin(nil, spoken)), 0)
	if err != nil {
		return err
	}
	return s.stream.send(context.Background(), out)
}

// serve answers until the other side is gone, which is io.EOF.
func (s *server) serve() error {
	for {
		kind, body, err := s.stream.next(context.Background())
		if err != nil {
			return err
		}
		switch kind {
		case seated:
			err = s.seat(&cursor{left: body})
		case decides, facts:
			err = s.trip(kind, &cursor{left: body})
		case spoken:
			err = s.spoken(body)
		default:
			err = fmt.Errorf("the worker was told something of a kind %q", kind)
		}
		if err != nil {
			return err
		}
	}
}

func (s *server) spoken(body []byte) error {
	q, err := payload.Parse(body)
	if err != nil {
		return err
	}
	var a payload.Value
	if do := q.Get("do").Text(); do == "load" {
		a, err = s.load(q)
	} else if probe := s.extra[do]; probe != nil {
		a = probe(q)
	} else {
		err = fmt.Errorf("the worker was asked to %q", do)
	}
	if err != nil {
		return err
	}
	return s.say(a)
}

func (s *server) load(q payload.Value) (payload.Value, error) {
	src := interp.Source{Name: q.Get("name").Text(), Text: []byte(q.Get("text").Text())}
	engine := s.engines[q.Get("suffix").Text()]
	if engine == nil {
		return payload.Value{}, fmt.Errorf("the worker has no engine for %q", q.Get("suffix").Text())
	}
	limits := limitsOf(q)
	defs, err := engine.Load(context.Background(), src, s.module, limits)
	if err != nil {
		return object(payload.Field{Name: "fault", Value: packFault(err)}), nil
	}
	list, err := packDefinitions(defs)
	if err != nil {
		return payload.Value{}, err
	}
	s.scripts[q.Get("key").Text()] = &loaded{defs, limits}
	return object(payload.Field{Name: "definitions", Value: list}), nil
}

// module asks the host for a module.
func (s *server) module(name string) (interp.Source, error) {
	if err := s.say(object(text("module", name))); err != nil {
		return interp.Source{}, err
	}
	kind, body, err := s.stream.next(context.Background())
	if err != nil {
		return interp.Source{}, err
	}
	m, err := payload.Parse(body)
	if err != nil || kind != spoken {
		return interp.Source{}, errors.Join(errors.New("the host sends no module"), err)
	}
	if m.Get("error").Exists() {
		return interp.Source{}, errors.New(m.Get("error").Text())
	}
	return interp.Source{Name: m.Get("name").Text(), Text: []byte(m.Get("text").Text())}, nil
}

func packFault(err error) payload.Value {
	var e *interp.Error
	if !errors.As(err, &e) {
		e = &interp.Error{Message: err.Error()}
	}
	return object(text("file", e.File), integer("line", int64(e.Line)), text("message", hookpoints.Cut(e.Message, hookpoints.MaxText)), text("hook_id", e.HookID),
		text("backtrace", hookpoints.Cut(e.Backtrace, hookpoints.MaxText)), integer("cause", int64(wordOf(err))))
}

// errTold: the host said what it can't have written.
var errTold = errors.New("the worker doesn't understand what it was told")

// seat takes note of a binding that calls are going to name.
func (s *server) seat(c *cursor) error {
	number, script, index := c.number(), s.scripts[c.text()], c.number()
	point := s.points.Point(c.text())
	b := &hookpoints.Binding{BindingID: c.text(), Config: c.believed()}
	if !c.end() || script == nil || number != int64(len(s.seats)) || index >= int64(len(script.defs)) || point == nil {
		return errTold
	}
	s.seats = append(s.seats, &taken{script.defs[index].Hook, b, point})
	return nil
}

// trip runs calls one after another, up to the first after which the next one could see something else.
func (s *server) trip(kind byte, c *cursor) error {
	c.around(&s.around)
	in := c.believed()
	calls := c.count()
	s.out = begin(s.out[:0], said)
	results := 0
	var list []byte
	for range calls {
		r, err := s.decide(kind, c, in)
		if err != nil {
			return err
		}
		list, results = r.append(list), results+1
		if r.err != nil || changes(r.decisions) {
			break
		}
	}
	s.out = append(appendNumber(s.out, int64(results)), list...)
	out, err := end(s.out, 0)
	if cap(out) > maxKept {
		s.out = nil
	}
	if err != nil {
		return err
	}
	return s.stream.send(context.Background(), out)
}

// decide reads one call and makes it.
func (s *server) decide(kind byte, c *cursor, in payload.Value) (r result, err error) {
	number := c.number()
	spent := hookpoints.Usage{Fuel: c.number(), Bytes: c.number()}
	known, missing, state := c.believed(), c.believed(), c.believed()
	if c.fault || number >= int64(len(s.seats)) {
		return r, errTold
	}
	t := s.seats[number]
	s.traces.list = nil
	s.call = hookpoints.Call{Point: t.point, Binding: t.binding, Payload: in, Facts: known, Missing: missing, State: state, Tracer: &s.traces, Spent: spent, Around: &s.around}
	if kind == decides {
		r.decisions, r.usage, r.err = t.hook.Decide(context.Background(), &s.call)
	} else if asks, ok := t.hook.(hookpoints.FactAsker); ok {
		r.keys, r.usage, r.err = asks.FactKeys(context.Background(), &s.call)
	}
	r.traces = s.traces.list
	return r, nil
}

// traces keeps what an author may see.
type traces struct{ list []trace }

// Trace implements hookpoints.Tracer.
func (t *traces) Trace(_, kind, text string) {
	if len(t.list) < maxTraces {
		t.list = append(t.list, trace{kind, text})
	}
}

// join and split write walls in one word.
func join(walls []Wall) string {
	names := make([]string, len(walls))
	for i, w := range walls {
		names[i] = string(w)
	}
	return strings.Join(names, ",")
}

func split(names string) []Wall {
	var out []Wall
	for name := range strings.SplitSeq(names, ",") {
		if name != "" {
			out = append(out, Wall(name))
		}
	}
	return out
}
