// Package charges measures what a unit of fuel is worth: each thing that scripts can do, at sizes from
// one to a million, in the time of the processor and in what the meter counted for it. The rows name
// what they measure, so a test can tell what has none.
package charges

import (
	"context"
	"fmt"
	"io"
	"math"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
	"agentd/interp/starlark"
)

const (
	// Nanos is what a unit of fuel should take.
	Nanos = 16.0
	// Factor is how far a row may be off, either way.
	Factor = 3.0
)

// Row is one thing to do. Its scripts are Starlark in which N stands for the size, m for how often
// it is done and data for what the payload holds.
type Row struct {
	Names  string // of what it measures, as in starlark.Callables, separated by semicolons
	Note   string // which of several rows of that name it is
	Top    string // statements at the top of the file
	Setup  string // statements of the function
	Do     string // what is measured, done m times
	Less   string // what is done as often in what is taken off
	Data   func(n int) string
	Source func(n int) string // measures loading this text instead
	Facts  string             // measures a function that asks for what this expression says, instead
	Whole  string             // measures this body of a hook, instead
	Fails  bool               // and it fails
	Lo, Hi int                // sizes from 10^Lo to 10^Hi; Hi 0: the size makes no difference
	Most   int                // how often it is done at most, 0: as often as it takes
	Low    string             // why it may be charged less than a third, "" if it may not
	High   string             // why it may be charged more than three times as much
}

// Result is a row at one size.
type Result struct {
	Row   Row
	Size  int
	Fuel  float64 // of doing it once
	Nanos float64
	Bytes float64
}

// Ratio is the time of a unit over what it should be: above 1 is charged too little.
func (r Result) Ratio() float64 { return r.Nanos / r.Fuel / Nanos }

// Off says why a result is out of bounds, "" if it isn't or may be.
func (r Result) Off() string {
	switch ratio := r.Ratio(); {
	case ratio > Factor && r.Row.Low == "":
		return "charged too little"
	case ratio < 1/Factor && r.Row.High == "":
		return "charged too much"
	}
	return ""
}

// roomy is a budget that nothing here spends.
var roomy = meter.Limits{Fuel: 1 << 50, Bytes: 1 << 50}

// Measure measures the rows whose names or notes match, and calls got with each result.
func Measure(ctx context.Context, only *regexp.Regexp, got func(Result)) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // the collector's work counts as well, and is done here
	for _, r := range Rows {
		if only != nil && !only.MatchString(r.Names+" "+r.Note) {
			continue
		}
		for e := r.Lo; e <= r.Hi; e++ {
			n := int(math.Pow10(e))
			res, err := r.measure(ctx, n)
			if err != nil {
				return fmt.Errorf("%s %s of %d: %w", r.Names, r.Note, n, err)
			}
			got(res)
		}
	}
	return nil
}

// Head is the line above those of Print.
const Head = "what                                                     size           ns         fuel  ns/unit  of 16"

// Print writes a result as a line.
func Print(out io.Writer, r Result) {
	name := r.Row.Names
	if i := strings.IndexByte(name, ';'); i > 0 {
		name = name[:i] + " ..."
	}
	if r.Row.Note != "" {
		name += ": " + r.Row.Note
	}
	size := strconv.Itoa(r.Size)
	if r.Row.Hi == 0 {
		size = ""
	}
	fmt.Fprintf(out, "%-52s %8s %12.1f %12.1f %8.2f %6.2f %s\n", name, size, r.Nanos, r.Fuel, r.Nanos/r.Fuel, r.Ratio(), r.Off())
}

const (
	enough = 5e6 // nanoseconds of doing it, in one measurement: some collections of garbage are in it
	rounds = 3
)

