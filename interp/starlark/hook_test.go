package starlark

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
	"agentd/interp/interptest"
)

func TestClampPatchesTheLimitAndLeavesTheRestAsItCame(t *testing.T) {
	hook, call := clampHook(t)
	got, use, err := hook.Decide(context.Background(), call)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Verb != hookpoints.Patch || len(got[0].Fields) != 1 || got[0].Fields[0].Name != "arguments" {
		t.Fatalf("decisions: %+v", got)
	}
	args := got[0].Fields[0].Value
	if limit, _ := args.Get("limit").Int64(); limit != 100 {
		t.Errorf("limit: %v", args)
	}
	if args.Get("q") != call.Payload.Get("arguments").Get("q") {
		t.Error("q is another node")
	}
	if use.Fuel == 0 || use.Bytes == 0 {
		t.Errorf("usage: %+v", use)
	}
}

func TestTwoFieldsOfAMegabyteDoNotIndexTheMegabyte(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"name":"x","messages":[`)
	for i := range 9000 {
		fmt.Fprintf(&b, `{"role":"user","content":"%s","n":%d},`, strings.Repeat("y", 80), i)
	}
	b.WriteString(`{}],"arguments":{"limit":5000,"q":"z"}}`)
	if b.Len() < 1<<20 {
		t.Fatalf("the payload has only %d bytes", b.Len())
	}
	var nodes payload.Counter
	v, err := payload.ParseCounted([]byte(b.String()), &nodes)
	if err != nil {
		t.Fatal(err)
	}
	hook, call := clampHook(t)
	call.Payload = v
	got, use, err := hook.Decide(context.Background(), call)
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	if n := nodes.Nodes(); n >= 50 {
		t.Errorf("%d nodes were indexed", n)
	}
	if use.Fuel > 500 {
		t.Errorf("it used %d fuel", use.Fuel)
	}
}

func TestPrintAndBacktracesGoToTheAuthorOnly(t *testing.T) {
	hook := loadHook(t, `
def inner(x):
    print("about to", x, sep = "-")
    return {"a": 1}[x]

def run(ctx, call):
    print(call.arguments)
    return [inner(k) for k in sorted(["b"], key = lambda k: k)]

hook(id = "h", version = "1", run = run)
`)
	call := interptest.Call(t, interptest.Payload, payload.NewObject())
	_, _, err := hook.Decide(context.Background(), call)
	want := []string{
		`project/h print {"n": 1.5, "big": 123456789012345678901234567890, "e": 1E400, "deep": [1, 2]}`,
		`project/h print about to-b`,
		`project/h error h.star:4: key "b" not in dict
Traceback (most recent call last):
  h.star:8:18: in run
  h.star:4:20: in inner`,
	}
	if diff := cmp.Diff(want, call.Tracer.(*interptest.Traces).Lines); diff != "" {
		t.Error(diff)
	}
	var e *interp.Error
	if !errors.As(err, &e) || e.File != "h.star" || e.Line != 4 {
		t.Errorf("the error is %v", err)
	}
}

func TestBacktracesRunThroughCallbacks(t *testing.T) {
	hook := loadHook(t, `
def run(ctx, call):
    return sorted([2, 1], key = lambda x: fail("in", x))

hook(id = "h", version = "1", run = run)
`)
	call := interptest.Call(t, `{}`, payload.NewObject())
	_, _, err := hook.Decide(context.Background(), call)
	var e *interp.Error
	if !errors.As(err, &e) || e.Message != "fail: in 2" || !strings.Contains(e.Backtrace, "in run\n") || !strings.Contains(e.Backtrace, "in lambda\n") {
		t.Errorf("%+v", e)
	}
}

func TestPrintIsCut(t *testing.T) {
	hook := loadHook(t, `
def run(ctx, call):
    for i in range(1000):
        print("x" * 1000)

hook(id = "h", version = "1", run = run)
`)
	call := interptest.Call(t, `{}`, payload.NewObject())
	if _, _, err := hook.Decide(context.Background(), call); err != nil {
		t.Fatal(err)
	}
	total := 0
	lines := call.Tracer.(*interptest.Traces).Lines
	for _, l := range lines {
		total += len(l)
	}
	if total < interp.MaxPrinted || total > interp.MaxPrinted+len(lines)*20+20 || !strings.HasSuffix(lines[len(lines)-1], "[cut]") {
		t.Errorf("%d bytes in %d lines, the last one %q", total, len(lines), lines[len(lines)-1])
	}
}

func TestFactKeysDependOnThePayload(t *testing.T) {
	hook := loadHook(t, `
def facts(ctx, call):
    if call.get("none"):
        return None
    return ["git.head", "file:" + call.path] if "path" in call else [1]

