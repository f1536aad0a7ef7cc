package client

import (
	"errors"
	"fmt"
	"strings"

	"agentd/hookpoints/payload"
)

// family is the protocol that Claude Code began and others took over: events named alike, fields in
// snake_case, decisions under hookSpecificOutput. What differs from one to the next is data: its events,
// its downgrades, and how it takes a tool's changed result.
type family struct {
	events     []Known
	downgrades []Downgrade
	// replaces: a tool's result can be replaced, by one of the same shape.
	replaces bool
	// rounds: it says UserPromptSubmit without a prompt before each request that follows a tool.
	rounds bool
	// expands: what a command became takes context.
	expands bool
}

// Events implements Codec.
func (f family) Events() []Known { return f.events }

// Downgrades implements Codec.
func (f family) Downgrades() []Downgrade { return f.downgrades }

// snake is a field in both spellings that clients of this family use.
func snake(name string) []string {
	parts := strings.Split(name, "_")
	for i, p := range parts[1:] {
		if p != "" {
			parts[i+1] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	if camel := strings.Join(parts, ""); camel != name {
		return []string{name, camel}
	}
	return []string{name}
}

// spoken and given are a field's text in either spelling: as a text, "" if there is none, and as a value,
// absent if there is none.
func spoken(v payload.Value, name string) string       { return said(v, snake(name)...) }
func given(v payload.Value, name string) payload.Value { return texted(v, snake(name)...) }

// found is a field in either spelling.
func found(v payload.Value, name string) payload.Value {
	for _, s := range snake(name) {
		if f := v.Get(s); f.Exists() {
			return f
		}
	}
	return payload.Value{}
}

// familyEvent is what all events of the family say.
func familyEvent(v payload.Value, event string) (Event, error) {
	e := Event{Name: spoken(v, "hook_event_name"), SessionID: spoken(v, "session_id"), Cwd: folder(v), CallID: spoken(v, "tool_use_id"), Agent: spoken(v, "agent_id"),
		Turn: spoken(v, "prompt_id")}
	if e.Turn == "" {
		e.Turn = spoken(v, "turn_id")
	}
	if e.Name == "" {
		if e.Name = event; event == "" {
			return e, errors.New("it has no hook_event_name")
		}
	}
	return e, nil
}

// folder is the working folder, else the first folder of the workspace. Editors write C:\ as /c:/.
func folder(v payload.Value) string {
	cwd := spoken(v, "cwd")
	if cwd == "" {
		if roots := found(v, "workspace_roots"); roots.Kind() == payload.Array && roots.Len() > 0 && roots.At(0).Kind() == payload.String {
			cwd = roots.At(0).Text()
		}
	}
	if len(cwd) > 2 && cwd[0] == '/' && cwd[2] == ':' && (cwd[1]|0x20) >= 'a' && (cwd[1]|0x20) <= 'z' {
		cwd = cwd[1:]
	}
	return cwd
}

// Decode implements Codec.
func (f family) Decode(m Message, event string) (Event, error) {
	v := m.Value
	e, err := familyEvent(v, event)
	if err != nil {
		return e, err
	}
	switch e.Name {
	case "PreToolUse", "PreSkillShellCommand", "PermissionRequest", "PostToolUse", "PostToolUseFailure":
		return familyTool(v, e)
	case "PostToolBatch":
		return familyBatch(v, e), nil
	case "Elicitation":
		return familyQuestion(v, e), nil
	case "MessageDisplay":
		piece := given(v, "delta")
		if !piece.Exists() {
			piece = given(v, "displayed_text")
		}
		e.Fires("model.chat.chunk", field("text", piece))
	case "UserPromptSubmit":
		if prompt := given(v, "prompt"); f.rounds && prompt.Exists() && prompt.Text() == "" {
			e.Point = "client.event"
			return e, nil
		}
	}
	familyCommon(v, &e)
	return e, nil
}

// familyCommon puts the events about sessions, turns, compactions and subagents where they belong.
func familyCommon(v payload.Value, e *Event) {
	switch e.Name {
	case "SessionStart":
		source := given(v, "source")
		switch source.Text() {
		case "startup", "resume":
		case "clear", "compact":
			e.Forgets = true
		case "fork", "branch": // an old conversation goes on under a new name
			source = text("resume")
		case "new":
			source = text("startup")
		default:
			source = payload.Value{}
		}
		e.Fires("session.start", field("source", source), field("cwd", folderField(e)))
	case "SessionEnd":
		e.Ends = true
		e.Fires("session.end", field("reason", given(v, "reason")))
	case "UserPromptSubmit":
		if e.Turn != "" { // one prompt, one event
			e.Key = v.Digest()
		}
		e.Fires("turn.before", field("prompt", given(v, "prompt")))
	case "Stop":
		e.Continues = found(v, "stop_hook_active").IsTrue()
		e.Fires("turn.after", field("response", given(v, "last_assistant_message")))
	case "Notification":
		e.Fires("notification", field("kind", given(v, "notification_type")), field("message", given(v, "message")))
	case "PreCompact":
		e.Fires("context.compact.before")
	case "PostCompact":
		e.Forgets = true
		// What is shown of a compaction is shown whole, so what isn't known of it is empty.
		e.Fires("context.compact.after", field("compacted", payload.NewBool(true)), field("summary", given(v, "compact_summary")),
			field("messages", payload.NewArray(nil)), field("metrics", payload.NewObject()), field("summary_slot", payload.NewNull()))
		e.Absent = append(e.Absent, "messages", "metrics", "summary_slot")
	case "SubagentStart":
		e.Target = spoken(v, "agent_type")
		e.Fires("subagent.before", field("task", given(v, "task")))
	case "SubagentStop":
		e.Target = spoken(v, "agent_type")
		e.Status = "succeeded"
		output := given(v, "last_assistant_message")
		if !output.Exists() {
			output = given(v, "task_result")
		}
		if failure := given(v, "task_error"); failure.Exists() && failure.Text() != "" {
			e.Status = "failed"
		}
		e.Fires("subagent.after", field("output", output), field("status", text(e.Status)))
	case "CwdChanged":
		e.Fires("cwd.changed", field("old", given(v, "old_cwd")), field("new", given(v, "new_cwd")))
	}
}

func folderField(e *Event) payload.Value {
	if e.Cwd == "" {
		return payload.Value{}
	}
	return text(e.Cwd)
}

// familyTool is an event about a tool's call.
func familyTool(v payload.Value, e Event) (Event, error) {
	tool := spoken(v, "tool_name")
	input, err := arguments(v, snake("tool_input")...)
	none := err != nil && kindOf(tool) == "mcp" && e.Name != "PreSkillShellCommand" && nothing(v, snake("tool_input")...)
	if none { // a server's tool that takes nothing is called with nothing
		input, err = payload.NewObject(), nil
	}
	if err != nil || tool == "" {
		if err == nil {
			err = errors.New("it is empty")
		}
		return e, fmt.Errorf("%s has no tool_name or no tool_input object: %w", e.Name, err)
	}
	e.uses(tool)
	if server := said(found(v, "mcp_server"), "name"); server != "" { // its name may have the mark between names in it
		if name, ok := strings.CutPrefix(tool, "mcp__"+server+"__"); ok && name != "" {
			e.ToolID = "mcp:" + server + ":" + name
		}
	}
	e.Input = input
	switch e.Name {
	case "PreToolUse", "PreSkillShellCommand":
		e.ToolBefore()
	case "PermissionRequest":
		e.Confirms()
	case "PostToolUse":
		response := found(v, "tool_response")
		if shown := response.Get("llmContent"); shown.Exists() { // what the model is shown
			response = shown
		}
		if response.Get("isError").IsTrue() {
			e.Status = "failed"
		}
		e.ToolAfter(response)
	case "PostToolUseFailure":
		e.Status = "failed"
		if found(v, "is_interrupt").IsTrue() {
			e.Status = "cancelled"
		}
		e.ToolAfter(given(v, "error"))
	}
	switch {
	case !none:
	case e.Point == "tool.after":
		e.Absent = append(e.Absent, "evidence_arguments")
	default:
		e.Absent = append(e.Absent, "arguments")
	}
	return e, nil
}

// familyBatch is what comes when all calls of a step have a result.
func familyBatch(v payload.Value, e Event) Event {
	calls := []payload.Value{}
	for c := range found(v, "tool_calls").Items() {
		calls = append(calls, payload.NewObject(field("id", text(spoken(c, "tool_use_id"))), field("name", text(spoken(c, "tool_name")))))
	}
	e.Fires("step.after", field("calls", payload.NewArray(calls)))
	return e
}

// familyQuestion is what an MCP server wants to know from the person: a form, or to open an address.
func familyQuestion(v payload.Value, e Event) Event {
	kind, schema := text("form"), found(v, "requested_schema")
	if spoken(v, "mode") == "url" {
		kind, schema = text("confirmation"), payload.Value{}
	}
	if schema.Kind() != payload.Object {
		schema = payload.Value{}
	}
	e.Fires("elicit", field("kind", kind), field("prompt", given(v, "message")), field("schema", schema))
	return e
}

// Encode implements Codec.
func (f family) Encode(e Event, v Verdict) Answer {
	var top, specific []payload.Field
	block := func(reason string) {
		top = append(top, field("decision", text("block")), field("reason", text(reason)))
	}
	stop := func(reason string) {
		top = append(top, field("continue", payload.NewBool(false)), field("stopReason", text(reason)))
	}
	permission := func(word, reason string) {
		specific = append(specific, field("permissionDecision", text(word)))
		if reason != "" {
			specific = append(specific, field("permissionDecisionReason", text(reason)))
		}
	}
	behave := func(word string, more ...payload.Field) {
		specific = append(specific, field("decision", payload.NewObject(append([]payload.Field{field("behavior", text(word))}, more...)...)))
	}
	replace := func(value payload.Value, why string) {
		if r, ok := f.replacement(e, value); ok {
			specific = append(specific, r)
		} else { // nobody sees what no hook has cleared
			stop(why)
		}
	}
	context := func() {
		if len(v.Context) > 0 && (takesContext[e.Name] || f.expands && e.Name == "UserPromptExpansion") {
			specific = append(specific, field("additionalContext", text(joined(v))))
		}
	}
	switch v.Kind {
	default: // Deny, and what nobody has heard of
		reason := withContext(v.Reason, v.Texts())
		switch e.Name {
		case "PreToolUse":
			permission("deny", reason)
			if name := spoken(e.Raw, "hook_event_name"); name != "" && name != e.Name { // somebody else spells it, who may know Cursor's words only
				top = append(top, field("permission", text("deny")), field("user_message", text(reason)))
			}
		case "PreSkillShellCommand", "PreModelSwitch":
			permission("deny", reason)
		case "PermissionRequest":
			behave("deny", field("message", text(reason)))
		case "PostToolUse":
			block(reason)
			replace(text(reason), reason)
		case "Elicitation", "ElicitationResult":
			specific = append(specific, field("action", text("decline")))
		default:
			block(reason)
			if e.unnamed() && e.Name != "" { // an answer for another event's name counts for none at all
				permission("deny", reason)
			}
		}
	case Stop:
		stop(withContext(v.Reason, v.Texts()))
		switch e.Name {
		case "PreToolUse", "PreSkillShellCommand", "PreModelSwitch": // without it the tool would run before the end
			permission("deny", v.Reason)
		case "PostToolUse":
			if value := v.Patched("value"); value.Exists() {
				if r, ok := f.replacement(e, value); ok {
					specific = append(specific, r)
				}
			}
		}
	case Respond:
		if e.Name != "Elicitation" {
			permission("deny", withContext("a hook answered instead: "+plain(v.Value), v.Texts()))
			break
		}
		specific = append(specific, familyReply(v.Value)...)
	case Proceed: // the reason is the next prompt
		block(v.Text)
	case Ask:
		if e.Name == "PreToolUse" {
			permission("ask", v.Reason)
			specific = append(specific, updated(v)...)
			context()
		}
	case Allow, NoOpinion:
		changed := updated(v)
		switch e.Name {
		case "PreToolUse":
			if v.Kind == Allow {
				permission("allow", v.Reason)
			}
			specific = append(specific, changed...)
		case "PermissionRequest":
			switch {
			case v.Kind == Allow:
				behave("allow", changed...)
			case len(changed) > 0: // a change alone would have to allow as well
				behave("deny", field("message", text("a hook wants arguments to be "+plain(v.Patched("arguments")))))
			}
		case "PostToolUse":
			if value := v.Patched("value"); value.Exists() {
				replace(value, "a hook changed the result to something that can't take its place")
			}
		}
		context()
	}
	return hookAnswer(e, v, top, specific)
}

// takesContext are the events whose answer has a place for context.
var takesContext = map[string]bool{"PreToolUse": true, "PostToolUse": true, "PostToolUseFailure": true, "PostToolBatch": true, "UserPromptSubmit": true,
	"SessionStart": true, "SubagentStart": true}

// updated is a changed input, whole.
func updated(v Verdict) []payload.Field {
	if in := v.Patched("arguments"); in.Exists() {
		return []payload.Field{field("updatedInput", in)}
	}
	return nil
}

// familyReply is an answer to a question: accepted with what was asked for, or declined.
func familyReply(value payload.Value) []payload.Field {
	switch {
	case value.Kind() == payload.Object:
		return []payload.Field{field("action", text("accept")), field("content", value)}
	case value.IsTrue():
		return []payload.Field{field("action", text("accept"))}
	}
	return []payload.Field{field("action", text("decline"))}
}

// hookAnswer is an answer in the family's form. One that says nothing is silence.
func hookAnswer(e Event, v Verdict, top, specific []payload.Field) Answer {
	if len(specific) > 0 {
		top = append(top, field("hookSpecificOutput", payload.NewObject(append([]payload.Field{field("hookEventName", text(e.Name))}, specific...)...)))
	}
	if v.Note != "" {
		top = append(top, field("systemMessage", text(v.Note)))
	}
	if len(top) == 0 {
		return Answer{}
	}
	return Answer{Stdout: append(payload.NewObject(top...).JSON(), '\n')}
}
