package client

import (
	"slices"
	"strings"
	"testing"

	"agentd/hookpoints/payload"
)

// codexTakes are the fields that Codex knows in an answer, by event, as its published schemas list them.
// It drops an answer with any other field and lets the call run.
var codexTakes = map[string]struct{ top, specific string }{
	"SessionStart":      {"continue stopReason suppressOutput systemMessage hookSpecificOutput", "hookEventName additionalContext"},
	"SubagentStart":     {"continue stopReason suppressOutput systemMessage hookSpecificOutput", "hookEventName additionalContext"},
	"UserPromptSubmit":  {"continue stopReason suppressOutput systemMessage decision reason hookSpecificOutput", "hookEventName additionalContext"},
	"PreToolUse":        {"continue stopReason suppressOutput systemMessage decision reason hookSpecificOutput", "hookEventName permissionDecision permissionDecisionReason updatedInput additionalContext"},
	"PermissionRequest": {"continue stopReason suppressOutput systemMessage hookSpecificOutput", "hookEventName decision"},
	"PostToolUse":       {"continue stopReason suppressOutput systemMessage decision reason hookSpecificOutput", "hookEventName additionalContext updatedMCPToolOutput"},
	"PreCompact":        {"continue stopReason suppressOutput systemMessage", ""},
	"PostCompact":       {"continue stopReason suppressOutput systemMessage", ""},
	"Stop":              {"continue stopReason suppressOutput systemMessage decision reason", ""},
	"SubagentStop":      {"continue stopReason suppressOutput systemMessage decision reason", ""},
	"Interrupt":         {"systemMessage", ""},
	"SessionEnd":        {"systemMessage", ""},
}

// codexDrops says why Codex would drop an answer, "" if it takes it: fields that it doesn't know, and
// the combinations that its parser refuses.
func codexDrops(event string, a payload.Value) string {
	takes := codexTakes[event]
	for name := range a.Members() {
		if !slices.Contains(strings.Fields(takes.top), name) {
			return "it knows no " + name
		}
	}
	out := a.Get("hookSpecificOutput")
	for name := range out.Members() {
		if !slices.Contains(strings.Fields(takes.specific), name) {
			return "it knows no hookSpecificOutput." + name
		}
	}
	blank := func(v payload.Value) bool { return strings.TrimSpace(v.Text()) == "" }
	if d := a.Get("decision"); d.Exists() && (d.Text() != "block" || blank(a.Get("reason"))) {
		return "the decision isn't a block with a reason"
	}
	if a.Get("reason").Exists() && !a.Get("decision").Exists() {
		return "a reason without a decision"
	}
	if out.Exists() && out.Get("hookEventName").Text() != event {
		return "the event's name is wrong"
	}
	ends := a.Get("continue").Exists() || a.Get("stopReason").Exists()
	switch event {
	case "PreToolUse":
		in, word := out.Get("updatedInput"), out.Get("permissionDecision").Text()
		switch {
		case ends:
			return "it can't be stopped here"
		case in.Exists() != (word == "allow"):
			return "an input goes with allow, and allow with an input"
		case word == "ask":
			return "it can't ask here"
		case word == "deny" && blank(out.Get("permissionDecisionReason")):
			return "a denial without a reason"
		case word == "" && out.Get("permissionDecisionReason").Exists():
			return "a reason without a decision"
		}
	case "PermissionRequest":
		d := out.Get("decision")
		for name := range d.Members() {
			if name != "behavior" && name != "message" {
				return "it refuses decision." + name
			}
		}
		if word := d.Get("behavior").Text(); ends || d.Exists() && word != "allow" && word != "deny" {
			return "it knows no such decision"
		}
	case "PostToolUse":
		if out.Get("updatedMCPToolOutput").Exists() {
			return "it refuses updatedMCPToolOutput"
		}
	}
	return ""
}

// TestCodexTakesEveryAnswer: whatever is decided about whatever event, also what no hook may decide there.
func TestCodexTakesEveryAnswer(t *testing.T) {
	some := []payload.Field{field("command", text("ls"))}
	captured(t, func(name, file string, codec Codec, e Event) {
		if name != "codex" {
			return
		}
		for what, kind := range verdictKinds {
			for _, reason := range []string{"", " \n", "why"} {
				for _, patch := range [][]payload.Field{nil, {field("arguments", payload.NewObject(some...))}, {field("arguments", payload.NewObject(field("command", payload.NewInt(1))))},
					{field("value", text("x")), field("summary", text("x"))}, {field("value", text(""))}} {
					for _, context := range [][]Text{nil, {{Text: "c"}}} {
						v := Verdict{Kind: kind, Reason: reason, Text: reason, Value: text("v"), Patch: patch, Context: context, Clear: true, Note: reason}
						say, _, _ := Say(codec, e, v)
						for _, a := range []Answer{say, codec.Encode(e, v)} {
							if a.Exit != 0 {
								t.Errorf("%s: %s ends with %d", file, what, a.Exit)
							}
							if len(a.Stdout) == 0 {
								continue
							}
							got, err := payload.Parse(a.Stdout)
							if err != nil {
								t.Fatal(err)
							}
							if why := codexDrops(e.Name, got); why != "" {
								t.Errorf("%s, %s: it would drop %s, as %s", file, what, a.Stdout, why)
							}
						}
					}
				}
			}
		}
	})
}
