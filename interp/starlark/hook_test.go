package starlark

import (
	"context"
	"testing"

	"agentd/hookpoints"
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
