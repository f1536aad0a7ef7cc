package lua

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
)

var (
	attackEnding = regexp.MustCompile(`(?m)^-- ends: (fine|budget|error (".*"))$`)
	// repeated is written @{1000 "text"} in an attack and stands for so many copies of the text, each
	// with its number for every # in it.
	repeated    = regexp.MustCompile(`@\{(\d+) ("(?:[^"\\]|\\.)*")\}`)
	definesHook = regexp.MustCompile(`(?m)^(hook|for i = 1, 1e6 do hook)`)
	// moduleStart begins the text of a module that the attack brings along.
	moduleStart = regexp.MustCompile(`(?m)^=== (\S+)\n`)
)

var attackLimits = meter.Limits{Fuel: 100_000, Bytes: 16 << 20}

const (
	// heapFactor is how many bytes an attack may really allocate for one that it was charged, garbage
	// included; heapSlack is what loading and one call take whatever they do.
	heapFactor = 3
	heapSlack  = 4 << 20
	// sourceFactor is how many bytes of garbage parsing and compiling make of one byte of text, at
	// worst: less is charged for it, since a file's length is bounded and none of it is kept.
	sourceFactor = 200
	// tooLong is how long the wall clock waits for all attacks of a file before it says that one hangs.
	// It is far more than they need.
	tooLong = 4 * time.Minute
)

const attackPayload = `{"name":"orders-search","arguments":{"n":1.50,"big":123456789012345678901234567890,"e":1E400,"deep":[ 1,  2 ]}}`

// TestAttacksEndTheSameEachTime runs scripts that an instruction limit doesn't stop. Each must end as
// it says, with the same words after the same fuel and bytes, however often it runs, and allocate no
// more than it was charged for. All of a file share the states of one engine: after each of them a hook
// that means well must decide as it did before any.
func TestAttacksEndTheSameEachTime(t *testing.T) {
	files, err := filepath.Glob("testdata/attacks/*.lua")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		ctx, cancel := context.WithTimeout(t.Context(), tooLong)
		defer cancel()
		engine := New()
		good := goodHook(t, engine)
		want := good(t)
		for _, c := range readAttacks(t, file) {
			t.Run(strings.TrimSuffix(c.file, ".lua")+"/"+c.name, func(t *testing.T) {
				first := c.run(ctx, t, engine)
				for range 2 {
					if again := c.run(ctx, t, engine); again.text != first.text {
						t.Fatalf("it ended in two ways:\n%s\n%s", first.text, again.text)
					}
				}
				if got := good(t); got != want {
					t.Errorf("after it another hook decides %s, before it %s", got, want)
				}
				if most := heapFactor*first.charged + sourceFactor*first.read + heapSlack + raceSlack; first.allocated > most {
					t.Errorf("it allocated %d bytes for %d that it was charged", first.allocated, first.charged)
				}
				c.check(t, first)
			})
		}
	}
}

// attackChunk is one attack of a file. Its text keeps the numbers of its lines.
type attackChunk struct {
	file, name, text string
	ends             string // fine, budget or error
	pattern          *regexp.Regexp
}

func readAttacks(t testing.TB, name string) []attackChunk {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var out []attackChunk
	line := 1
	for _, text := range strings.Split(string(data), "\n---\n") {
		c := attackChunk{file: filepath.Base(name), name: fmt.Sprintf("line_%d", line), text: strings.Repeat("\n", line-1) + text}
		m := attackEnding.FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("%s:%d: it doesn't say how it ends", name, line)
		}
		if c.ends = m[1]; m[2] != "" {
			pattern, err := strconv.Unquote(m[2])
			if err != nil {
				t.Fatalf("%s:%d: %v", name, line, err)
			}
			c.ends, c.pattern = "error", regexp.MustCompile(pattern)
		}
		out = append(out, c)
		line += strings.Count(text, "\n") + 2
	}
	return out
}

