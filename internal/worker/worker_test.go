package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
	"agentd/interp/starlark"
)

// TestMain makes this test binary a worker when a pool runs it again.
func TestMain(m *testing.M) {
	if Asked(os.Args) {
		os.Exit(run(os.Args, map[string]interp.Engine{".star": starlark.New()}, attempts))
	}
	goleak.VerifyTestMain(m)
}

func self(t testing.TB) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

func newPool(t testing.TB) *Pool {
	t.Helper()
	if missing := Missing(); len(missing) > 0 {
		t.Skipf("this machine can't build the walls %v", missing)
	}
	p := New(Options{Program: self(t)})
	t.Cleanup(p.Close)
	return p
}

type monotonic struct{}

func (monotonic) Nanos() int64 { return time.Since(start0).Nanoseconds() }

var start0 = time.Now()

// load makes a chain of the hooks of a script at tool.before, in the order of their ids.
func load(t testing.TB, p *Pool, script string, modules map[string]string) *hookpoints.Chain {
	t.Helper()
	defs, err := define(t.Context(), p, script, modules)
	if err != nil {
		t.Fatal(err)
	}
	var list []*hookpoints.Binding
	for i, d := range defs {
		list = append(list, &hookpoints.Binding{BindingID: "project/" + d.HookID, HookID: d.HookID, Version: d.Version, Point: "tool.before", Priority: 100 + i,
			Layer: hookpoints.Project, Config: payload.NewObject(), FailurePolicy: hookpoints.Block, Timeout: time.Minute, StateCell: "project/" + d.HookID, ReplaySafe: true, Guard: d.Guard,
			FactKeys: d.FactKeys, Hook: d.Hook})
	}
	return hookpoints.NewChain(hookpoints.Standard().Point("tool.before"), monotonic{}, list)
}

func define(ctx context.Context, p *Pool, script string, modules map[string]string) ([]interp.Definition, error) {
	module := func(name string) (interp.Source, error) {
		text, ok := modules[name]
		if !ok {
			return interp.Source{}, fmt.Errorf("there is no module %q", name)
		}
		return interp.Source{Name: name, Text: []byte(text)}, nil
	}
	return p.Engine(".star", starlark.New(), false).Load(ctx, interp.Source{Name: "test.star", Text: []byte(script)}, module, meter.Default)
}

var example = hookpoints.Standard().Point("tool.before").Example

