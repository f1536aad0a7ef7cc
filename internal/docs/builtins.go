package main

import (
	"fmt"
	"strings"

	"agentd/builtins"
	"agentd/hookpoints/payload"
)

// shared is the page about what scripts can call.
func shared() string {
	var b strings.Builder
	b.WriteString("# Builtins\n\n" + notice)
	fmt.Fprintf(&b, `What a hook can call beside its own language, alike in all of them. Each charges its worst case in fuel and bytes before it
works. This is version %d of the set, and that number is part of every revision. Arguments go one by one or by name: %[2]sf(a, limit = 2)%[2]s in
Starlark, %[2]sf(a, {limit = 2})%[2]s or %[2]sf{text = a, limit = 2}%[2]s in [Lua](lua.md), where null as a result is nil.

## Decisions

A decision is a value that a hook returns, alone or in a list. Only these make one. See [points](points.md) for what is taken where.

| decision | meaning |
|---|---|
`, builtins.Version, "`")
	for _, d := range builtins.Deciders() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", signature(d.Name, d.Params, d.Open), plain.Replace(d.Doc))
	}
	b.WriteString("\n## Functions\n\nThey take and return JSON values.\n")
	module := ""
	for _, f := range builtins.All() {
		if in, _, _ := strings.Cut(f.Name, "."); in != module {
			module = in
			fmt.Fprintf(&b, "\n### %s\n\n| function | what it does |\n|---|---|\n", module)
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", signature(f.Name, f.Params, false), plain.Replace(f.Doc))
	}
	return b.String()
}

// plain keeps a sentence from being read as marks.
var plain = strings.NewReplacer("|", "\\|", "*", "\\*", "_", "\\_", "<", "&lt;")

// signature writes a call: optional parameters are in brackets, kinds after a colon.
func signature(name string, params []builtins.Param, open bool) string {
	var parts []string
	for _, p := range params {
		s := p.Name
		if p.Kinds != 0 && p.Kinds != payload.Any {
			s += ": " + p.Kinds.String()
		}
		if p.Optional {
			s = "[" + s + "]"
		}
		parts = append(parts, s)
	}
	if open {
		parts = append(parts, "FIELD = VALUE ...")
	}
	return name + "(" + strings.Join(parts, ", ") + ")"
}
