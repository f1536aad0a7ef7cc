package agentd_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	"agentd"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/revision"
)

// wall is the clocks of a host: here they stand still, so that the examples print the same every day.
type wall struct{}

func (wall) Now() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) }
func (wall) Nanos() int64   { return 0 }

// A script becomes a layer, a layer serves, and a call of a tool is decided. Nothing is saved.
func Example() {
	const script = `
def clamp(ctx, call):
    limit = call.arguments.get("limit")
    if limit == None or limit <= ctx.config.max_limit:
        return None
    return patch(arguments = call.arguments | {"limit": ctx.config.max_limit})

hook(id = "clamp-limit", version = "v1", run = clamp, point = "tool.before",
     targets = ["orders-search"], default = {"max_limit": 100})
`
	ctx := context.Background()
	rt, err := agentd.Open(agentd.Options{Clock: wall{}, Monotonic: wall{}})
	if err != nil {
		log.Fatal(err)
	}
	layer, err := rt.Build(ctx, hookpoints.Project, []revision.File{{Path: "hooks/limit.star", Text: []byte(script)}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	generation, err := rt.Serve(ctx, []*revision.Layer{layer}) // refuses a layer with faults
	if err != nil {
		log.Fatal(err)
	}
	call, err := payload.ParseString(`{"name":"search","tool_id":"orders-search","implementation_id":null,"parameters":{},"arguments":{"query":"open","limit":5000}}`)
	if err != nil {
		log.Fatal(err)
	}
	res, err := rt.Decide(ctx, generation, agentd.DecideRequest{Point: "tool.before", Payload: call})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Outcome, res.Payload.Get("arguments"))
	for _, d := range res.Decisions {
		fmt.Println(d.BindingID, d.Decision, d.Fields)
	}
	// Output:
	// continue {"query":"open","limit":100}
	// project/clamp-limit patch [arguments]
}

// A host may write hooks in Go. Here one is a guard: whatever scripts do, it has the last look.
func ExampleGoHook() {
	noRemove := func(_ context.Context, c *hookpoints.Call) ([]hookpoints.Decision, error) {
		if strings.HasPrefix(c.Payload.Get("arguments").Get("command").Text(), "rm ") {
			return []hookpoints.Decision{{Verb: hookpoints.Reject, Text: "nothing is removed here", Name: "no_rm"}}, nil
		}
		return nil, nil
	}
	ctx := context.Background()
	rt, err := agentd.Open(agentd.Options{Clock: wall{}, Monotonic: wall{}, Hooks: []agentd.GoHook{
		{ID: "no-rm", Version: "v1", Points: []string{"tool.before"}, Guard: true, ReplaySafe: true, Run: noRemove},
	}})
	if err != nil {
		log.Fatal(err)
	}
	layer, err := rt.Build(ctx, hookpoints.Shipped, nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	generation, err := rt.Serve(ctx, []*revision.Layer{layer})
	if err != nil {
		log.Fatal(err)
	}
	call := rt.Points().Point("tool.before").Example
	for _, command := range []string{"ls", "rm -r build"} {
		arguments := payload.NewObject(payload.Field{Name: "command", Value: payload.NewString(command)})
		res, err := rt.Decide(ctx, generation, agentd.DecideRequest{Point: "tool.before", Payload: call.With(payload.Field{Name: "arguments", Value: arguments})})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: %s %q\n", command, res.Outcome, res.Reason)
	}
	// Output:
	// ls: continue ""
	// rm -r build: rejected "nothing is removed here"
}

// What is wrong with a layer is told before anything of it runs: where, what, and what would be right.
func ExampleRuntime_Build_faults() {
	rt, err := agentd.Open(agentd.Options{Clock: wall{}, Monotonic: wall{}})
	if err != nil {
		log.Fatal(err)
	}
	layer, err := rt.Build(context.Background(), hookpoints.Project, []revision.File{
		{Path: "agentd.yaml", Text: []byte("hooks:\n  - {binding_id: limit, point: tool.befor}\n")},
		{Path: "hooks/limit.star", Text: []byte(`hook(id = "limit", version = "v1", run = lambda ctx, call: None)`)},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(layer.Err())
	// Output:
	// agentd.yaml:2: project/limit: there is no point "tool.befor"; see agentd points
}