// outcome is what became of an attack.
type outcome struct {
	err       error
	text      string // the error, the decisions and what was used, while loading and in the call
	charged   int64  // bytes
	read      int64  // bytes of all files
	allocated int64
}

func (c attackChunk) check(t *testing.T, o outcome) {
	t.Helper()
	var fault *interp.Error
	if o.err != nil && !errors.As(o.err, &fault) {
		t.Errorf("the error is no *interp.Error: %v", o.err)
		return
	}
	switch {
	case o.err != nil && strings.Contains(o.err.Error(), "the interpreter failed"), o.err != nil && strings.Contains(o.err.Error(), "the compiler failed"):
		t.Errorf("got %s", o.text)
	case c.ends == "fine" && o.err != nil, c.ends == "budget" && !errors.Is(o.err, hookpoints.ErrBudget):
		t.Errorf("got %s", o.text)
	case c.ends == "error" && (!errors.Is(o.err, hookpoints.ErrHookFailed) || !c.pattern.MatchString(o.err.Error())):
		t.Errorf("got %s", o.text)
	}
}

// run loads a chunk. If it has a function attack, that becomes a hook that answers what the function
// returns; else its function run is the hook. The hook decides on a payload, which must be what it was
// afterwards.
func (c attackChunk) run(ctx context.Context, t *testing.T, engine *Engine) outcome {
	call := attackCall(t)
	src, modules, read := c.sources()
	out := outcome{read: read}
	before := allocated()
	limits := attackLimits
	if c.file == "source.lua" || c.file == "modules.lua" { // what a long text is refused for comes before its price
		limits = meter.Default
	}
	loads := newRun(ctx, limits)
	l := newLoading(engine, engine.env(), src, modules, limits)
	loads.loading = l
	_, err := loads.loadMain(src)
	use := loads.usage()
	out.charged = use.Bytes
	out.text = fmt.Sprintf("loading %+v", use)
	if err == nil && len(l.defs) > 0 {
		var list []hookpoints.Decision
		list, use, err = l.defs[0].Hook.Decide(ctx, call)
		out.charged += use.Bytes
		out.text += fmt.Sprintf(" call %+v", use)
		for _, d := range list {
			out.text += fmt.Sprintf(" %v %q %v", d.Verb, d.Text, d.Value)
		}
	}
	out.allocated = allocated() - before
	out.err = err
	out.text = fmt.Sprintf("%v %s", err, out.text)
	if got := call.Payload.String(); got != attackTree(t, attackPayload).String() {
		t.Errorf("the payload became %s", got)
	}
	return out
}

// allocated is how many bytes the process ever allocated.
func allocated() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.TotalAlloc)
}

// sources expands what a chunk repeats, defines its function as a hook, and finds its modules.
func (c attackChunk) sources() (main interp.Source, module interp.Module, read int64) {
	text := repeated.ReplaceAllStringFunc(c.text, func(found string) string {
		m := repeated.FindStringSubmatch(found)
		times, _ := strconv.Atoi(m[1])
		part, err := strconv.Unquote(m[2])
		if err != nil {
			panic(err)
		}
		var b strings.Builder
		for i := range times {
			b.WriteString(strings.ReplaceAll(part, "#", strconv.Itoa(i)))
		}
		return b.String()
	})
	starts := moduleStart.FindAllStringSubmatchIndex(text, -1)
	modules := map[string]string{}
	file := text
	for i, s := range starts {
		end := len(text)
		if i == 0 {
			file = text[:s[0]]
		}
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		modules[text[s[2]:s[3]]] = text[s[1]:end]
	}
	switch {
	case definesHook.MatchString(file):
	case strings.Contains(file, "\nfunction attack("):
		file += "\nhook{id = \"h\", version = \"1\", run = function() local v = attack() if v ~= nil then return respond(v) end end}\n"
	case strings.Contains(file, "\nfunction run("):
		file += "\nhook{id = \"h\", version = \"1\", run = run}\n"
	}
	return interp.Source{Name: c.file, Text: []byte(file)}, func(name string) (interp.Source, error) {
		text, ok := modules[name]
		if !ok {
			return interp.Source{}, errors.New("there is no such module in hooks/")
		}
		return interp.Source{Name: name, Text: []byte(text)}, nil
	}, int64(len(text))
}