hook(id = "h", version = "1", run = lambda ctx, call: None, facts = facts)
`)
	asker, ok := hook.(hookpoints.FactAsker)
	if !ok {
		t.Fatal("it asks for no facts")
	}
	for text, want := range map[string]string{`{"path":"a"}`: "[git.head file:a] <nil>", `{"none":1}`: "[] <nil>", `{}`: "[] h.star:2: facts: the result: item 0 is int, want string"} {
		keys, use, err := asker.FactKeys(context.Background(), interptest.Call(t, text, payload.NewObject()))
		if got := fmt.Sprint(keys, " ", err); got != want || use.Fuel == 0 {
			t.Errorf("%s: got %s after %d fuel, want %s", text, got, use.Fuel, want)
		}
	}
	if _, asks := loadHook(t, `hook(id = "h", version = "1", run = lambda ctx, call: None, facts = ["git.head"])`).(hookpoints.FactAsker); asks {
		t.Error("a list of facts is asked for")
	}
}

func TestFactsAndDecisionShareOneBudget(t *testing.T) {
	hook := loadHook(t, `
def spend(ctx, call):
    return [str(i)[:0] + "f" for i in range(call.n)][:1]

hook(id = "h", version = "1", run = lambda ctx, call: annotate(a = len(spend(ctx, call))), facts = spend)
`)
	for n, want := range map[int]error{20_000: nil, 30_000: hookpoints.ErrBudget} {
		call := interptest.Call(t, fmt.Sprintf(`{"n":%d}`, n), payload.NewObject())
		_, use, err := hook.(hookpoints.FactAsker).FactKeys(context.Background(), call)
		if err != nil {
			t.Fatal(err)
		}
		call.Spent = use
		_, more, err := hook.Decide(context.Background(), call)
		if !errors.Is(err, want) || use.Fuel+more.Fuel > meter.Default.Fuel || use.Bytes+more.Bytes > meter.Default.Bytes {
			t.Errorf("%d: got %v after %+v and %+v, want %v", n, err, use, more, want)
		}
	}
}

const loops = `
def run(ctx, call):
    for i in range(1000000000):
        pass

hook(id = "h", version = "1", run = run)
`

func TestASpentBudgetIsItsOwnError(t *testing.T) {
	call := interptest.Call(t, `{}`, payload.NewObject())
	_, use, err := loadHook(t, loops).Decide(context.Background(), call)
	if !errors.Is(err, hookpoints.ErrBudget) || errors.Is(err, hookpoints.ErrHookFailed) || use.Fuel != meter.Default.Fuel {
		t.Errorf("got %v after %+v", err, use)
	}
	if want := "project/h error h.star:3: the budget of 1000000 fuel and 67108864 bytes is spent"; !strings.HasPrefix(call.Tracer.(*interptest.Traces).Lines[0], want) {
		t.Errorf("trace: %q", call.Tracer.(*interptest.Traces).Lines)
	}
}

func TestTheWallClockIsItsOwnErrorAndIsLookedAtEveryFewThousandSteps(t *testing.T) {
	_, use, err := loadHook(t, loops).Decide(interptest.EndsAfter(context.Background(), 3), interptest.Call(t, `{}`, payload.NewObject()))
	if !errors.Is(err, hookpoints.ErrHostTimeout) || errors.Is(err, hookpoints.ErrBudget) {
		t.Errorf("got %v", err)
	}
	if use.Fuel < 4*polling || use.Fuel > 5*polling {
		t.Errorf("it was stopped after %d fuel", use.Fuel)
	}
	// A short hook never looks.
	hook, call := clampHook(t)
	if _, _, err := hook.Decide(interptest.EndsAfter(context.Background(), 0), call); err != nil {
		t.Errorf("a short hook: %v", err)
	}
}

func TestCallsShareNothing(t *testing.T) {
	hook := loadHook(t, `
seen = []
def run(ctx, call, kept = []):
    if call.get("write") == "global":
        seen.append(1)
    if call.get("write") == "default":
        kept.append(1)
    return annotate(n = len(seen) + len(kept))

hook(id = "h", version = "1", run = run)
`)
	for _, which := range []string{"global", "default"} {
		_, _, err := hook.Decide(context.Background(), interptest.Call(t, `{"write":"`+which+`"}`, payload.NewObject()))
		if err == nil || !strings.Contains(err.Error(), "cannot append to frozen list") {
			t.Errorf("%s: %v", which, err)
		}
	}
	got, _, err := hook.Decide(context.Background(), interptest.Call(t, `{}`, payload.NewObject()))
	if err != nil || got[0].Fields[0].Value.Text() != "0" {
		t.Errorf("%v %v", got, err)
	}
}

func TestOneHookRunsInManyGoroutinesOnOneTree(t *testing.T) {
	hook := loadHook(t, `
