package client

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// copilot is GitHub's Copilot, as a command line and as an agent. It has two dialects, picked by how its
// configuration spells the event: preToolUse sends camelCase and doesn't say its name, PreToolUse sends
// snake_case with the tools' names of Claude Code. Visual Studio Code sends the second one, whichever of the
// two stands in the file, with keys in either spelling. Facts about it: a denial as JSON with
// exit code 0 is the one that all versions honour; a hook that is late lets the call through; context is
// taken after a tool, not before; no hook ends its run. The editor reads a decision about a tool under
// hookSpecificOutput only, ends its run where it is told not to continue, and shows the model every result.
type copilot struct{}

// Its dialects, where what they can be told differs.
const (
	copilotLine   = "command line"
	copilotEditor = "editor"
)

var copilotEvents = within(30*time.Second, Constructed,
	Known{Name: "sessionStart", Point: "session.start"},
	Known{Name: "sessionEnd", Point: "session.end"},
	Known{Name: "userPromptSubmitted", Point: "turn.before"},
	Known{Name: "userPromptTransformed", Point: "client.event"},
	Known{Name: "preToolUse", Point: "tool.before"},
	Known{Name: "permissionRequest", Point: "tool.confirm"},
	Known{Name: "postToolUse", Point: "tool.after"},
	Known{Name: "postToolUseFailure", Point: "tool.after"},
	Known{Name: "agentStop", Point: "turn.after", Proceeds: 8},
	Known{Name: "subagentStart", Point: "subagent.before"},
	Known{Name: "subagentStop", Point: "subagent.after"},
	Known{Name: "preCompact", Point: "context.compact.before"},
	Known{Name: "notification", Point: "notification"},
	Known{Name: "errorOccurred", Point: "client.event"},
)

// copilotNames are its events in the other dialect.
var copilotNames = map[string]string{"SessionStart": "sessionStart", "SessionEnd": "sessionEnd", "UserPromptSubmit": "userPromptSubmitted", "UserPromptSubmitted": "userPromptSubmitted",
	"UserPromptTransformed": "userPromptTransformed", "PreToolUse": "preToolUse", "PermissionRequest": "permissionRequest", "PostToolUse": "postToolUse",
	"PostToolUseFailure": "postToolUseFailure", "Stop": "agentStop", "AgentStop": "agentStop", "SubagentStart": "subagentStart", "SubagentStop": "subagentStop",
	"PreCompact": "preCompact", "Notification": "notification", "ErrorOccurred": "errorOccurred"}

// Events implements Codec.
func (copilot) Events() []Known { return copilotEvents }

// Downgrades implements Codec.
func (copilot) Downgrades() []Downgrade { return copilotDowngrades }

