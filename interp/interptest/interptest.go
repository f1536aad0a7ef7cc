// Package interptest is what the tests of every language share: files of chunks that say how they fail,
// attacks and how they must end, and a call for hooks to decide on. Only tests import it.
package interptest

import (
	"context"
	"testing"
	"time"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// Payload is what hooks of tests see where nothing else is said: numbers that a float can't hold among it.
const Payload = `{"name":"orders-search","arguments":{"n":1.50,"big":123456789012345678901234567890,"e":1E400,"deep":[ 1,  2 ]}}`

// Call is a call of tool.before on a payload. Its tracer is a *Traces.
func Call(tb testing.TB, text string, config payload.Value) *hookpoints.Call {
	tb.Helper()
	scope, err := hookpoints.NewScope(Parse(tb, `{"run_id":"r1","target":"orders-search","kind":"search","turn":3,"client":null}`))
	if err != nil {
		tb.Fatal(err)
	}
	return &hookpoints.Call{
		Point: hookpoints.Standard().Point("tool.before"), Binding: &hookpoints.Binding{BindingID: "project/h", Config: config},
		Payload: Parse(tb, text), Facts: payload.NewObject(), Missing: payload.NewObject(), State: payload.NewObject(),
		Tracer: &Traces{}, Around: &hookpoints.Around{Scope: scope, Now: time.Date(2026, 3, 4, 5, 6, 7, 89_000_000, time.UTC), Seed: "seed-1"},
	}
}

// Parse is the tree of a text that is JSON.
func Parse(tb testing.TB, text string) payload.Value {
	tb.Helper()
	v, err := payload.ParseString(text)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// Traces keeps what an author sees, a line a trace: the binding, the kind and the text.
type Traces struct{ Lines []string }

// Trace implements hookpoints.Tracer.
func (t *Traces) Trace(bindingID, kind, text string) {
	t.Lines = append(t.Lines, bindingID+" "+kind+" "+text)
}

// EndsAfter is a context that is over once it was asked so many times.
func EndsAfter(ctx context.Context, times int) context.Context { return &endsAfter{ctx, times} }

type endsAfter struct {
	context.Context
	left int
}

func (c *endsAfter) Err() error {
	if c.left--; c.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}