load("//lib/b.star", "b_list")
table = {str(i): i for i in range(20)}
view = json.decode('{"a": [1, {"b": 2}]}')
members = set(["a", "b"])
def run(ctx, call):
    total = 0
    for k in call.arguments.deep:
        total += table[str(k)] + view.a[1].b + len(b_list) + len(members | set([k]))
    print(total)
    return patch(arguments = call.arguments | {"deep": [x for x in table]}), annotate(total = total)

hook(id = "h", version = "1", run = run)
`)
	v := interptest.Parse(t, interptest.Payload)
	var wg sync.WaitGroup
	results := make([]string, 8)
	for i := range results {
		call := interptest.Call(t, `{}`, payload.NewObject())
		call.Payload = v
		wg.Go(func() {
			for range 50 {
				got, use, err := hook.Decide(context.Background(), call)
				results[i] = fmt.Sprint(shown(got), use, err)
			}
		})
	}
	wg.Wait()
	for _, r := range results {
		if r != results[0] || !strings.Contains(r, `"total":15`) {
			t.Errorf("got %s, the first got %s", r, results[0])
		}
	}
}

// TestFuelDependsOnTheTextOfAPayloadOnly: whether a tree was parsed or built, indexed or not, a hook
// uses the same.
func TestFuelDependsOnTheTextOfAPayloadOnly(t *testing.T) {
	hook := loadHook(t, `
def walk(v, depth):
    return str(v) + repr([v]) + json.encode(v)

def run(ctx, call):
    total = 0
    for k, v in call.items():
        total += len(walk(v, 0)) + len(k)
    same = call.a == call.b or call.long in [call.long] or call.long == call.escaped
    first, second = call.b
    w = call | {"x": call.long, "y": call.a}
    return patch(all = w, part = call.b[1:], text = call.long + call.escaped, n = total, same = same, d = dict(call.a))

hook(id = "h", version = "1", run = run)
`)
	text := `{"a":{"k":[1,2.5,"x"],"l":{}},"b":["y",{"z":null}],"long":"` + strings.Repeat("long ", 400) + `","escaped":"` + strings.Repeat(`\"\u0007\n`, 100) + `"}`
	parsed := interptest.Parse(t, text)
	indexed := interptest.Parse(t, text)
	for _, kid := range indexed.Members() {
		for _, grandkid := range kid.Members() {
			_ = grandkid.Len()
		}
	}
	trees := map[string]payload.Value{"parsed": parsed, "indexed": indexed, "built": rebuilt(parsed)}
	if rebuilt(parsed).String() != text {
		t.Fatalf("rebuilding changed the text: %s", rebuilt(parsed))
	}
	want := ""
	for name, v := range trees {
		call := interptest.Call(t, `{}`, payload.NewObject())
		call.Payload = v
		got, use, err := hook.Decide(context.Background(), call)
		if err != nil {
			t.Fatal(err)
		}
		outcome := fmt.Sprint(use, shown(got))
		if want == "" {
			want = outcome
		}
		if outcome != want {
			t.Errorf("%s: %s\nwant %s", name, outcome, want)
		}
	}
}

// rebuilt makes the same tree from nodes that nobody parsed.
func rebuilt(v payload.Value) payload.Value {
	switch v.Kind() {
	case payload.Object:
		var fields []payload.Field
		for k, kid := range v.Members() {
			fields = append(fields, payload.Field{Name: k, Value: rebuilt(kid)})
		}
		return payload.NewObject(fields...)
	case payload.Array:
		var items []payload.Value
		for kid := range v.Items() {
			items = append(items, rebuilt(kid))
		}
		return payload.NewArray(items)
	case payload.String:
		return payload.NewString(v.Text())
	case payload.Number:
		return payload.NewNumber(v.Text())
	}
	return v
}

func TestNoAddressesInText(t *testing.T) {
	hook := loadHook(t, `
def run(ctx, call):
    f = lambda: 1
    return annotate(text = str([f, run, len, "".join, {}.get, call.get, json, json.decode, ctx, reject("a"), range(3), "a".elems(), b"a".elems(), "a".codepoints()]))

hook(id = "h", version = "1", run = run)
`)
	got, _, err := hook.Decide(context.Background(), interptest.Call(t, `{}`, payload.NewObject()))
	if err != nil {
		t.Fatal(err)
	}
	want := `[<function lambda>, <function run>, <built-in function len>, <built-in method join of string value>, <built-in method get of dict value>, <built-in method get of dict value>, <module "json">, <built-in function json.decode>, <ctx>, <decision reject>, range(3), "a".elems(), b"a".elems(), "a".codepoints()]`
	if text := got[0].Fields[0].Value.Text(); text != want {
		t.Error(cmp.Diff(want, text))
	}
}
