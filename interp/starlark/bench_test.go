package starlark

import (
	"context"
	"strings"
	"testing"

	bare "go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/interp"
	"agentd/interp/interptest"
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
	return defs[0].Hook, interptest.Call(tb, clampPayload(), defs[0].Default)
}
