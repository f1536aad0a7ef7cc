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

// goose is Goose. Facts about it: two events decide, PreToolUse and Stop, and all they can say is block;
// the reason of an exit code 2 is what stands on standard error, so a block goes out as JSON with code 0;
// anything else on standard output is a failed hook.
type goose struct{}

var gooseEvents = within(30*time.Second, Constructed,
	Known{Name: "SessionStart", Point: "session.start"},
	Known{Name: "UserPromptSubmit", Point: "turn.before"},
	Known{Name: "PreToolUse", Point: "tool.before"},
	Known{Name: "PreToolUseResult", Point: "client.event"},
	Known{Name: "PostToolUse", Point: "tool.after"},
	Known{Name: "PostToolUseFailure", Point: "tool.after"},
	Known{Name: "BeforeReadFile", Point: "client.event"},
	Known{Name: "AfterFileEdit", Point: "file.write.after"},
	Known{Name: "BeforeShellExecution", Point: "client.event"},
	Known{Name: "AfterShellExecution", Point: "client.event"},
	Known{Name: "Stop", Point: "turn.after"},
	Known{Name: "SessionEnd", Point: "session.end"},
)

// Events implements Codec.
func (goose) Events() []Known { return gooseEvents }

// Downgrades implements Codec.
func (goose) Downgrades() []Downgrade { return gooseDowngrades }

// gooseHears are the events of which it reads no decision.
var gooseHears = []string{"SessionStart", "UserPromptSubmit", "PreToolUseResult", "PostToolUse", "PostToolUseFailure", "BeforeReadFile", "AfterFileEdit",
	"BeforeShellExecution", "AfterShellExecution", "SessionEnd"}

var gooseDowngrades = slices.Concat(
	rows(hookpoints.Ask, "", AsDeny, "it knows no ask", "PreToolUse"),
	rows(hookpoints.Allow, "", AsNothing, "silence is its allow, and skips nothing", "PreToolUse"),
	rows(hookpoints.Stop, "", AsDeny, "no hook ends its loop", "PreToolUse"),
	rows(hookpoints.Respond, "", AsDeny, "it can't be given a result in the tool's place", "PreToolUse"),
	rows(hookpoints.Patch, "arguments", AsDeny, "it takes no changed input", "PreToolUse"),
	rows(hookpoints.Context, "", AsLater, "it takes no context", "PreToolUse", "SessionStart", "UserPromptSubmit", "PreToolUseResult", "PostToolUse", "PostToolUseFailure",
		"BeforeReadFile", "AfterFileEdit", "BeforeShellExecution", "AfterShellExecution", "Stop"),
	rows(hookpoints.Reject, "", AsNothing, "it reads no decision here", gooseHears...),
	rows(hookpoints.Stop, "", AsNothing, "it reads no decision here", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure"),
	rows(hookpoints.Patch, "", AsNothing, "it reads no decision here", "PostToolUse", "PostToolUseFailure"),
	rows(hookpoints.Stop, "", AsNothing, "the turn is over already", "Stop"),
)

// Decode implements Codec.
func (g goose) Decode(m Message, event string) (Event, error) {
	v := m.Value
	e := Event{Name: said(v, "event", "hook_event_name"), SessionID: spoken(v, "session_id"), Cwd: said(v, "working_dir", "cwd"), CallID: spoken(v, "tool_call_id")}
	if e.Name == "" {
		if e.Name = event; event == "" {
			return e, errors.New("it has no event")
		}
	}
	switch e.Name {
	case "PreToolUse", "PostToolUse", "PostToolUseFailure":
		return g.tool(v, e)
	case "SessionStart":
		e.Fires("session.start", field("source", text("startup")), field("cwd", folderField(&e)))
	case "SessionEnd":
		e.Ends = true
		e.Fires("session.end")
	case "UserPromptSubmit":
		e.Fires("turn.before", field("prompt", given(v, "message")))
	case "AfterFileEdit":
		e.uses(spoken(v, "tool_name"))
		path := given(v, "matcher_context")
		e.Fires("file.write.after", field("path", path), field("kind", text("patch")), field("created", payload.NewBool(false)))
	case "Stop":
		e.Fires("turn.after", field("response", given(v, "last_assistant_message")))
	}
	return e, nil
}

func (goose) tool(v payload.Value, e Event) (Event, error) {
	tool := spoken(v, "tool_name")
	input := payload.NewObject() // a tool without arguments is called without any
	var err error
	if given := found(v, "tool_input"); given.Exists() && given.Kind() != payload.Null {
		input, err = arguments(v, snake("tool_input")...)
	}
	if err != nil || tool == "" {
		if err == nil {
			err = errors.New("it is empty")
		}
		return e, fmt.Errorf("%s has no tool_name or a tool_input that is no object: %w", e.Name, err)
	}
	e.uses(tool)
	if server, name, ok := strings.Cut(tool, "__"); ok && e.Kind == "other" && server != "" && name != "" { // EXTENSION__TOOL
		e.Kind, e.ToolID = "mcp", "mcp:"+server+":"+name
	}
	e.Input = input
	switch e.Name {
	case "PreToolUse":
		e.ToolBefore()
	case "PostToolUse":
		e.ToolAfter(found(v, "tool_output"))
	default:
		e.Status = "failed"
		value := found(v, "tool_output")
		if !value.Exists() {
			value = given(v, "message")
		}
		e.ToolAfter(value)
	}
	return e, nil
}

// Encode implements Codec.
func (goose) Encode(e Event, v Verdict) Answer {
	reason := ""
	switch v.Kind {
	case NoOpinion, Allow:
		if in := v.Patched("arguments"); in.Exists() {
			reason = "a hook wants arguments to be " + plain(in)
		}
	case Proceed: // the reason is the next prompt
		reason = v.Text
	case Respond:
		reason = withContext("a hook answered instead: "+plain(v.Value), v.Texts())
	default:
		if reason = withContext(v.Reason, v.Texts()); reason == "" {
			reason = "a hook refused this"
		}
	}
	if reason == "" || slices.Contains(gooseHears, e.Name) {
		return Answer{}
	}
	return Answer{Stdout: append(payload.NewObject(field("decision", text("block")), field("reason", text(reason))).JSON(), '\n')}
}