func decide(t testing.TB, c *hookpoints.Chain) hookpoints.Result {
	t.Helper()
	res, err := c.Run(t.Context(), hookpoints.Ordinary, hookpoints.Request{Payload: example})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestAWorkerDecidesAsTheProcessWould(t *testing.T) {
	const script = `
load("//lib/words.star", "word")

def clamp(ctx, call):
    return [patch(arguments = call.arguments | {"limit": 7, "word": word}), remember(n = ctx.state.get("n", 0) + 1)]

def look(ctx, call):
    print("limit", call.arguments["limit"])
    return annotate(limit = call.arguments["limit"], point = ctx.point, seed = ctx.seed)

hook(id = "a-clamp", version = "v1", run = clamp)
hook(id = "b-look", version = "v1", run = look)
`
	modules := map[string]string{"lib/words.star": `word = "hello"`}
	p := newPool(t)
	got := decide(t, load(t, p, script, modules))
	if got.Payload.Get("arguments").Get("limit").String() != "7" || got.Payload.Get("arguments").Get("word").Text() != "hello" {
		t.Errorf("payload %s", got.Payload)
	}
	if got.Records[1].Annotations.Get("limit").String() != "7" || got.Records[1].Annotations.Get("point").Text() != "tool.before" {
		t.Errorf("records %+v", got.Records)
	}
	if len(got.State) != 1 || got.Records[0].Fuel == 0 || got.Records[0].Bytes == 0 {
		t.Errorf("state %v, records %+v", got.State, got.Records)
	}
	here, err := starlark.New().Load(t.Context(), interp.Source{Name: "test.star", Text: []byte(script)}, func(name string) (interp.Source, error) {
		return interp.Source{Name: name, Text: []byte(modules[name])}, nil
	}, meter.Default)
	if err != nil {
		t.Fatal(err)
	}
	_, use, err := here[0].Hook.Decide(t.Context(), &hookpoints.Call{Point: hookpoints.Standard().Point("tool.before"), Binding: &hookpoints.Binding{Config: payload.NewObject()},
		Payload: example, State: payload.NewObject(), Around: &hookpoints.Around{}})
	if err != nil || use.Fuel != got.Records[0].Fuel || use.Bytes != got.Records[0].Bytes {
		t.Errorf("used %+v here, %d fuel and %d bytes there, %v", use, got.Records[0].Fuel, got.Records[0].Bytes, err)
	}
}

func TestAFaultInAScriptIsToldAsHere(t *testing.T) {
	p := newPool(t)
	for script, want := range map[string]string{
		"x = (":                        "test.star:1",
		"\nload('//lib/x.star', 'x')":  `there is no module "lib/x.star"`,
		"hook(id = 'a')":               "argument version is missing",
		"x = ['a' * 1000] * 100000000": "budget",
	} {
		_, err := define(t.Context(), p, script, nil)
		_, here := starlark.New().Load(t.Context(), interp.Source{Name: "test.star", Text: []byte(script)}, func(name string) (interp.Source, error) {
			return interp.Source{}, fmt.Errorf("there is no module %q", name)
		}, meter.Default)
		var e *interp.Error
		if !errors.As(err, &e) || here == nil || err.Error() != here.Error() || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, here %v", script, err, here)
		}
	}
}

func TestAFailureIsAWordAndATrace(t *testing.T) {
	p := newPool(t)
	c := load(t, p, `
def spend(ctx, call):
    return [x for x in range(10000000)]

def crash(ctx, call):
    return call.nothing

hook(id = "a", version = "v1", run = spend)
hook(id = "b", version = "v1", run = crash)
`, nil)
	var told []string
	for i, want := range []string{"budget", "hook_failed"} {
		alone := hookpoints.NewChain(c.Point(), monotonic{}, c.Bindings(hookpoints.Ordinary)[i:i+1])
		res, err := alone.Run(t.Context(), hookpoints.Ordinary, hookpoints.Request{Payload: example, Tracer: tracer(func(s string) { told = append(told, s) })})
		if err != nil || res.Outcome != hookpoints.Failed || res.Error != want {
			t.Errorf("%+v, %v, want %s", res, err, want)
		}
	}
	if len(told) != 2 || !strings.Contains(told[1], "nothing") || strings.Count(told[1], "error") != 1 {
		t.Errorf("told %q", told)
	}
}

type tracer func(string)

func (f tracer) Trace(id, kind, text string) { f(id + " " + kind + " " + text) }

