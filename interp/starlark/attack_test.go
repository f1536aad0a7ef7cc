package starlark

import (
	"context"
	"errors"
	"fmt"
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

	"go.starlark.net/starlark"
)

var (
	ending = regexp.MustCompile(`(?m)^# ends: (fine|budget|error (".*"))$`)
	// repeated is written @{1000 "text"} in an attack and stands for so many copies of the text, each
	// with its number for every # in it.
	repeated = regexp.MustCompile(`@\{(\d+) ("(?:[^"\\]|\\.)*")\}`)
	// moduleStart begins the text of a module that the attack brings along.
	moduleStart = regexp.MustCompile(`(?m)^=== (\S+)\n`)
)

var attackLimits = meter.Limits{Fuel: 100_000, Bytes: 16 << 20}

const (
	// heapFactor is how many bytes an attack may really allocate for one that it was charged, garbage
	// included; heapSlack is what loading and one call take whatever they do.
	heapFactor = 3
	heapSlack  = 4 << 20
	// tooLong is how long the wall clock waits for all attacks of a file before it says that one hangs.
	// It is far more than they need.
	tooLong = 4 * time.Minute
)

// TestAttacksEndTheSameEachTime runs scripts that a step limit doesn't stop. Each must end as it says,
// with the same words after the same fuel and bytes, however often it runs, and allocate no more than
// it was charged for.
func TestAttacksEndTheSameEachTime(t *testing.T) {
	files, err := filepath.Glob("testdata/attacks/*.star")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		ctx, cancel := context.WithTimeout(t.Context(), tooLong)
		defer cancel()
		for _, c := range readChunks(t, file) {
			t.Run(strings.TrimSuffix(c.file, ".star")+"/"+c.name(), func(t *testing.T) {
				m := ending.FindStringSubmatch(c.text)
				if m == nil {
					t.Fatal("it doesn't say how it ends")
				}
				first := attack(ctx, t, c)
				for range 2 {
					if again := attack(ctx, t, c); again.text != first.text {
						t.Fatalf("it ended in two ways:\n%s\n%s", first.text, again.text)
					}
				}
				most := heapFactor*first.charged + heapSlack
				if strings.Contains(c.text, "re.") {
					most += raceSlack
				}
				if first.allocated > most {
					t.Errorf("it allocated %d bytes for %d that it was charged", first.allocated, first.charged)
				}
				switch err := first.err; {
				case m[1] == "fine" && err != nil, m[1] == "budget" && !errors.Is(err, hookpoints.ErrBudget):
					t.Errorf("got %s", first.text)
				case m[2] != "":
					pattern, _ := strconv.Unquote(m[2])
					if !errors.Is(err, hookpoints.ErrHookFailed) || !regexp.MustCompile(pattern).MatchString(err.Error()) {
						t.Errorf("got %s", first.text)
					}
				}
			})
		}
	}
}

// outcome is what became of an attack.
type outcome struct {
	err       error
	text      string // the error, the decisions and what was used, while loading and in the call
	charged   int64  // bytes
	allocated int64
}

// attack loads a chunk in a fresh state. If it defines a hook, the hook decides on a payload, which
// must be what it was afterwards; if it has a function attack, that is called, and what it returns is
// converted as respond does.
func attack(ctx context.Context, t *testing.T, c chunk) outcome {
	call := callOn(t, decisionPayload, mustParse(t, `{"limit": 10, "names": ["a", "b"]}`))
	src, modules := sources(c)
	var out outcome
	before := allocated()
	loads := newRun(ctx, attackLimits)
	l := newLoading(testEnvironment(), src, modules, attackLimits)
	loads.loading = l
	globals, err := loads.loadMain(src)
	use := loads.usage()
	_, compiled := l.source.Used()
	out.charged = use.Bytes + compiled
	out.text = fmt.Sprintf("loading %+v", use)
	fn, _ := globals["attack"].(*starlark.Function)
	switch {
	case err != nil:
	case len(l.defs) > 0:
		var list []hookpoints.Decision
		list, use, err = l.defs[0].Hook.Decide(ctx, call)
		out.charged += use.Bytes
		out.text += fmt.Sprintf(" call %+v", use)
		for _, d := range list {
			out.text += fmt.Sprintf(" %v %q %v", d.Verb, d.Text, d.Value)
		}
	case fn != nil:
		r := newRun(ctx, attackLimits)
		var v starlark.Value
		if v, err = r.invoke(fn, nil); err == nil {
			if _, err = r.tree(v, hookpoints.MaxResultDepth); err != nil {
				err = r.fault(err, fn.Position())
			}
		}
		out.charged += r.usage().Bytes
		out.text += fmt.Sprintf(" call %+v", r.usage())
	}
	out.allocated = allocated() - before
	out.err = err
	out.text = fmt.Sprintf("%v %s", err, out.text)
	if got := call.Payload.String(); got != mustParse(t, decisionPayload).String() {
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

// sources expands what a chunk repeats, defines its function run as a hook, and finds its modules.
func sources(c chunk) (interp.Source, interp.Module) {
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
	main := text
	for i, s := range starts {
		end := len(text)
		if i == 0 {
			main = text[:s[0]]
		}
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		modules[text[s[2]:s[3]]] = text[s[1]:end]
	}
	if strings.Contains(main, "\ndef run(") && !strings.Contains(main, "hook(") {
		main += "\nhook(id = \"h\", version = \"1\", run = run)\n"
	}
	return interp.Source{Name: c.file, Text: []byte(main)}, func(name string) (interp.Source, error) {
		text, ok := modules[name]
		if !ok {
			return interp.Source{}, errors.New("there is no such module in hooks/")
		}
		return interp.Source{Name: name, Text: []byte(text)}, nil
	}
}

// TestAHookAnswersWhileOthersAttack runs attacks beside a hook that means well: it must decide as it
// does alone.
func TestAHookAnswersWhileOthersAttack(t *testing.T) {
	hook := loadHook(t, `
def run(ctx, call):
    return annotate(n = len(sorted(call.arguments.keys())), t = str(call.arguments.deep))

hook(id = "h", version = "1", run = run)
`)
	decide := func() string {
		list, use, err := hook.Decide(t.Context(), callOn(t, decisionPayload, payload.NewObject()))
		return fmt.Sprintf("%+v %+v %v", list, use, err)
	}
	want := decide()
	ctx, cancel := context.WithTimeout(t.Context(), tooLong)
	defer cancel()
	attacked := make(chan bool, 1)
	go func() {
		defer func() { attacked <- true }()
		for _, c := range readChunks(t, "testdata/attacks/sharing.star") {
			attack(ctx, t, c)
		}
	}()
	for {
		if got := decide(); got != want {
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
