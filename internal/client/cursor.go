package client

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// cursor is Cursor. Facts about it: an answer is one flat object, and no opinion is an empty one, as a
// hook that is registered as failClosed must not be silent; ask counts before a command and an MCP tool
// only; a changed input counts at preToolUse only; context goes to the model after a tool and when a
// session starts; nothing can end its loop but refusing a prompt. It runs Claude Code's hook files too.
type cursor struct{}

var cursorEvents = within(0, Constructed,
	Known{Name: "sessionStart", Point: "session.start"},
	Known{Name: "sessionEnd", Point: "session.end"},
	Known{Name: "beforeSubmitPrompt", Point: "turn.before"},
	Known{Name: "preToolUse", Point: "tool.before"},
	Known{Name: "postToolUse", Point: "tool.after"},
	Known{Name: "postToolUseFailure", Point: "tool.after"},
	Known{Name: "subagentStart", Point: "subagent.before"},
	Known{Name: "subagentStop", Point: "subagent.after"},
	Known{Name: "beforeShellExecution", Point: "tool.before"},
	Known{Name: "afterShellExecution", Point: "tool.after"},
	Known{Name: "beforeMCPExecution", Point: "tool.before"},
	Known{Name: "afterMCPExecution", Point: "tool.after"},
	Known{Name: "beforeReadFile", Point: "tool.before"},
	Known{Name: "afterFileEdit", Point: "file.write.after"},
	Known{Name: "preCompact", Point: "context.compact.before"},
	Known{Name: "stop", Point: "turn.after", Proceeds: 5},
	Known{Name: "afterAgentResponse", Point: "model.chat.after"},
	Known{Name: "afterAgentThought", Point: "model.chat.after"},
	Known{Name: "beforeTabFileRead", Point: "tool.before"},
	Known{Name: "afterTabFileEdit", Point: "file.write.after"},
	Known{Name: "workspaceOpen", Point: "client.event"},
)

// Events implements Codec.
func (cursor) Events() []Known { return cursorEvents }

// Downgrades implements Codec.
func (cursor) Downgrades() []Downgrade { return cursorDowngrades }

var (
	cursorGates  = []string{"preToolUse", "beforeShellExecution", "beforeMCPExecution", "beforeReadFile", "beforeTabFileRead"}
	cursorAfters = []string{"postToolUse", "postToolUseFailure", "afterShellExecution", "afterMCPExecution"}
	cursorMute   = []string{"postToolUseFailure", "afterShellExecution", "afterMCPExecution"} // they take no answer
)

var cursorDowngrades = slices.Concat(
	rows(hookpoints.Ask, "", AsDeny, "its ask isn't enforced here; a command and an MCP tool wait for the event after, where that has been seen to come", "preToolUse"),
	rows(hookpoints.Ask, "", AsDeny, "its ask isn't enforced here", "beforeReadFile", "beforeTabFileRead"),
	rows(hookpoints.Stop, "", AsDeny, "its loop can't be ended here", cursorGates...),
	rows(hookpoints.Respond, "", AsDeny, "it can't be given a result in the tool's place", cursorGates...),
	rows(hookpoints.Context, "", AsLater, "it takes no context before a tool", cursorGates...),
	rows(hookpoints.Patch, "arguments", AsDeny, "an input can only be changed at preToolUse", "beforeShellExecution", "beforeMCPExecution", "beforeReadFile", "beforeTabFileRead"),
	[]Downgrade{{Event: "postToolUse", Verb: hookpoints.Patch, Field: "value", Except: "mcp", Instead: AsContext, Why: "only an MCP tool's result can be replaced"},
		{Event: "postToolUse", Verb: hookpoints.Reject, Except: "mcp", Instead: AsContext, Why: "only an MCP tool's result can be withheld; the model is told that a hook refused it"}},
	rows(hookpoints.Stop, "", AsContext, "its loop can't be ended here; the model is told", "postToolUse"),
	rows(hookpoints.Stop, "", AsNothing, "it takes no answer here", cursorMute...),
	rows(hookpoints.Reject, "", AsNothing, "it takes no answer here", cursorMute...),
	rows(hookpoints.Patch, "value", AsNothing, "it takes no answer here", cursorMute...),
	rows(hookpoints.Context, "", AsLater, "it takes no answer here", cursorMute...),
	rows(hookpoints.Patch, "annotations", AsNothing, "annotations are for the record", append(slices.Clone(cursorAfters), "subagentStop", "afterAgentResponse", "afterAgentThought")...),
	rows(hookpoints.Context, "", AsLater, "it takes no context with a prompt", "beforeSubmitPrompt"),
	rows(hookpoints.Context, "", AsLater, "it takes no context at the end of a turn", "stop"),
	rows(hookpoints.Stop, "", AsNothing, "the turn is over already", "stop"),
	rows(hookpoints.Reject, "", AsNothing, "it is over already", "subagentStop"),
	rows(hookpoints.Reject, "", AsNothing, "the turn is over already", "stop"),
	rows(hookpoints.Reject, "", AsNote, "nothing can keep it from compacting", "preCompact"),
	rows(hookpoints.Reject, "", AsNothing, "nothing can keep a session from beginning", "sessionStart"),
	rows(hookpoints.Reject, "", AsNothing, "nothing can keep a session from ending", "sessionEnd"),
	rows(hookpoints.Reject, "", AsNothing, "what was said can't be taken back", "afterAgentResponse", "afterAgentThought"),
	rows(hookpoints.Patch, "content", AsNothing, "what was said can't be changed", "afterAgentResponse", "afterAgentThought"),
	rows(hookpoints.Stop, "", AsNothing, "its loop can't be ended here", "afterAgentResponse", "afterAgentThought"),
	never("it has happened already", AsNothing, "afterFileEdit", "afterTabFileEdit"),
	never("it takes no decision here", AsNothing, "workspaceOpen"),
)

