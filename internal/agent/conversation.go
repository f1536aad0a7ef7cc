package agent

import (
	"strings"
	"unicode/utf8"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/operation"
)

// maxResult is how much of a tool's result the model is shown, in characters.
const maxResult = 24000

// conversation is what the model is shown, oldest first.
type conversation struct {
	messages []payload.Value
	cleared  bool // what came before it is dropped too
}

func (c *conversation) add(m ...payload.Value) { c.messages = append(c.messages, m...) }

// clear drops everything so far, also of earlier runs.
func (c *conversation) clear() { c.messages, c.cleared = nil, true }

// request is the conversation under its system message.
func (c *conversation) request(system string) payload.Value {
	return payload.NewArray(append([]payload.Value{message("system", system)}, c.messages...))
}

func message(role, content string) payload.Value {
	return object(field("role", text(role)), field("content", text(content)))
}

// contextMessage is what hooks had to say, as a user message; none without texts.
func contextMessage(texts []hookpoints.Text) []payload.Value {
	if len(texts) == 0 {
		return nil
	}
	return []payload.Value{message("user", joined(texts))}
}

func joined(texts []hookpoints.Text) string {
	parts := make([]string, len(texts))
	for i, t := range texts {
		parts[i] = t.Wrapped()
	}
	return strings.Join(parts, "\n")
}

// reply is an assistant message as it goes into the conversation: what the model needs to see again.
func reply(effective payload.Value) payload.Value {
	content := effective.Get("content")
	if !content.Exists() {
		content = payload.NewNull()
	}
	out := []payload.Field{field("role", text("assistant")), field("content", content)}
	if calls := effective.Get("tool_calls"); calls.Len() > 0 {
		out = append(out, field("tool_calls", calls))
	}
	return object(out...)
}

// toolMessage is the result of a call as the model is told.
func toolMessage(callID string, d operation.Done) payload.Value {
	return object(field("role", text("tool")), field("tool_call_id", text(callID)), field("content", text(resultText(d))))
}

func resultText(d operation.Done) string {
	switch d.State {
	case operation.Rejected:
		code := "hook_rejected"
		if d.Code == "denied" || d.Code == "invalid" {
			code = d.Code
		}
		return object(field("error", text("not executed: "+d.Reason)), field("code", text(code)), field("reason_code", text(d.Code))).String()
	case operation.Stopped:
		return object(field("error", text("not executed: the run was stopped")), field("code", text("stopped"))).String()
	case operation.NotStarted:
		return object(field("error", text("not executed: the run ended before")), field("code", text("interrupted"))).String()
	}
	if !d.Effective.Exists() { // hooks haven't looked at it, so nobody does
		return object(field("error", text("this ended ("+d.Status+"), but the run was cut off before its result could be shown. Check the real state before you do it again.")), field("code", text("withheld"))).String()
	}
	s := d.Effective.Text()
	if d.Effective.Kind() != payload.String {
		s = d.Effective.String()
	}
	if utf8.RuneCountInString(s) > maxResult {
		s = string([]rune(s)[:maxResult]) + "\n[cut]"
	}
	return s
}
