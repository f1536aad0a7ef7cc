package main

import (
	"context"
	"fmt"
	"testing"
	"time"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
	"agentd/interp/lua"
	"agentd/interp/starlark"
)

// policyStar and policyLua are one hook in both languages.
const (
	policyStar = `
NAMES = [".env", "id_rsa"]

def policy(ctx, call):
    command = call.arguments.get("command", "")
    if call.name == "shell" and "rm -rf /" in command:
        return reject("it removes everything", code = "destructive")
    for name in NAMES:
        if path.base(call.arguments.get("path", "")) == name:
            return reject(name + " stays closed", code = "guarded")
    limit = call.arguments.get("limit")
    if limit == None or limit <= ctx.config.max_limit:
        return None
    return patch(arguments = call.arguments | {"limit": ctx.config.max_limit})

hook(id = "policy", version = "v1", run = policy, default = {"max_limit": 100})
`
	policyLua = `
local names = {".env", "id_rsa"}

local function policy(ctx, call)
  local command = call.arguments.command or ""
  if call.name == "shell" and string.find(command, "rm -rf /", 1, true) then
    return reject("it removes everything", "destructive")
  end
  for _, name in ipairs(names) do
    if path.base(call.arguments.path or "") == name then
      return reject(name .. " stays closed", "guarded")
    end
  end
  local limit = call.arguments.limit
  if limit == nil or limit <= ctx.config.max_limit then
    return nil
  end
  return patch{arguments = merge(call.arguments, {limit = ctx.config.max_limit})}
end

hook{id = "policy", version = "v1", run = policy, default = {max_limit = 100}}
`
)

// languages compares the two languages, and what a call in Lua needs beside its work.
func languages(ctx context.Context, _ string) ([]row, error) {
	star, err := policyHook(ctx, starlark.New(), "policy.star", policyStar)
	if err != nil {
		return nil, err
	}
	pooled, err := policyHook(ctx, lua.New(), "policy.lua", policyLua)
	if err != nil {
		return nil, err
	}
	fresh, err := policyHook(ctx, lua.NewUnpooled(), "policy.lua", policyLua)
	if err != nil {
		return nil, err
	}
	small, big, scope, err := smallAndBig()
	if err != nil {
		return nil, err
	}
	around := &hookpoints.Around{Scope: scope, Now: time.Unix(0, 0), Seed: "figures"}
	t := interleaved(policyCall(ctx, star, small, around), policyCall(ctx, pooled, small, around), policyCall(ctx, pooled, big, around), policyCall(ctx, fresh, small, around))
	return []row{
		{"a policy hook in Lua (" + micros(t[1]) + ")", "the same in Starlark (" + micros(t[0]) + ")", ratio(t[1], t[0]), "at most 2"},
		{fmt.Sprintf("it on %.1f MB", float64(big.Size())/(1<<20)), "on 1 KB", ratio(t[2], t[1]), "at most 1.5"},
		{"it in a state that was used before", "in a fresh one (" + micros(t[3]) + ")", ratio(t[1], t[3]), ""},
	}, nil
}

func policyHook(ctx context.Context, engine interp.Engine, name, text string) (interp.Definition, error) {
	defs, err := engine.Load(ctx, interp.Source{Name: name, Text: []byte(text)}, nil, meter.Default)
	if err != nil {
		return interp.Definition{}, err
	}
	return defs[0], nil
}

func policyCall(ctx context.Context, d interp.Definition, in payload.Value, around *hookpoints.Around) func(b *testing.B) {
	c := &hookpoints.Call{Point: hookpoints.Standard().Point("tool.before"), Payload: in, Around: around,
		Binding: &hookpoints.Binding{BindingID: "project/policy", HookID: "policy", Config: d.Default}}
	return func(b *testing.B) {
		for b.Loop() {
			got, _, err := d.Hook.Decide(ctx, c)
			if err != nil || len(got) != 1 || got[0].Verb != hookpoints.Patch {
				b.Fatalf("%v %v", got, err)
			}
		}
	}
}
