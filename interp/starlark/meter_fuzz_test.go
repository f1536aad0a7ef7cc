package starlark

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
	"agentd/interp/interptest"
)

// FuzzMeter makes random programs that try to take more than they are charged for, and runs each twice
// under ordinary limits. Each must end with decisions or one of the errors that there are, in the same
// way after the same fuel and bytes, and may neither work nor allocate beyond what that fuel and those
// bytes stand for. How long it worked is asserted while fuzzing only: tests don't depend on the machine. One
// that hangs is what the fuzzing process ends with, after ten seconds.
func FuzzMeter(f *testing.F) {
	for seed := range uint64(80) {
		f.Add(seed)
	}
	payloads := hostilePayloads(f)
	fuzzing := flag.Lookup("test.fuzz").Value.String() != ""
	f.Fuzz(func(t *testing.T, seed uint64) { underMeter(t, seed, payloads, fuzzing) })
}

// underMeter makes the program of a seed and checks it; timed says whether its time counts.
func underMeter(t *testing.T, seed uint64, payloads []payload.Value, timed bool) {
	g := &hostile{Rand: rand.New(rand.NewPCG(seed, 3))}
	text := g.program()
	v := payloads[g.IntN(len(payloads))]
	limits := interptest.AttackLimits
	switch g.IntN(10) {
	case 0:
		limits = meter.Default
	case 1, 2, 3:
		limits = meter.Limits{Fuel: 5000, Bytes: 1 << 20}
	}
	first := ends(t, text, v, limits)
	least := first
	for range 6 { // the second may tell, the others are for a machine that was busy
		again := ends(t, text, v, limits)
		if first.outcome != again.outcome {
			t.Fatalf("it ended in two ways:\n%s\n%s\n%s", first.outcome, again.outcome, text)
		}
		least.took, least.allocated = min(least.took, again.took), min(least.allocated, again.allocated)
		if least.took <= least.mayTake() && least.allocated <= least.mayAllocate(text) {
			return
		}
	}
	if most := least.mayAllocate(text); least.allocated > most {
		t.Errorf("it allocated %d bytes, at most %d are for what it was charged: %s\n%s", least.allocated, most, first.outcome, text)
	}
	if most := least.mayTake(); timed && least.took > most {
		t.Errorf("it took %v, at most %v are for what it was charged: %s\n%s", least.took, most, first.outcome, text)
	}
}

// ended is what became of a program.
type ended struct {
	outcome   string // the error or the decisions, and what was used
	used      hookpoints.Usage
	allocated int64
	took      time.Duration
}

// What a unit of fuel and a byte may really come to.
const (
	fuelFactor   = 10
	fuelTime     = 16 * time.Nanosecond
	fuelSlack    = 100 * time.Millisecond
	bytesPerFuel = 96
)

func (e ended) mayTake() time.Duration {
	return fuelFactor*fuelTime*time.Duration(e.used.Fuel) + fuelSlack
}

func (e ended) mayAllocate(text string) int64 {
	return interptest.HeapFactor*e.used.Bytes + bytesPerFuel*e.used.Fuel + interptest.HeapFactor*SourceCost([]byte(text)).Bytes + interptest.HeapSlack + interptest.RaceSlack
}

// ends loads a file with one hook, lets it decide, and checks what has to hold however it ends.
func ends(t *testing.T, text string, v payload.Value, limits meter.Limits) ended {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ctx, cancel := context.WithTimeout(t.Context(), interptest.TooLong)
	defer cancel()
	call := interptest.Call(t, "{}", payload.NewObject())
	call.Payload = v
	before, start, size := interptest.Allocated(), cpuTime(), v.Size()

	src := interp.Source{Name: "f.star", Text: []byte(text)}
	loads := newRun(ctx, limits)
	l := newLoading(testEnvironment(), src, nil, limits)
	loads.loading = l
	_, err := loads.loadMain(src)
	used := loads.usage()
	var list []hookpoints.Decision
	if err == nil {
		var more hookpoints.Usage
		list, more, err = l.Defs[0].Hook.Decide(ctx, call)
		used.Fuel, used.Bytes = used.Fuel+more.Fuel, used.Bytes+more.Bytes
	}
	out := ended{used: used, took: cpuTime() - start, allocated: interptest.Allocated() - before}
	out.outcome = fmt.Sprintf("%+v %v %.10000s", used, err, shown(list))

	var e *interp.Error
	switch {
	case err == nil:
	case !errors.As(err, &e), !errors.Is(err, hookpoints.ErrBudget) && !errors.Is(err, hookpoints.ErrHookFailed),
		strings.Contains(e.Message, "the interpreter failed"), len(e.Message) > interp.MaxMessage+16, !utf8.ValidString(e.Message):
		t.Fatalf("it ends with %v\n%s", err, text)
	}
	var decided interp.Decided
	for _, d := range list {
		if decided.Add(d) != nil || d.Value.Depth(hookpoints.MaxResultDepth) > hookpoints.MaxResultDepth {
			t.Fatalf("what it decides is too large or too deep\n%s", text)
		}
	}
	if v.Size() != size {
		t.Fatalf("the payload changed\n%s", text)
	}
	return out
}

// hostilePayloads are small and large, wide and deep.
func hostilePayloads(t testing.TB) []payload.Value {
	var out []payload.Value
	for _, n := range []int{1, 100, 10_000, 100_000} {
		wide := ""
		for i := range n / 100 {
			wide += fmt.Sprintf(`"k%d": {"t": %d}, `, i, i)
		}
		ints := strings.TrimSuffix(strings.Repeat("7, ", n), ", ")
		long := strings.Repeat("long \\u00e9 ", n)
		nest := 1 + min(n, 180)
		text := fmt.Sprintf(`{"o": {%s"t": "%s", "n": [%s], "f": 2.5, "l": {"t": "%s"}}, "n": [%s], "long": ["%s", "%s"], "deep": {"o": {"o": {"o": {"o": %s"%s"%s}}}}, "huge": 1e400, "e": "%s"}`,
			wide, long, ints, long, ints, long, long, strings.Repeat("[", nest), long, strings.Repeat("]", nest), strings.Repeat("9", 390))
		out = append(out, interptest.Parse(t, text))
	}
	return out
}
