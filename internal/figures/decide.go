package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	bare "go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
	"agentd/interp/starlark"
)

const clamp = `
def clamp(ctx, call):
    limit = call.arguments.get("limit")
    if limit == None or limit <= ctx.config.max_limit:
        return None
    return patch(arguments = call.arguments | {"limit": ctx.config.max_limit})

hook(id = "clamp-limit", version = "v1", run = clamp, point = "tool.before", targets = ["orders-search"], default = {"max_limit": 100})
`

// same is clamp on plain dicts.
const same = `
def clamp(ctx, call):
    limit = call["arguments"].get("limit")
    if limit == None or limit <= ctx["config"]["max_limit"]:
        return None
    return {"arguments": call["arguments"] | {"limit": ctx["config"]["max_limit"]}}
`

type mono struct{ start time.Time }

func (m mono) Nanos() int64 { return int64(time.Since(m.start)) }

// callText is a tool.before payload of about size bytes.
func callText(size int) string {
	return `{"name":"orders-search","tool_id":"orders-search","implementation_id":null,"parameters":{"type":"object","properties":{"limit":{"type":"integer"},"q":{"type":"string"}}},"arguments":{"q":"` +
		strings.Repeat("x", max(0, size-240)) + `","limit":5000}}`
}

// table is the clamp among others that don't match.
func table(others int) (*hookpoints.Table, error) {
	defs, err := starlark.New().Load(context.Background(), interp.Source{Name: "limit.star", Text: []byte(clamp)}, nil, meter.Default)
	if err != nil {
		return nil, err
	}
	d := defs[0]
	bind := func(id string, targets []string) *hookpoints.Binding {
		return &hookpoints.Binding{BindingID: id, HookID: d.HookID, Version: d.Version, Point: "tool.before", Priority: d.Priority, Targets: targets,
			Config: d.Default, Timeout: d.Timeout, FailurePolicy: d.FailurePolicy, StateCell: id, Hook: d.Hook}
	}
	list := []*hookpoints.Binding{bind("project/clamp-limit", d.Targets)}
	for i := range others {
		list = append(list, bind(fmt.Sprintf("project/other-%d", i), []string{fmt.Sprintf("tool-%d", i)}))
	}
	return hookpoints.NewTable(hookpoints.Standard(), mono{time.Now()}, list), nil
}

func decisions(ctx context.Context, _ string) ([]row, error) {
	one, err := table(0)
	if err != nil {
		return nil, err
	}
	many, err := table(10_000)
	if err != nil {
		return nil, err
	}
	in, scope, err := call(callText(1 << 10))
	if err != nil {
		return nil, err
	}
	plain, err := bareCall()
	if err != nil {
		return nil, err
	}
	t := interleaved(plain, decide(ctx, one, in, scope), decide(ctx, many, in, scope))
	cold := coldPlan(many, scope)
	return []row{
		{"a decision, 1 KB, record and checks", "bare starlark.Call (" + micros(t[0]) + ")", ratio(t[1], t[0]) + " (" + micros(t[1]) + ")", "at most 4"},
		{"the same among 10,000 bindings", "among none", ratio(t[2], t[1]), "at most 1.1"},
		{"planning that for the first time", "", micros(cold), "at most 50µs"},
	}, nil
}

func call(text string) (payload.Value, hookpoints.Scope, error) {
	in, err := payload.ParseString(text)
	if err != nil {
		return in, hookpoints.Scope{}, err
	}
	target, err := payload.ParseString(`{"target":"orders-search","purpose":"action","instance_id":"main"}`)
	if err != nil {
		return in, hookpoints.Scope{}, err
	}
	if err := hookpoints.Standard().Point("tool.before").Check(in); err != nil {
		return in, hookpoints.Scope{}, err
	}
	scope, err := hookpoints.NewScope(target)
	return in, scope, err
}

// smallAndBig are a call of 1 KB and one of a megabyte.
func smallAndBig() (small, big payload.Value, scope hookpoints.Scope, err error) {
	if small, scope, err = call(callText(1 << 10)); err != nil {
		return small, big, scope, err
	}
	items := strings.Repeat(`{"a":"`+strings.Repeat("y", 100)+`","b":[1,2,3]},`, 8000)
	big, _, err = call(`{"name":"orders-search","tool_id":"orders-search","implementation_id":null,"parameters":{},"arguments":{"rows":[` + items + `0],"limit":5000}}`)
	return small, big, scope, err
}

func decide(ctx context.Context, t *hookpoints.Table, in payload.Value, scope hookpoints.Scope) func(b *testing.B) {
	around := &hookpoints.Around{Scope: scope, Now: time.Unix(0, 0), Seed: "figures"}
	return func(b *testing.B) {
		for b.Loop() {
			c := t.Chain("tool.before", scope)
			res, err := c.Run(ctx, hookpoints.Ordinary, hookpoints.Request{Payload: in, Around: around})
			if err == nil {
				_, err = c.Run(ctx, hookpoints.Guards, hookpoints.Request{Payload: res.Payload, Around: around})
			}
			if err != nil || len(res.Records) != 1 || res.Records[0].Decision != "patch" {
				b.Fatalf("%v %+v", err, res.Records)
			}
		}
	}
}

// bareCall is starlark.Call of the same function, unmetered, on frozen dicts that exist already.
func bareCall() (func(b *testing.B), error) {
	g, err := bare.ExecFileOptions(&syntax.FileOptions{}, &bare.Thread{}, "same.star", same, nil)
	if err != nil {
		return nil, err
	}
	dict := func(kv ...any) *bare.Dict {
		d := bare.NewDict(len(kv) / 2)
		for i := 0; i < len(kv); i += 2 {
			if err := d.SetKey(bare.String(kv[i].(string)), kv[i+1].(bare.Value)); err != nil {
				panic(err) // a string key can't fail
			}
		}
		return d
	}
	in := dict("name", bare.String("orders-search"), "arguments", dict("q", bare.String(strings.Repeat("x", 784)), "limit", bare.MakeInt(5000)))
	ctx := dict("config", dict("max_limit", bare.MakeInt(100)))
	in.Freeze()
	ctx.Freeze()
	args := bare.Tuple{ctx, in}
	return func(b *testing.B) {
		for b.Loop() {
			if _, err := bare.Call(&bare.Thread{}, g["clamp"], args, nil); err != nil {
				b.Fatal(err)
			}
		}
	}, nil
}

// coldPlan is the median time of a first plan.
func coldPlan(t *hookpoints.Table, scope hookpoints.Scope) float64 {
	r := testing.Benchmark(func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			s := scope
			s.Key.Client = fmt.Sprint(i) // no plan is remembered for it
			t.Chain("tool.before", s)
		}
	})
	return float64(r.T.Nanoseconds()) / float64(r.N)
}

// large: a payload of a megabyte costs what is read of it.
func large(ctx context.Context, _ string) ([]row, error) {
	t, err := table(0)
	if err != nil {
		return nil, err
	}
	small, big, scope, err := smallAndBig()
	if err != nil {
		return nil, err
	}
	got := interleaved(decide(ctx, t, small, scope), decide(ctx, t, big, scope))
	return []row{{fmt.Sprintf("two fields of %.1f MB, the host holding the tree", float64(big.Size())/(1<<20)), "of 1 KB", ratio(got[1], got[0]), "at most 1.5"}}, nil
}
