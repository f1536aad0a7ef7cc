package client

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// crush is Charm's Crush. It has one event, and an answer of its own: a flat object in which halt ends
// the turn and updated_input is merged into the old input, so a field can't be taken out.
type crush struct{}

var crushEvents = within(30*time.Second, Constructed, Known{Name: "PreToolUse", Point: "tool.before"})

// Events implements Codec.
func (crush) Events() []Known { return crushEvents }

// Downgrades implements Codec.
func (crush) Downgrades() []Downgrade { return crushDowngrades }

var crushDowngrades = slices.Concat(
	rows(hookpoints.Ask, "", AsDeny, "it knows no ask", "PreToolUse"),
	rows(hookpoints.Respond, "", AsDeny, "it can't be given a result in the tool's place", "PreToolUse"),
)

// Decode implements Codec.
func (crush) Decode(m Message, event string) (Event, error) {
	v := m.Value
	e := Event{Name: said(v, "event", "hook_event_name"), SessionID: spoken(v, "session_id"), Cwd: folder(v), CallID: said(v, "tool_call_id", "tool_use_id")}
	if e.Name == "" {
		if e.Name = event; event == "" {
			return e, errors.New("it has no event")
		}
	}
	if e.Name != "PreToolUse" {
		return e, nil
	}
	tool := spoken(v, "tool_name")
	input, err := arguments(v, snake("tool_input")...)
	if err != nil || tool == "" {
		if err == nil {
			err = errors.New("it is empty")
		}
		return e, fmt.Errorf("%s has no tool_name or no tool_input object: %w", e.Name, err)
	}
	e.uses(tool)
	if rest, ok := strings.CutPrefix(tool, "mcp_"); ok && e.Kind == "other" { // mcp_SERVER_TOOL
		if server, name, ok := strings.Cut(rest, "_"); ok && server != "" && name != "" {
			e.Kind, e.ToolID = "mcp", "mcp:"+server+":"+name
		}
	}
	e.Input = input
	e.ToolBefore()
	return e, nil
}

// Encode implements Codec.
func (crush) Encode(e Event, v Verdict) Answer {
	out := []payload.Field{field("version", payload.NewInt(1))}
	say := func(name string, value payload.Value) { out = append(out, field(name, value)) }
	deny := func(reason string) {
		say("decision", text("deny"))
		say("reason", text(reason))
	}
	reason := withContext(v.Reason, v.Texts())
	switch v.Kind {
	default: // Deny, Ask, and what nobody has heard of
		deny(reason)
	case Respond:
		deny(withContext("a hook answered instead: "+plain(v.Value), v.Texts()))
	case Stop:
		deny(reason)
		say("halt", payload.NewBool(true))
	case Allow, NoOpinion, Proceed:
		if in := v.Patched("arguments"); in.Exists() {
			for name := range e.Input.Members() {
				if !in.Get(name).Exists() {
					deny("a hook took " + name + " out of the arguments, and Crush only adds and changes; it wants them to be " + plain(in))
					return Answer{Stdout: append(payload.NewObject(out...).JSON(), '\n')}
				}
			}
			say("updated_input", in)
		}
		if v.Kind == Allow {
			say("decision", text("allow"))
			if v.Reason != "" {
				say("reason", text(v.Reason))
			}
		}
		if len(v.Context) > 0 {
			say("context", text(joined(v)))
		}
	}
	if len(out) == 1 {
		return Answer{}
	}
	return Answer{Stdout: append(payload.NewObject(out...).JSON(), '\n')}
}