var copilotDowngrades = slices.Concat(
	rows(hookpoints.Stop, "", AsDeny, "no hook ends its run", "preToolUse", "userPromptSubmitted"),
	rows(hookpoints.Stop, "", AsContext, "no hook ends its run; the model is told", "postToolUseFailure"),
	[]Downgrade{
		{Event: "postToolUse", Dialect: copilotLine, Verb: hookpoints.Stop, Instead: AsContext, Why: "no hook ends its run; the model is told"},
		{Event: "postToolUse", Dialect: copilotEditor, Verb: hookpoints.Patch, Field: "value", Instead: AsContext, Why: "a result can't be replaced; the model is shown both"},
		{Event: "postToolUse", Dialect: copilotEditor, Verb: hookpoints.Reject, Instead: AsStop, Why: "a result can't be withheld, so the run ends before the model is asked again"},
	},
	rows(hookpoints.Stop, "", AsNothing, "the turn is over already", "agentStop"),
	rows(hookpoints.Respond, "", AsDeny, "it can't be given a result in the tool's place", "preToolUse"),
	rows(hookpoints.Context, "", AsLater, "it takes no context before a tool", "preToolUse"),
	rows(hookpoints.Context, "", AsLater, "what is said with a prompt is dropped", "userPromptSubmitted"),
	rows(hookpoints.Context, "", AsLater, "it takes no context at the end of a turn", "agentStop"),
	rows(hookpoints.Ask, "", AsNothing, "it is about to ask anyway", "permissionRequest"),
	rows(hookpoints.Patch, "arguments", AsDeny, "an input can't be changed where it asks", "permissionRequest"),
	rows(hookpoints.Patch, "annotations", AsNothing, "annotations are for the record", "postToolUse", "postToolUseFailure", "subagentStop"),
	rows(hookpoints.Patch, "value", AsContext, "an error's text can't be replaced", "postToolUseFailure"),
	rows(hookpoints.Reject, "", AsContext, "the tool failed already and its error can't be taken back; the model is told", "postToolUseFailure"),
	rows(hookpoints.Reject, "", AsNothing, "a refusal at the end of a subagent would send it on", "subagentStop"),
	rows(hookpoints.Reject, "", AsNothing, "nothing can keep a session from beginning", "sessionStart"),
	rows(hookpoints.Reject, "", AsNothing, "nothing can keep a session from ending", "sessionEnd"),
	rows(hookpoints.Reject, "", AsNothing, "a subagent can be refused as the tool that starts it, not here", "subagentStart"),
	rows(hookpoints.Reject, "", AsNothing, "nothing can keep it from compacting", "preCompact"),
	rows(hookpoints.Reject, "", AsNothing, "a notification can't be held back", "notification"),
	never("it takes no refusal here", AsNothing, "userPromptTransformed", "errorOccurred"),
)

// Decode implements Codec.
func (c copilot) Decode(m Message, event string) (Event, error) {
	v := m.Value
	e := Event{Name: spoken(v, "hook_event_name"), SessionID: spoken(v, "session_id"), Cwd: folder(v), Agent: spoken(v, "agent_id"), CallID: spoken(v, "tool_use_id")}
	if e.Name == "" {
		e.Name = event
	}
	if e.Name == "" {
		e.Name = copilotGuess(v)
	}
	if camel := copilotNames[e.Name]; camel != "" {
		e.Name = camel
	}
	e.Dialect = copilotLine
	if copilotPascal(v) != "" && !found(v, "tool_result").Exists() { // only a result tells
		e.Dialect = copilotEditor
	}
	if e.Name == "" {
		return e, errors.New("it doesn't say its event; register the hook with agentd hook copilot --event EVENT")
	}
	if v.Get("timestamp").Exists() { // to the millisecond, so the same text is the same event
		e.Key = v.Digest()
	}
	switch e.Name {
	case "preToolUse", "permissionRequest", "postToolUse", "postToolUseFailure":
		return c.tool(v, e)
	case "sessionStart":
		source := given(v, "source")
		switch source.Text() {
		case "startup", "resume":
		default: // new
			source = text("startup")
		}
		e.Fires("session.start", field("source", source), field("cwd", folderField(&e)))
	case "sessionEnd":
		e.Ends = true
		e.Fires("session.end", field("reason", given(v, "reason")))
	case "userPromptSubmitted":
		e.Fires("turn.before", field("prompt", given(v, "prompt")))
	case "agentStop":
		e.Continues = found(v, "stop_hook_active").IsTrue()
		e.Fires("turn.after", field("response", given(v, "last_assistant_message")))
	case "subagentStart":
		e.Target = cmp.Or(spoken(v, "agent_name"), spoken(v, "agent_type"))
		e.Fires("subagent.before")
	case "subagentStop":
		e.Target = cmp.Or(spoken(v, "agent_name"), spoken(v, "agent_type"))
		e.Status = "succeeded"
		e.Fires("subagent.after", field("output", given(v, "response")), field("status", text(e.Status)))
	case "preCompact":
		e.Forgets = true // nothing tells when it is done
		e.Fires("context.compact.before")
	case "notification":
		e.Fires("notification", field("kind", given(v, "notification_type")), field("message", given(v, "message")))
	}
	return e, nil
}