// Decode implements Codec.
func (c cursor) Decode(m Message, event string) (Event, error) {
	v := m.Value
	e := Event{Name: spoken(v, "hook_event_name"), SessionID: spoken(v, "conversation_id"), Version: spoken(v, "cursor_version"), Cwd: folder(v),
		CallID: spoken(v, "tool_use_id"), Turn: spoken(v, "generation_id")}
	if e.SessionID == "" {
		e.SessionID = spoken(v, "session_id")
	}
	if e.Name == "" {
		if e.Name = event; event == "" {
			return e, errors.New("it has no hook_event_name")
		}
	}
	switch e.Name {
	case "preToolUse", "postToolUse", "postToolUseFailure":
		return c.tool(v, e, spoken(v, "tool_name"), found(v, "tool_input"))
	case "beforeMCPExecution", "afterMCPExecution":
		name := spoken(v, "tool_name")
		if name != "" {
			name = "MCP:" + strings.TrimPrefix(name, "MCP:")
		}
		return c.tool(v, e, name, found(v, "tool_input"))
	case "beforeShellExecution", "afterShellExecution":
		return c.tool(v, e, "Shell", whole(field("command", given(v, "command"))))
	case "beforeReadFile", "beforeTabFileRead":
		return c.tool(v, e, "Read", whole(field("file_path", given(v, "file_path"))))
	case "afterFileEdit", "afterTabFileEdit":
		e.Tool, e.Kind = "Write", "edit"
		e.Fires("file.write.after", field("path", given(v, "file_path")), field("kind", text("patch")), field("created", payload.NewBool(false)))
	case "sessionStart":
		e.Fires("session.start", field("source", text("startup")), field("cwd", folderField(&e)))
	case "sessionEnd":
		e.Ends = true
		e.Fires("session.end", field("reason", given(v, "reason")))
	case "beforeSubmitPrompt":
		e.Fires("turn.before", field("prompt", given(v, "prompt")))
	case "stop":
		loops := found(v, "loop_count")
		e.Continues = loops.Kind() == payload.Number && loops.Text() != "0"
		if e.Turn != "" && loops.Exists() { // each of a turn's ends has a number of its own
			e.Key = v.Digest()
		}
		if spoken(v, "status") == "aborted" { // its person stopped it
			e.Cannot = hookpoints.SetOf(hookpoints.Proceed)
		}
		e.Fires("turn.after")
	case "subagentStart":
		e.Target = spoken(v, "subagent_type")
		e.Agent, e.CallID = spoken(v, "subagent_id"), spoken(v, "tool_call_id")
		e.Fires("subagent.before", field("task", given(v, "task")))
	case "subagentStop":
		e.Target = spoken(v, "subagent_type")
		e.Status = cursorStatus(spoken(v, "status"))
		e.Fires("subagent.after", field("output", given(v, "summary")), field("status", text(e.Status)))
	case "preCompact":
		e.Forgets = true // nothing tells when it is done
		e.Fires("context.compact.before")
	case "afterAgentResponse":
		e.Target = spoken(v, "model")
		e.Fires("model.chat.after", field("role", text("assistant")), field("content", given(v, "text")))
	case "afterAgentThought":
		e.Target = spoken(v, "model")
		e.Fires("model.chat.after", field("role", text("assistant")), field("content", payload.NewNull()), field("reasoning_content", given(v, "text")))
	}
	return e, nil
}

