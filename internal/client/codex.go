package client

import (
	"slices"
	"strings"
	"time"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// codex is OpenAI's Codex CLI. Facts about it: an answer with a field that it doesn't know at this event,
// a denial without a reason, a bare allow, ask, and a stop before a tool all make the hook fail, and
// after a failed hook the call runs; a changed input comes with allow, and that of a command needs its
// text; a block after a tool replaces the result; a changed input where it asks is refused.
type codex struct{}

var codexEvents = within(10*time.Minute, Schema,
	Known{Name: "SessionStart", Point: "session.start", Seen: Real},
	Known{Name: "SubagentStart", Point: "subagent.before"},
	Known{Name: "UserPromptSubmit", Point: "turn.before", Seen: Real},
	Known{Name: "PreToolUse", Point: "tool.before", Seen: Real},
	Known{Name: "PermissionRequest", Point: "tool.confirm"},
	Known{Name: "PostToolUse", Point: "tool.after", Seen: Real},
	Known{Name: "PreCompact", Point: "context.compact.before"},
	Known{Name: "PostCompact", Point: "context.compact.after"},
	Known{Name: "SubagentStop", Point: "subagent.after"},
	Known{Name: "Stop", Point: "turn.after", Seen: Real},
	Known{Name: "Interrupt", Point: "client.event", Limit: 3 * time.Second},
	Known{Name: "SessionEnd", Point: "session.end", Seen: Real},
)

// Events implements Codec.
func (codex) Events() []Known { return codexEvents }

// Downgrades implements Codec.
func (codex) Downgrades() []Downgrade { return codexDowngrades }

var codexDowngrades = slices.Concat(
	of(codexEvents, familyDowngrades),
	rows(hookpoints.Ask, "", AsDeny, "an ask before a tool makes the hook fail, and the call runs", "PreToolUse"),
	rows(hookpoints.Allow, "", AsNothing, "a bare allow makes the hook fail; its own rules and question follow", "PreToolUse"),
	rows(hookpoints.Stop, "", AsDeny, "a stop before a tool makes the hook fail, and the call runs", "PreToolUse"),
	rows(hookpoints.Patch, "arguments", AsDeny, "a changed input where it asks is refused", "PermissionRequest"),
	never("an interruption has happened already", AsNote, "Interrupt"),
)

// Decode implements Codec.
func (codex) Decode(m Message, event string) (Event, error) {
	e, err := familyEvent(m.Value, event)
	if err != nil {
		return e, err
	}
	switch e.Name {
	case "PreToolUse", "PermissionRequest", "PostToolUse":
		return familyTool(m.Value, e)
	}
	familyCommon(m.Value, &e)
	return e, nil
}

// Encode implements Codec.
func (codex) Encode(e Event, v Verdict) Answer {
	var top, specific []payload.Field
	block := func(reason string) {
		if strings.TrimSpace(reason) == "" { // one without a reason makes the hook fail
			reason = "a hook refused this"
		}
		top = append(top, field("decision", text("block")), field("reason", text(reason)))
	}
	stop := func(reason string) {
		top = append(top, field("continue", payload.NewBool(false)), field("stopReason", text(reason)))
	}
	deny := func(reason string) {
		if strings.TrimSpace(reason) == "" {
			reason = "a hook refused this"
		}
		switch e.Name {
		case "PreToolUse":
			specific = append(specific, field("permissionDecision", text("deny")), field("permissionDecisionReason", text(reason)))
		case "PermissionRequest":
			specific = append(specific, field("decision", payload.NewObject(field("behavior", text("deny")), field("message", text(reason)))))
		case "PreCompact":
			stop(reason)
		case "SessionStart", "SubagentStart", "PostCompact", "Interrupt", "SessionEnd": // they know no refusal
			v.Note = because(v.Note, reason)
		default:
			block(reason)
		}
	}
	context := func() {
		if len(v.Context) > 0 && takesContext[e.Name] {
			specific = append(specific, field("additionalContext", text(joined(v))))
		}
	}
	switch v.Kind {
	default: // Deny, and what nobody has heard of
		deny(withContext(v.Reason, v.Texts()))
	case Ask, Respond:
		deny(withContext(because(v.Reason, plainIf(v.Value)), v.Texts()))
	case Stop:
		switch e.Name {
		case "PostToolUse":
			if value := v.Patched("value"); value.Exists() { // and nobody sees the old one
				block(plain(value))
			}
			stop(withContext(v.Reason, v.Texts()))
		case "UserPromptSubmit", "SessionStart", "PreCompact", "Stop", "SubagentStop", "PostCompact":
			stop(withContext(v.Reason, v.Texts()))
		default:
			deny(withContext(v.Reason, v.Texts()))
		}
	case Proceed:
		if e.Name == "Stop" || e.Name == "SubagentStop" { // the reason is the next prompt
			block(v.Text)
		}
	case Allow, NoOpinion:
		in, value := v.Patched("arguments"), v.Patched("value")
		switch {
		case e.Name == "PreToolUse" && in.Exists():
			if command := in.Get("command"); e.Kind != "mcp" && e.Input.Get("command").Exists() && command.Kind() != payload.String {
				deny("a hook changed the command to something that is no text, and Codex takes none but texts")
				return hookAnswer(e, v, top, specific)
			}
			specific = append(specific, field("permissionDecision", text("allow")), field("updatedInput", in))
		case e.Name == "PermissionRequest" && in.Exists():
			deny("a hook wants arguments to be " + plain(in))
			return hookAnswer(e, v, top, specific)
		case e.Name == "PermissionRequest" && v.Kind == Allow:
			specific = append(specific, field("decision", payload.NewObject(field("behavior", text("allow")))))
		case e.Name == "PostToolUse" && value.Exists(): // the reason takes the result's place
			deny(withContext(plain(value), v.Texts()))
			return hookAnswer(e, v, top, specific)
		}
		context()
	}
	return hookAnswer(e, v, top, specific)
}

// plainIf is a value as a text, "" if there is none.
func plainIf(v payload.Value) string {
	if !v.Exists() {
		return ""
	}
	return "a hook answered instead: " + plain(v)
}