// copilotPascal is the event's name as the second dialect has it, "" in the first, where an event doesn't say its
// name; what does all the same counts its time in milliseconds.
func copilotPascal(v payload.Value) string {
	name := spoken(v, "hook_event_name")
	if copilotNames[name] == "" || v.Get("timestamp").Kind() == payload.Number {
		return ""
	}
	return name
}

// copilotBoth is copilotPascal for an answer. Of an event that couldn't be read nobody knows which dialect it
// was, so it is refused in both.
func copilotBoth(e Event) string {
	if e.Raw.Exists() {
		return copilotPascal(e.Raw)
	}
	for _, name := range []string{"PreToolUse", "PermissionRequest", "PostToolUse", "UserPromptSubmit", "Stop", "SubagentStart", "SubagentStop"} {
		if copilotNames[name] == e.Name {
			return name
		}
	}
	return ""
}

// copilotGuess is the event that an object must be of, where nobody says; "" if it could be several.
func copilotGuess(v payload.Value) string {
	there := func(name string) bool { f := found(v, name); return f.Exists() && f.Kind() != payload.Null }
	switch {
	case there("tool_result"):
		return "postToolUse"
	case found(v, "tool_args").Exists() && there("error"):
		return "postToolUseFailure"
	case found(v, "tool_args").Exists():
		return "preToolUse"
	case found(v, "tool_input").Exists():
		return "permissionRequest"
	}
	return ""
}

// copilotArgs are the names of a tool's input.
var copilotArgs = []string{"toolArgs", "tool_args", "tool_input", "toolInput"}

// copilotInput is a tool's input. That of apply_patch may be the patch itself, which then is its field input.
func copilotInput(v payload.Value, tool string) (payload.Value, error) {
	if patch, ok := copilotPatch(v, tool); ok {
		return payload.NewObject(field("input", patch)), nil
	}
	return arguments(v, copilotArgs...)
}

func copilotPatch(v payload.Value, tool string) (patch payload.Value, ok bool) {
	in, err := pick(v, copilotArgs...)
	return in, err == nil && tool == "apply_patch" && in.Kind() == payload.String && strings.HasPrefix(strings.TrimSpace(in.Text()), "*** Begin Patch")
}

func (copilot) tool(v payload.Value, e Event) (Event, error) {
	tool := spoken(v, "tool_name")
	input, err := copilotInput(v, tool)
	if err != nil || tool == "" {
		if err == nil {
			err = errors.New("it is empty")
		}
		return e, fmt.Errorf("%s has no toolName or no toolArgs object: %w", e.Name, err)
	}
	e.uses(tool)
	e.Input = input
	switch e.Name {
	case "preToolUse":
		e.ToolBefore()
	case "permissionRequest":
		e.Confirms()
	case "postToolUse":
		result := found(v, "tool_result")
		if word := spoken(result, "result_type"); word != "" && word != "success" {
			e.Status = "failed"
		}
		value := found(result, "text_result_for_llm") // what the model is shown
		if !value.Exists() {
			value = result
		}
		if !value.Exists() { // an editor's
			value = found(v, "tool_response")
		}
		e.ToolAfter(value)
	case "postToolUseFailure":
		e.Status = "failed"
		e.ToolAfter(given(v, "error"))
	}
	return e, nil
}