func attackTree(t testing.TB, text string) payload.Value {
	t.Helper()
	v, err := payload.ParseString(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func attackCall(t testing.TB) *hookpoints.Call {
	t.Helper()
	scope, err := hookpoints.NewScope(attackTree(t, `{"run_id":"r1","target":"orders-search","kind":"search","turn":3,"client":null}`))
	if err != nil {
		t.Fatal(err)
	}
	return &hookpoints.Call{
		Point:   hookpoints.Standard().Point("tool.before"),
		Binding: &hookpoints.Binding{BindingID: "project/h", Config: attackTree(t, `{"limit": 10, "names": ["a", "b"]}`)},
		Payload: attackTree(t, attackPayload), Facts: payload.NewObject(), Missing: payload.NewObject(), State: payload.NewObject(),
		Around: &hookpoints.Around{Scope: scope, Now: time.Date(2026, 3, 4, 5, 6, 7, 89_000_000, time.UTC), Seed: "seed-1"},
	}
}

// goodHook is a hook that uses what attacks reach for: the library, globals, metatables and the stack.
// It returns a function that decides with it, and says what was decided and used.
func goodHook(t *testing.T, engine *Engine) func(t *testing.T) string {
	t.Helper()
	src := interp.Source{Name: "good.lua", Text: []byte(`
local names = {}
for _, lib in ipairs{string, table, math} do
    for name in pairs(lib) do names[#names + 1] = name end
end

local function deep(n) if n == 0 then return "end" end return (deep(n - 1)) .. n end

hook{id = "good", version = "1", run = function(ctx, call)
    local seen = {}
    for key in pairs(call.arguments) do seen[#seen + 1] = key end
    table.sort(seen, function(a, b) return a > b end)
    local t = setmetatable({}, {__index = function(_, k) return k:upper() end})
    local ok, message = pcall(error, "caught", 0)
    return annotate{
        names = table.concat(names, " "), seen = seen, deep = deep(40), index = t.word, caught = message, text = ("x"):rep(3),
        found = ("key = value"):match("=%s*(%w+)"), formatted = string.format("%5.2f|%q|%s", 1.5, "a\n", {}), globals = type(leaked),
        null = tostring(null), max = math.max(1, 2),
    }
end}
`)}
	defs, err := engine.Load(t.Context(), src, nil, meter.Default)
	if err != nil {
		t.Fatal(err)
	}
	return func(t *testing.T) string {
		t.Helper()
		list, use, err := defs[0].Hook.Decide(t.Context(), attackCall(t))
		return fmt.Sprintf("%+v %+v %v", list, use, err)
	}
}

// TestAHookAnswersWhileOthersAttack runs attacks beside a hook that means well, in the states of the
// same engine: it must decide as it does alone.
func TestAHookAnswersWhileOthersAttack(t *testing.T) {
	engine := New()
	decide := goodHook(t, engine)
	want := decide(t)
	ctx, cancel := context.WithTimeout(t.Context(), tooLong)
	defer cancel()
	attacked := make(chan bool, 1)
	go func() {
		defer func() { attacked <- true }()
		for _, file := range []string{"sharing", "errors"} {
			for _, c := range readAttacks(t, "testdata/attacks/"+file+".lua") {
				c.run(ctx, t, engine)
			}
		}
	}()
	for {
		if got := decide(t); got != want {
			t.Errorf("it decided %s, alone it decided %s", got, want)
			cancel()
		}
		select {
		case <-attacked:
			return
		default:
		}
	}
}