func (r Row) measure(ctx context.Context, n int) (Result, error) {
	res := Result{Row: r, Size: n}
	if r.Source != nil {
		return res, res.load(ctx)
	}
	script, err := r.open(ctx, n)
	if err != nil {
		return res, err
	}
	most := r.Most
	if most == 0 {
		most = 1 << 17
	}
	// The first look at a payload is nobody's, and would be taken for the whole of the work.
	if _, _, err := script.times(ctx, 1); err != nil {
		return res, err
	}
	m := 1
	for {
		do, less, err := script.times(ctx, m)
		if err != nil {
			return res, err
		}
		took := max(do-less, 1)
		if took >= enough || m == most || took > 20*enough || do > 100*enough {
			break
		}
		m = min(most, m*int(min(max(enough/took, 2), 16)))
	}
	do, less := math.Inf(1), math.Inf(1)
	for i := 0; i < rounds || i < 2*rounds && do <= less; i++ {
		d, l, err := script.times(ctx, m)
		if err != nil {
			return res, err
		}
		do, less = min(do, d), min(less, l)
	}
	times := float64(m)
	res.Nanos = (do - less) / times
	res.Fuel = float64(script.fuel[0]-script.fuel[1]) / times
	res.Bytes = float64(script.bytes[0]-script.bytes[1]) / times
	return res, nil
}

// script is a loaded row.
type script struct {
	do, less hookpoints.Hook
	data     payload.Value
	row      Row
	fuel     [2]int64
	bytes    [2]int64
}

// text is the file of a row: one hook that does it, and one that does what is taken off.
func (r Row) text(n int) string {
	var b strings.Builder
	b.WriteString(r.Top + "\n")
	for _, part := range []struct{ name, body, again string }{{"do", r.Do, "m"}, {"less", r.Less, "m"}} {
		if part.body == "" {
			part.body, part.again = "pass", "0"
		}
		fmt.Fprintf(&b, "def %s(ctx, call):\n    m = call.m\n    data = call.data\n", part.name)
		if r.Setup != "" {
			b.WriteString(indent(r.Setup, "    "))
		}
		fmt.Fprintf(&b, "    print()\n    for i in range(%s):\n%s    print()\n", part.again, indent(part.body, "        "))
		fmt.Fprintf(&b, "hook(id = %q, version = \"1\", run = %s)\n", part.name, part.name)
	}
	if r.Whole != "" {
		fmt.Fprintf(&b, "def whole(ctx, call):\n%shook(id = \"whole\", version = \"1\", run = whole)\ndef none(ctx, call): return None\nhook(id = \"none\", version = \"1\", run = none)\n", indent(r.Whole, "    "))
	}
	if r.Facts != "" {
		fmt.Fprintf(&b, "def facts(ctx, call):\n    return %s\nhook(id = \"facts\", version = \"1\", run = less, facts = facts)\n", r.Facts)
		fmt.Fprintf(&b, "E = []\ndef none(ctx, call):\n    return E\nhook(id = \"none\", version = \"1\", run = less, facts = none)\n")
	}
	return sizes.ReplaceAllString(b.String(), strconv.Itoa(n))
}

var sizes = regexp.MustCompile(`\bN\b`)

func indent(text, by string) string {
	return by + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+by) + "\n"
}

