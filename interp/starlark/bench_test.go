package starlark

import (
	"context"
	"strings"
	"testing"
	"time"

	bare "go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
)

const clampSource = `
def clamp(ctx, call):
    limit = call.arguments.get("limit")
    if limit == None or limit <= ctx.config.max_limit:
        return None
    return patch(arguments = call.arguments | {"limit": ctx.config.max_limit})

hook(id = "clamp-limit", version = "v1", run = clamp, point = "tool.before", default = {"max_limit": 100})
`

// bareSource says the same to the interpreter as it is, on dicts.
const bareSource = `
def clamp(ctx, call):
    limit = call["arguments"].get("limit")
    if limit == None or limit <= ctx["config"]["max_limit"]:
        return None
    return {"arguments": call["arguments"] | {"limit": ctx["config"]["max_limit"]}}
`

func clampPayload() string {
	return `{"name":"orders-search","tool_id":"orders-search","implementation_id":null,"parameters":{"type":"object","properties":{"limit":{"type":"integer"},"q":{"type":"string"}}},"arguments":{"q":"` +
		strings.Repeat("x", 780) + `","limit":5000}}`
}

// BenchmarkBare is a call of the same function, unmetered, on frozen dicts that exist already.
func BenchmarkBare(b *testing.B) {
	globals, err := bare.ExecFileOptions(&syntax.FileOptions{}, &bare.Thread{}, "bare.star", bareSource, nil)
	if err != nil {
		b.Fatal(err)
	}
	dictOf := func(kv ...any) *bare.Dict {
		d := bare.NewDict(len(kv) / 2)
		for i := 0; i < len(kv); i += 2 {
			if err := d.SetKey(bare.String(kv[i].(string)), kv[i+1].(bare.Value)); err != nil {
				b.Fatal(err)
			}
		}
		return d
	}
	call := dictOf("name", bare.String("orders-search"), "arguments", dictOf("q", bare.String(strings.Repeat("x", 780)), "limit", bare.MakeInt(5000)))
	ctx := dictOf("config", dictOf("max_limit", bare.MakeInt(100)))
	call.Freeze()
	ctx.Freeze()
	args := bare.Tuple{ctx, call}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := bare.Call(&bare.Thread{}, globals["clamp"], args, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkClamp is a whole decision on a payload whose tree the chain has parsed.
func BenchmarkClamp(b *testing.B) {
	hook, call := clampHook(b)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if d, _, err := hook.Decide(ctx, call); err != nil || len(d) != 1 {
			b.Fatal(d, err)
		}
	}
}

func clampHook(tb testing.TB) (hookpoints.Hook, *hookpoints.Call) {
	defs, err := New().Load(context.Background(), interp.Source{Name: "limit.star", Text: []byte(clampSource)}, nil, meter.Default)
	if err != nil {
		tb.Fatal(err)
	}
	return defs[0].Hook, callOn(tb, clampPayload(), defs[0].Default)
}

// callOn is a call of tool.before on a payload.
func callOn(tb testing.TB, text string, config payload.Value) *hookpoints.Call {
	v, err := payload.ParseString(text)
	if err != nil {
		tb.Fatal(err)
	}
	scope, err := hookpoints.NewScope(mustParse(tb, `{"run_id":"r1","target":"orders-search","kind":"search","turn":3,"client":null}`))
	if err != nil {
		tb.Fatal(err)
	}
	return &hookpoints.Call{
		Point: hookpoints.Standard().Point("tool.before"), Binding: &hookpoints.Binding{BindingID: "project/h", Config: config},
		Payload: v, Facts: payload.NewObject(), Missing: payload.NewObject(), State: payload.NewObject(),
		Tracer: &traces{}, Around: &hookpoints.Around{Scope: scope, Now: time.Date(2026, 3, 4, 5, 6, 7, 89_000_000, time.UTC), Seed: "seed-1"},
	}
}

func mustParse(tb testing.TB, text string) payload.Value {
	v, err := payload.ParseString(text)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// traces keeps what was traced.
type traces struct{ lines []string }

func (t *traces) Trace(bindingID, kind, text string) {
	t.lines = append(t.lines, bindingID+" "+kind+" "+text)
}
