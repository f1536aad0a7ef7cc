package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"agentd/hookpoints"
	"agentd/hookpoints/contract"
	"agentd/hookpoints/payload"
)

// points is the page about the catalogue.
func points() string {
	var b strings.Builder
	b.WriteString("# Points\n\n" + notice)
	b.WriteString(`A point is a named joint of an agent's life. Hooks that are bound there see its payload and return decisions.
Beside the decisions that a point lists, a hook may always return ` + "`annotate`" + ` and ` + "`remember`" + `, or nothing. A guard returns
nothing or, of ` + "`reject`, `stop`, `deny` and `ask`" + `, what its point has. At a point for observation only observation hooks can be bound.

Payloads are closed: a field that isn't listed is refused. A patch replaces whole fields, and only writable ones. Where a
point has a target, a binding can name ` + "`targets`" + `.

The sixteen points of the set ` + "`" + hookpoints.BaseSet + "`" + ` never change; their hash is published. Those of ` + "`" + hookpoints.AddedSet + "`" + ` are agentd's own.

| point | phase | when it fires | decisions |
|---|---|---|---|
`)
	all := hookpoints.Standard().All()
	for _, p := range all {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s | %s |\n", p.Name, anchor(p.Name), p.Phase, p.Fires, decisions(p, "observation"))
	}
	b.WriteString("\n## The hash of the base set\n\nSHA-256 over the sixteen points in their order as JSON with sorted keys, without spaces, in ASCII.\n\n| contract | SHA-256 |\n|---|---|\n")
	for _, version := range []int{1, 2} {
		sum, err := hookpoints.BaseVector(version)
		if err != nil {
			panic(err) // the versions are the two that there are
		}
		fmt.Fprintf(&b, "| %d | `%s` |\n", version, sum)
	}
	for _, p := range all {
		b.WriteString("\n" + section(p))
	}
	return b.String()
}

func anchor(name string) string { return strings.ReplaceAll(name, ".", "") }

func section(p *hookpoints.Point) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n%s\n\n", p.Name, p.Fires)
	fmt.Fprintf(&b, "Phase %s, set `%s`. Decisions: %s.", p.Phase, p.Set, decisions(p, "none, for observation"))
	if !p.HasTarget {
		b.WriteString(" It has no target.")
	}
	b.WriteString("\n\n| field | is | required | writable |\n|---|---|---|---|\n")
	for _, f := range p.Contract.Fields() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Name, describe(&f.Type), yes(f.Required), yes(p.CanWrite(f.Name)))
	}
	fmt.Fprintf(&b, "\n```json\n%s\n```\n", indented(p.Example))
	return b.String()
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}

// codes lists names as code, or says what stands for none.
func codes(names []string, none string) string {
	if len(names) == 0 {
		return none
	}
	return "`" + strings.Join(names, "`, `") + "`"
}

func indented(v payload.Value) string {
	var b bytes.Buffer
	if err := json.Indent(&b, v.JSON(), "", "  "); err != nil {
		panic(err) // an example is JSON
	}
	return b.String()
}

// describe says in words what a type takes.
func describe(t *contract.Type) string {
	var parts []string
	for kind := payload.Object; kind >= payload.Null; kind >>= 1 {
		if t.Kinds&kind == 0 {
			continue
		}
		parts = append(parts, describeKind(t, kind))
	}
	if len(parts) == 0 {
		return "any JSON"
	}
	return strings.Join(parts, " or ")
}

func describeKind(t *contract.Type, kind payload.Kind) string {
	switch {
	case kind == payload.String && t.Const != "":
		return "`" + t.Const + "`"
	case kind == payload.String && t.Enum != nil:
		return "one of " + codes(t.Enum, "")
	case kind == payload.String && t.MinLength > 0:
		return "string that isn't empty"
	case kind == payload.Number:
		return number(t)
	case kind == payload.Array && t.Items != nil:
		list := "list of " + describe(t.Items)
		if t.MinItems > 0 {
			list += ", not empty"
		}
		return list
	case kind == payload.Array:
		return "list"
	case kind == payload.Object && t.Closed:
		var members []string
		for i := range t.Members {
			members = append(members, "`"+t.Members[i].Name+"` ("+describe(&t.Members[i].Type)+")")
		}
		return "object of " + strings.Join(members, ", ")
	case kind == payload.Object && t.Required != nil:
		return "object with " + codes(t.Required, "")
	}
	return kind.String()
}

func number(t *contract.Type) string {
	out := "number"
	if t.Integer {
		out = "integer"
	}
	write := func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
	switch {
	case t.HasMin && t.ExclusiveMin:
		out += " above " + write(t.Min)
	case t.HasMin:
		out += " from " + write(t.Min)
	}
	if t.HasMax {
		out += " to " + write(t.Max)
	}
	return out
}

// decisions are those of a point, none if it has none of its own.
func decisions(p *hookpoints.Point, none string) string {
	if p.Observation && p.Allows != 0 {
		return "for observation, " + codes(p.Allows.Names(), "")
	}
	return codes(p.Allows.Names(), none)
}
