package client

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"agentd/hookpoints"
)

// Lacks says what a hook that is bound for named clients wants to say at a point and they can't be told.
// What it wants to say is what decisions its source names: one that is named and never returned is
// believed, one that is made in another module isn't seen.
func Lacks(clients []string, point, source string) (out []string) {
	for _, name := range clients {
		switch c := codecs[name]; {
		case points.Point(point) == nil:
		case c == nil:
			out = append(out, fmt.Sprintf("agentd speaks with no client %q", name))
		case len(firing(c, point)) == 0:
			out = append(out, fmt.Sprintf("%s has no event that fires %s", name, point))
		default:
			out = append(out, Unsaid(name, point, source)...)
		}
	}
	return out
}

// Fires reports whether a client has an event that fires a point.
func Fires(name, point string) bool {
	c := codecs[name]
	return c != nil && len(firing(c, point)) > 0
}

// Unsaid is Lacks for one client that is there and that the hook doesn't name: nothing is wrong with a point that it
// doesn't fire.
func Unsaid(name, point, source string) (out []string) {
	p, c := points.Point(point), codecs[name]
	if p == nil || c == nil {
		return nil
	}
	events := firing(c, point)
	for _, verb := range []hookpoints.Verb{hookpoints.Patch, hookpoints.Edit, hookpoints.Reject, hookpoints.Context, hookpoints.Stop, hookpoints.Proceed, hookpoints.Respond, hookpoints.Allow, hookpoints.Deny, hookpoints.Ask} {
		if len(events) > 0 && p.Allows.Has(verb) && mentions(source, verb.String()) {
			out = append(out, lacking(c, name, point, verb, source, events)...)
		}
	}
	return out
}

// firing are the events that fire a point. Whether a tool may run is also asked before it.
func firing(c Codec, point string) (events []string) {
	for _, k := range c.Events() {
		if k.Point == point || point == "tool.confirm" && k.Point == "tool.before" {
			events = append(events, k.Name)
		}
	}
	return events
}

// lacking are the rows of a verb, once for all events that say the same.
func lacking(c Codec, name, point string, verb hookpoints.Verb, source string, events []string) (out []string) {
	row := verb
	switch verb {
	case hookpoints.Edit:
		row = hookpoints.Patch
	case hookpoints.Deny:
		row = hookpoints.Reject
	}
	type told struct {
		field, why string
		instead    Instead
	}
	at := map[told][]string{}
	var order []told
	for _, d := range c.Downgrades() {
		if d.Dialect != "" || d.Verb != row || !slices.Contains(events, d.Event) || d.Field != "" && !assigns(source, d.Field) {
			continue
		}
		t := told{d.Field, d.Why, d.Instead}
		if at[t] == nil {
			order = append(order, t)
		}
		at[t] = append(at[t], d.Event)
	}
	for _, t := range order {
		what := verb.String()
		if t.field != "" {
			what += " of " + t.field
		}
		where := "at " + strings.Join(at[t], ", ")
		if len(at[t]) == len(events) {
			where = "at " + point
		} else if t.instead == AsNothing { // another event of the same point says it
			continue
		}
		out = append(out, fmt.Sprintf("%s can't be told %s %s, instead %s: %s", name, what, where, t.instead, t.why))
	}
	return out
}

// mentions reports whether a source calls a decision by its name, in Starlark or in Lua.
func mentions(source, name string) bool {
	return regexp.MustCompile(`(^|[^\w.:])` + regexp.QuoteMeta(name) + `\s*[({"'\[]`).MatchString(source)
}

// assigns reports whether a source names a field as something it gives a value.
func assigns(source, name string) bool {
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b\s*=`).MatchString(source)
}