// Encode implements Codec. Editors read the other dialect's answers where Claude Code has them, so there
// they stand twice.
func (copilot) Encode(e Event, v Verdict) Answer {
	var out, specific []payload.Field
	pascal := copilotBoth(e)
	say := func(name string, value payload.Value) { out = append(out, field(name, value)) }
	too := func(name string, value payload.Value) { specific = append(specific, field(name, value)) }
	rewrite := func(in payload.Value) {
		if _, bare := copilotPatch(e.Raw, e.Tool); bare && in.Get("input").Exists() {
			in = in.Get("input")
		}
		say("modifiedArgs", in)
		too("updatedInput", in)
	}
	permit := func(word, reason string) {
		say("permissionDecision", text(word))
		too("permissionDecision", text(word))
		if reason != "" {
			say("permissionDecisionReason", text(reason))
			too("permissionDecisionReason", text(reason))
		}
	}
	end := func(reason string) { // of an editor's run
		if pascal != "" {
			say("continue", payload.NewBool(false))
			say("stopReason", text(reason))
		}
	}
	block := func(reason string) {
		say("decision", text("block"))
		say("reason", text(reason))
		if e.Name == "agentStop" || e.Name == "subagentStop" {
			too("decision", text("block"))
			too("reason", text(reason))
		}
	}
	replace := func(value payload.Value) {
		kind := found(found(e.Raw, "tool_result"), "result_type")
		if kind.Kind() != payload.String {
			kind = text("success")
		}
		say("modifiedResult", payload.NewObject(field("resultType", kind), field("textResultForLlm", text(plain(value)))))
	}
	context := func() {
		if len(v.Context) > 0 && (e.Name == "postToolUse" || e.Name == "postToolUseFailure" || e.Name == "sessionStart") {
			say("additionalContext", text(joined(v)))
			too("additionalContext", text(joined(v)))
		}
	}
	deny := func(reason string) {
		switch e.Name {
		case "preToolUse":
			permit("deny", reason)
		case "permissionRequest":
			say("behavior", text("deny"))
			say("message", text(reason))
			too("decision", payload.NewObject(field("behavior", text("deny")), field("message", text(reason))))
		case "postToolUse":
			if e.Dialect != copilotEditor {
				replace(text(reason))
			}
			if e.Dialect != copilotLine {
				block(reason)
				end(reason)
			}
		case "postToolUseFailure":
			say("additionalContext", text(reason))
		default:
			block(reason)
			if e.Name == "userPromptSubmitted" {
				end(reason)
			}
			if e.unnamed() {
				permit("deny", reason)
			}
		}
	}
	reason := withContext(v.Reason, v.Texts())
	switch v.Kind {
	default: // Deny, Stop, and what nobody has heard of
		deny(reason)
	case Respond:
		deny(withContext("a hook answered instead: "+plain(v.Value), v.Texts()))
	case Ask:
		if e.Name == "preToolUse" {
			permit("ask", v.Reason)
			if in := v.Patched("arguments"); in.Exists() {
				rewrite(in)
			}
		} else {
			deny(reason)
		}
	case Proceed:
		if e.Name == "agentStop" || e.Name == "subagentStop" { // the reason is the next prompt
			block(v.Text)
		}
	case Allow, NoOpinion:
		in, value := v.Patched("arguments"), v.Patched("value")
		switch e.Name {
		case "preToolUse":
			if v.Kind == Allow {
				permit("allow", v.Reason)
			}
			if in.Exists() {
				rewrite(in)
			}
		case "permissionRequest":
			switch {
			case in.Exists():
				deny("a hook wants arguments to be " + plain(in))
			case v.Kind == Allow:
				say("behavior", text("allow"))
				too("decision", payload.NewObject(field("behavior", text("allow"))))
			}
		case "postToolUse":
			if value.Exists() {
				replace(value)
			}
		}
		context()
	}
	if e.unnamed() {
		pascal = cmp.Or(spoken(e.Raw, "hook_event_name"), "PreToolUse") // the only one at which more is at stake than a prompt
	}
	if len(specific) > 0 && pascal != "" {
		say("hookSpecificOutput", payload.NewObject(append([]payload.Field{field("hookEventName", text(pascal))}, specific...)...))
	}
	if len(out) == 0 {
		return Answer{}
	}
	return Answer{Stdout: append(payload.NewObject(out...).JSON(), '\n')}
}