// attempts are what somebody would try who got out of the interpreter.
var attempts = probes{
	"die": func(payload.Value) payload.Value { os.Exit(3); return payload.Value{} },
	"stuck": func(payload.Value) payload.Value {
		for {
			runtime.Gosched()
		}
	},
	"memory": func(payload.Value) payload.Value {
		var keep [][]byte
		for range 64 {
			b := make([]byte, 64<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			keep = append(keep, b)
		}
		return object(integer("kept", int64(len(keep))))
	},
	"try": func(q payload.Value) payload.Value {
		return object(tries(q.Get("dir").Text(), q.Get("only").Strings())...)
	},
}

func TestAWorkerThatDiesOrIsLateIsReplaced(t *testing.T) {
	p := newPool(t)
	c := load(t, p, "def ok(ctx, call):\n    return annotate(ok = True)\nhook(id = 'a', version = 'v1', run = ok)\n", nil)
	for _, how := range []string{"die", "memory", "stuck", "unheard of"} {
		w, err := p.trusted.take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.ask(&soon{Context: t.Context(), left: 3}, object(text("do", how)))
		switch {
		case how == "stuck" && !errors.Is(err, hookpoints.ErrHostTimeout):
			t.Errorf("%s: %v", how, err)
		case how != "stuck" && how != "memory" && !errors.Is(err, hookpoints.ErrHookFailed):
			t.Errorf("%s: %v", how, err)
		case err == nil:
			t.Errorf("%s was survived", how)
		}
		p.trusted.drop(w)
		if got := decide(t, c); !got.Records[0].Annotations.Get("ok").IsTrue() {
			t.Errorf("after %s: %+v", how, got.Records)
		}
	}
}

// soon is a net whose time is up after it was looked at a few times.
type soon struct {
	context.Context
	left int
}

func (s *soon) Err() error {
	if s.left--; s.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

func TestOneTripTakesAllThatCanTravel(t *testing.T) {
	p := newPool(t)
	c := load(t, p, `
def note(ctx, call):
    return annotate(binding = ctx.binding_id)

def patching(ctx, call):
    return patch(arguments = call.arguments | {"limit": 3})

def sees(ctx, call):
    return annotate(limit = call.arguments["limit"])

hook(id = "a", version = "v1", run = note)
hook(id = "b", version = "v1", run = note)
hook(id = "c", version = "v1", run = patching)
hook(id = "d", version = "v1", run = sees)
hook(id = "e", version = "v1", run = sees)
`, nil)
	asked := count(t, p)
	got := decide(t, c)
	if asked.n != 2 {
		t.Errorf("%d trips, want 2: up to the patch, and the rest", asked.n)
	}
	for i, want := range []string{`{"binding":"project/a"}`, `{"binding":"project/b"}`, "null", `{"limit":3}`, `{"limit":3}`} {
		if a := got.Records[i].Annotations; a.String() != want {
			t.Errorf("record %d: %s, want %s", i, a, want)
		}
	}
}

// counted counts what is written to a worker.
type counted struct {
	io.ReadWriter
	n int
}

func (c *counted) Write(b []byte) (int, error) {
	c.n++
	return c.ReadWriter.Write(b)
}

// count makes the pool's next trips go to a worker whose writes are counted. It must know its script.
func count(t *testing.T, p *Pool) *counted {
	t.Helper()
	p.wg.Wait() // the spare
	var all []*process
	for range len(p.trusted.idle) {
		all = append(all, <-p.trusted.idle)
	}
	c := &counted{}
	for _, w := range all {
		if len(w.loaded) > 0 {
			c.ReadWriter, w.stream.rw = w.stream.rw, c
		} else {
			p.trusted.drop(w)
			continue
		}
		p.trusted.give(w)
	}
	if c.ReadWriter == nil {
		t.Fatal("no worker knows the script")
	}
	return c
}

func TestAClosedPoolRefuses(t *testing.T) {
	p := newPool(t)
	c := load(t, p, "def ok(ctx, call):\n    return None\nhook(id = 'a', version = 'v1', run = ok)\n", nil)
	p.Close()
	if got := decide(t, c); got.Outcome != hookpoints.Failed {
		t.Errorf("%+v", got)
	}
	if _, err := p.trusted.take(t.Context()); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func BenchmarkTrip(b *testing.B) {
	for _, n := range []int{1, 8} {
		b.Run(fmt.Sprintf("%d hooks", n), func(b *testing.B) {
			p := New(Options{Program: self(b)})
			defer p.Close()
			var script strings.Builder
			script.WriteString("def ok(ctx, call):\n    return None if call.arguments.get('limit', 0) < 10000 else reject('no')\n")
			for i := range n {
				fmt.Fprintf(&script, "hook(id = 'h%d', version = 'v1', run = ok)\n", i)
			}
			c := load(b, p, script.String(), nil)
			for b.Loop() {
				decide(b, c)
			}
		})
	}
}
