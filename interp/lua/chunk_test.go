package lua

import (
	"context"
	"os"
	"testing"

	"agentd/builtins/meter"
	"agentd/interp"
	"agentd/interp/interptest"
)

var (
	testdata   = os.DirFS("testdata")
	modulesOf  = interptest.ModulesIn(os.DirFS("testdata/modules"))
	testEngine = New()
)

// execute loads a text with what test files have, and hook.
func execute(src interp.Source, limits meter.Limits) (*run, error) {
	r := newRun(context.Background(), limits)
	r.loading = newLoading(testEngine, testEngine.tests(), src, modulesOf, limits)
	_, err := r.loadMain(src)
	return r, err
}

// TestScripts runs the chunks of testdata/*.lua as files that are loaded, and, where a chunk defines a
// hook called "call", that hook.
func TestScripts(t *testing.T) {
	interptest.EachChunk(t, testdata, "*.lua", func(t *testing.T, c interptest.Chunk) {
		r, err := execute(c.Source(), meter.Default)
		if err == nil {
			for _, d := range r.loading.Defs {
				if d.HookID == "call" {
					_, _, err = d.Hook.Decide(context.Background(), callOf(t, scriptPayload))
				}
			}
		}
		c.Check(t, err)
	})
}

// scriptPayload is what the hooks of chunks see.
const scriptPayload = `{"name":"shell","arguments":{"limit":5000,"q":"x","items":[1,"two",null,true,{"k":[]}],"get":"mine",
 "big":123456789012345678901234567890,"long":0.1234567890123456789,"huge":1e400,"exact":9007199254740992,"over":9007199254740993,"e":1.50e1,"none":null},"empty":{},"list":[]}`
