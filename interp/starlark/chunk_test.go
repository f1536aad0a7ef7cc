package starlark

import (
	"context"
	"os"
	"testing"

	"agentd/builtins/meter"
	"agentd/interp"
	"agentd/interp/interptest"
)

var (
	testdata  = os.DirFS("testdata")
	modulesOf = interptest.ModulesIn(os.DirFS("testdata/modules"))
)

// execute loads a text with what test files have, and hook.
func execute(src interp.Source, limits meter.Limits) (*run, error) {
	r := newRun(context.Background(), limits)
	r.loading = newLoading(testEnvironment(), src, modulesOf, limits)
	_, err := r.loadMain(src)
	return r, err
}

var testEnvironment = New().tests

func TestScripts(t *testing.T) {
	interptest.EachChunk(t, testdata, "*.star", func(t *testing.T, c interptest.Chunk) {
		_, err := execute(c.Source(), meter.Default)
		c.Check(t, err)
	})
}