func (r Row) open(ctx context.Context, n int) (*script, error) {
	text := r.text(n)
	defs, err := starlark.New().Load(ctx, interp.Source{Name: "row.star", Text: []byte(text)}, nil, roomy)
	if err != nil {
		return nil, err
	}
	s := &script{do: defs[0].Hook, less: defs[1].Hook, data: payload.NewNull(), row: r}
	switch {
	case r.Facts != "":
		s.do, s.less = defs[2].Hook, defs[3].Hook
	case r.Whole != "":
		s.do, s.less = defs[2].Hook, defs[3].Hook
	}
	if r.Data != nil {
		if s.data, err = payload.ParseString(r.Data(n)); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// times is the time of both hooks, in nanoseconds.
func (s *script) times(ctx context.Context, m int) (do, less float64, err error) {
	for i, h := range []hookpoints.Hook{s.do, s.less} {
		c := &hookpoints.Call{
			Point: hookpoints.Standard().Point("tool.before"), Binding: &hookpoints.Binding{BindingID: "row", Config: payload.NewObject()},
			Payload: payload.NewObject(payload.Field{Name: "m", Value: payload.NewInt(int64(m))}, payload.Field{Name: "data", Value: s.data}),
			Facts:   payload.NewObject(), Missing: payload.NewObject(), State: payload.NewObject(), Around: &hookpoints.Around{Now: time.Unix(0, 0), Seed: "row"},
		}
		var use hookpoints.Usage
		watch := &watch{}
		if s.row.Whole == "" && s.row.Facts == "" {
			c.Tracer = watch
		}
		watch.start()
		if use, err = s.run(ctx, h, c, m, i == 0); err != nil {
			return 0, 0, err
		}
		took := float64(Now() - watch.at)
		if watch.lap > 0 {
			took = float64(watch.lap)
		}
		s.fuel[i], s.bytes[i] = use.Fuel, use.Bytes
		if i == 0 {
			do = took
		} else {
			less = took
		}
	}
	return do, less, nil
}

// watch takes the time between two calls of print, and before that sees to it that nobody pays for the
// garbage of what came before.
type watch struct {
	at, lap int64
	started bool
}

func (w *watch) start() {
	runtime.GC()
	w.at = Now()
}

// Trace implements hookpoints.Tracer.
func (w *watch) Trace(string, string, string) {
	if w.started {
		w.lap = Now() - w.at
		return
	}
	w.started = true
	w.start()
}

// run calls a hook once, or m times if the row isn't about a part of it.
func (s *script) run(ctx context.Context, h hookpoints.Hook, c *hookpoints.Call, m int, do bool) (use hookpoints.Usage, err error) {
	if s.row.Facts == "" && s.row.Whole == "" {
		_, use, err = h.Decide(ctx, c)
		return use, err
	}
	for range m {
		var u hookpoints.Usage
		if s.row.Facts != "" {
			_, u, err = h.(hookpoints.FactAsker).FactKeys(ctx, c)
		} else {
			_, u, err = h.Decide(ctx, c)
		}
		if (err != nil) != (do && s.row.Fails) {
			return use, fmt.Errorf("it ended with %w", err)
		}
		use.Fuel, use.Bytes = use.Fuel+u.Fuel, use.Bytes+u.Bytes
	}
	return use, nil
}

// charged is what doing it once costs, without measuring the time.
func (r Row) charged(ctx context.Context, n int) (fuel, bytes int64, err error) {
	if r.Source != nil {
		return loadCost(ctx, starlark.New(), r.source(n))
	}
	s, err := r.open(ctx, n)
	if err != nil {
		return 0, 0, err
	}
	_, _, err = s.times(ctx, 1)
	return s.fuel[0] - s.fuel[1], s.bytes[0] - s.bytes[1], err
}

func (r Row) source(n int) interp.Source {
	return interp.Source{Name: "row.star", Text: []byte(r.Source(n))}
}

// loadCost is what loading a text costs: what it does shows in the least that is enough.
func loadCost(ctx context.Context, e *starlark.Engine, src interp.Source) (fuel, bytes int64, err error) {
	load := func(l meter.Limits) error {
		_, err := e.Load(ctx, src, nil, l)
		return err
	}
	if err := load(roomy); err != nil {
		return 0, 0, err
	}
	least := func(enough func(int64) meter.Limits) int64 {
		lo, hi := int64(0), int64(1)<<34
		for lo < hi {
			if mid := (lo + hi) / 2; load(enough(mid)) == nil {
				hi = mid
			} else {
				lo = mid + 1
			}
		}
		return lo
	}
	source := starlark.SourceCost(src.Text)
	fuel = source.Fuel + source.Bytes/meter.BytesPerFuel + least(func(n int64) meter.Limits { return meter.Limits{Fuel: n, Bytes: roomy.Bytes} })
	bytes = source.Bytes + least(func(n int64) meter.Limits { return meter.Limits{Fuel: roomy.Fuel, Bytes: n} })
	return fuel, bytes, nil
}

// load measures loading a text.
func (res *Result) load(ctx context.Context) error {
	e, src := starlark.New(), res.Row.source(res.Size)
	fuel, bytes, err := loadCost(ctx, e, src)
	if err != nil {
		return err
	}
	res.Fuel, res.Bytes = float64(fuel), float64(bytes)
	res.Nanos = math.Inf(1)
	for range rounds {
		times, start := 0, Now()
		for times == 0 || Now()-start < enough {
			if _, err := e.Load(ctx, src, nil, roomy); err != nil {
				return err
			}
			times++
		}
		res.Nanos = min(res.Nanos, float64(Now()-start)/float64(times))
	}
	return nil
}