// cursorStatus is how something ended.
func cursorStatus(word string) string {
	switch word {
	case "error", "failed":
		return "failed"
	case "aborted", "cancelled":
		return "cancelled"
	}
	return "succeeded"
}

// whole is an input of one field, absent if that is. Before and after events have to say the same.
func whole(f payload.Field) payload.Value {
	if !f.Value.Exists() {
		return payload.Value{}
	}
	return payload.NewObject(f)
}

func (cursor) tool(v payload.Value, e Event, tool string, input payload.Value) (Event, error) {
	input, err := unwrapped(input)
	if err != nil || tool == "" || input.Kind() != payload.Object {
		if err == nil {
			err = errors.New("what would run isn't known")
		}
		return e, fmt.Errorf("%s has no tool or no input object: %w", e.Name, err)
	}
	e.uses(tool)
	e.Input = input
	switch {
	case e.Name != "preToolUse":
		e.Second = e.Name != "postToolUse" && e.Name != "postToolUseFailure" && tool != "Read"
	case tool == "Shell":
		e.Asks = "beforeShellExecution"
	case e.Kind == "mcp":
		e.Asks = "beforeMCPExecution"
	}
	switch e.Name {
	case "postToolUse":
		out, err := unwrapped(found(v, "tool_output"))
		if err != nil { // a text that only looks like JSON
			out = found(v, "tool_output")
		}
		e.ToolAfter(out)
	case "afterMCPExecution":
		out, err := unwrapped(found(v, "result_json"))
		if err != nil {
			out = found(v, "result_json")
		}
		e.ToolAfter(out)
	case "afterShellExecution":
		e.ToolAfter(given(v, "output"))
	case "postToolUseFailure":
		e.Status = "failed"
		if found(v, "is_interrupt").IsTrue() {
			e.Status = "cancelled"
		}
		e.ToolAfter(given(v, "error_message"))
	default:
		e.ToolBefore()
	}
	return e, nil
}

// Encode implements Codec.
func (cursor) Encode(e Event, v Verdict) Answer {
	var out []payload.Field
	say := func(name string, value payload.Value) { out = append(out, field(name, value)) }
	permit := func(word, reason string) {
		say("permission", text(word))
		if reason != "" {
			say("user_message", text(reason))
			if e.Name != "subagentStart" && e.Name != "beforeReadFile" && e.Name != "beforeTabFileRead" && word != "allow" {
				say("agent_message", text(reason))
			}
		}
	}
	deny := func(reason string) {
		switch e.Name {
		case "beforeSubmitPrompt":
			say("continue", payload.NewBool(false))
			say("user_message", text(reason))
		case "postToolUse":
			if e.Kind == "mcp" {
				value, _ := shaped(e.Payload.Get("value"), text(reason), e.Kind)
				say("updated_mcp_tool_output", value)
			} else {
				say("additional_context", text(reason))
			}
		case "preCompact":
			say("user_message", text(reason))
		default:
			permit("deny", reason)
			if e.unnamed() { // it may be a prompt
				say("continue", payload.NewBool(false))
			}
		}
	}
	reason := withContext(v.Reason, v.Texts())
	switch v.Kind {
	default: // Deny, and what nobody has heard of
		deny(reason)
	case Stop:
		deny(reason)
	case Respond:
		deny(withContext("a hook answered instead: "+plain(v.Value), v.Texts()))
	case Ask:
		if e.Name == "beforeShellExecution" || e.Name == "beforeMCPExecution" {
			permit("ask", v.Reason)
		} else {
			deny(reason)
		}
	case Proceed:
		if e.Name == "stop" || e.Name == "subagentStop" {
			say("followup_message", text(v.Text))
		}
	case Allow, NoOpinion:
		in, value := v.Patched("arguments"), v.Patched("value")
		if v.Kind == Allow && e.Point == "tool.before" {
			say("permission", text("allow"))
		}
		if in.Exists() && e.Name == "preToolUse" {
			say("updated_input", in)
		}
		if value.Exists() && e.Name == "postToolUse" && e.Kind == "mcp" {
			value, _ = shaped(e.Payload.Get("value"), value, e.Kind)
			say("updated_mcp_tool_output", value)
		}
		if len(v.Context) > 0 && (e.Name == "postToolUse" || e.Name == "sessionStart") {
			say("additional_context", text(joined(v)))
		}
	}
	if v.Note != "" && e.Name == "preCompact" && v.Kind == NoOpinion {
		say("user_message", text(v.Note))
	}
	return Answer{Stdout: append(payload.NewObject(out...).JSON(), '\n')}
}
