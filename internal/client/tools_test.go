package client

import (
	"fmt"
	"strings"
	"testing"

	"agentd/builtins"
	"agentd/builtins/meter"
	"agentd/hookpoints/payload"
)

// TestCallsOfAllClientsAreRead: what the tool module says of every call that a client was seen to make.
func TestCallsOfAllClientsAreRead(t *testing.T) {
	read := func(name string, call payload.Value) string {
		for _, f := range builtins.All() {
			if f.Name == name {
				got, err := f.Call(meter.New(new(uint64), meter.Default), []payload.Value{call})
				if err != nil {
					t.Fatal(err)
				}
				return got.String()
			}
		}
		t.Fatalf("there is no builtin %s", name)
		return ""
	}
	calls := map[string]string{}
	captured(t, func(name, file string, _ Codec, e Event) {
		if e.Point == "tool.before" || e.Point == "tool.confirm" || e.Point == "tool.after" {
			calls[name+"/"+file] = fmt.Sprintf("commands: %s\npaths: %s\n", read("tool.commands", e.Payload), read("tool.paths", e.Payload))
		}
	})
	golden(t, "tools.txtar", func(t *testing.T, in map[string]string) string {
		defer delete(calls, in["capture"])
		return calls[in["capture"]]
	})
	for name, got := range calls {
		t.Errorf("no case for %s, of which is said: %s", name, strings.ReplaceAll(got, "\n", " "))
	}
}
