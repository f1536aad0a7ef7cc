package client

import (
	"slices"
	"strings"
	"testing"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// gates are the events of each client that ask about a call, by the capture that has one.
var gates = map[string]struct{ capture, event string }{
	"claude": {"PreToolUse.json", "PreToolUse"}, "codex": {"PreToolUse.json", "PreToolUse"}, "cursor": {"preToolUse.json", "preToolUse"}, "copilot": {"preToolUse.json", "preToolUse"},
	"gemini": {"BeforeTool-run_shell_command.json", "BeforeTool"}, "goose": {"PreToolUse.json", "PreToolUse"}, "factory": {"PreToolUse.json", "PreToolUse"}, "qwen": {"PreToolUse.json", "PreToolUse"},
	"continue": {"PreToolUse.json", "PreToolUse"}, "crush": {"PreToolUse.json", "PreToolUse"}, "opencode": {"tool.execute.before.json", "tool.execute.before"},
}

// called is a client's event about a call, and the same under another name.
func called(t *testing.T, client, name string) (was, now Message) {
	t.Helper()
	m, err := Read(read(t, client, gates[client].capture))
	if err != nil {
		t.Fatal(err)
	}
	return m, named(m, name)
}

// TestACallIsJudgedWhateverItsEventIsCalled: clients change names, and no guard is lost by that.
func TestACallIsJudgedWhateverItsEventIsCalled(t *testing.T) {
	for _, client := range Names() {
		was, now := called(t, client, "ToolIsNear")
		_, want, err := Understand(client, gates[client].event, was.Value.JSON())
		if err != nil || want.Point != "tool.before" {
			t.Fatalf("%s: %v at %s", client, err, want.Point)
		}
		event := "" // of a client that says its events
		if client == "copilot" {
			event = "ToolIsNear"
		}
		codec, e, err := Understand(client, event, now.Value.JSON())
		if err != nil || e.Client != client || e.Name != "ToolIsNear" || e.Point != "tool.before" || e.Payload.String() != want.Payload.String() || e.ToolID != want.ToolID || e.Kind != want.Kind || e.CallID != want.CallID {
			t.Errorf("%s: %v, %s's %s at %s: %s", client, err, e.Client, e.Name, e.Point, e.Payload)
			continue
		}
		none, _, _ := Say(codec, e, Verdict{Kind: NoOpinion})
		deny, _, _ := Say(codec, e, Verdict{Kind: Deny, Reason: "r"})
		for what, v := range map[string]Verdict{
			"ask": {Kind: Ask, Reason: "r"}, "stop": {Kind: Stop, Reason: "r"}, "respond": {Kind: Respond, Value: text("v")},
			"patch": {Kind: NoOpinion, Patch: []payload.Field{field("arguments", payload.NewObject())}}, "edit": {Kind: Allow, Patch: []payload.Field{field("arguments", payload.NewObject())}},
		} {
			a, _, _ := Say(codec, e, v)
			if string(a.Stdout) == string(none.Stdout) || !strings.HasPrefix(string(a.Stdout), string(deny.Stdout[:10])) {
				t.Errorf("%s: %s is said as %s, a denial as %s", client, what, a.Stdout, deny.Stdout)
			}
		}
		if a, _, _ := Say(codec, e, Verdict{Kind: Allow}); string(a.Stdout) != string(none.Stdout) {
			t.Errorf("%s: allow is said as %s", client, a.Stdout)
		}
		if r := RowFor(codec, e, hookpoints.Ask); r == nil || r.Instead != AsDeny {
			t.Errorf("%s: nobody can be asked there, and the row says %v", client, r)
		}
		if Carries(codec, e) {
			t.Errorf("%s carries context at an event that nobody knows", client)
		}
		// What would run has to be known.
		for _, input := range callInputs {
			if now.Value.Get(input).Exists() {
				now.Value = now.Value.With(field(input, text("{")))
			}
		}
		if _, e, err := Understand(client, event, now.Value.JSON()); err == nil || e.Point != "tool.before" || e.Name != "ToolIsNear" {
			t.Errorf("%s, with an input that can't be read: %v at %s", client, err, e.Point)
		}
	}
}

// TestWhatHasAResultIsNoCall: an unknown event that tells what has happened stays one.
func TestWhatHasAResultIsNoCall(t *testing.T) {
	for _, client := range Names() {
		event := ""
		if client == "copilot" {
			event = "ToolIsNear"
		}
		for _, result := range callResults {
			_, now := called(t, client, "ToolIsNear")
			now.Value = now.Value.With(field(result, text("x")))
			if _, e, err := Understand(client, event, now.Value.JSON()); err != nil || e.Point != "client.event" {
				t.Errorf("%s with %s: %v at %s", client, result, err, e.Point)
			}
			now.Value = now.Value.With(field(result, payload.NewNull()))
			if _, e, err := Understand(client, event, now.Value.JSON()); err != nil || e.Point != "tool.before" {
				t.Errorf("%s with an empty %s: %v at %s", client, result, err, e.Point)
			}
		}
	}
}

// TestNoNameTakesAGuardAway: whatever the command line says an event is, and whatever the event says itself, the
// answer is that of the one which guards more, or a refusal.
func TestNoNameTakesAGuardAway(t *testing.T) {
	for _, real := range Names() {
		m, err := Read(read(t, real, gates[real].capture))
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range append(codecs[real].Events(), Known{Name: "ToolIsNear", Point: "client.event"}) {
			for _, hook := range Names() {
				for _, c := range slices.Concat(codecs[hook].Events(), codecs[real].Events()) { // the names of either
					text := named(m, k.Name).Value.JSON()
					if real == "copilot" && !m.Value.Get("hook_event_name").Exists() {
						text = named(m, k.Name).Value.With(field("hook_event_name", payload.NewString(k.Name))).JSON()
					}
					codec, e, err := Understand(hook, c.Name, text)
					if guarding(e.registered()) < guarding(c.Point) {
						t.Errorf("%s's %s as %s's %s is at %s, %v", real, k.Name, hook, c.Name, e.Point, err)
					}
					if c.Point != "tool.before" && k.Point != "tool.before" {
						continue
					}
					if e.Point != "tool.before" && e.Point != "tool.confirm" {
						t.Errorf("%s's %s as %s's %s is at %s, %v", real, k.Name, hook, c.Name, e.Point, err)
					}
					none, _, _ := Say(codec, e, Verdict{Kind: NoOpinion})
					if deny, _, _ := Say(codec, e, Verdict{Reason: "r"}); string(deny.Stdout) == string(none.Stdout) {
						t.Errorf("%s's %s as %s's %s: a denial is said as %s", real, k.Name, hook, c.Name, deny.Stdout)
					}
				}
			}
		}
	}
}

// TestBrokenEventsGuardWhatTheirNamesGuard: of a text that can't be read only the names are known.
func TestBrokenEventsGuardWhatTheirNamesGuard(t *testing.T) {
	for _, c := range []struct{ client, event, stdin, name, point string }{
		{"claude", "PreToolUse", `{"hook_event_name":"Stop","x":`, "PreToolUse", "tool.before"},
		{"claude", "Stop", `{"hook_event_name":"PreToolUse","x":`, "PreToolUse", "tool.before"},
		{"claude", "Stop", `{"hook_event_name":"Notification","x":`, "Stop", "turn.after"},
		{"claude", "ToolIsNear", `{"x":`, "ToolIsNear", "tool.before"},
		{"claude", "", `{"hook_event_name":"ToolIsNear","x":`, "ToolIsNear", "tool.before"},
		{"claude", "", `{"x":`, "", "client.event"},
		{"copilot", "PreToolUse", `{"hook_event_name":"ToolIsNear","x":`, "preToolUse", "tool.before"},
		{"copilot", "PreToolUse", `{"hook_event_name":"ToolIsNear","session_id":"s","timestamp":"2026-01-02T03:04:05Z"}`, "preToolUse", "tool.before"},
		{"copilot", "Stop", `{"hook_event_name":"PreToolUse","x":`, "preToolUse", "tool.before"},
		{"goose", "", `{"hook_event_name":"Stop","event":"PreToolUse","session_id":"s","tool_name":"x","tool_input":{}}`, "PreToolUse", "tool.before"},
		{"claude", "", `{"hook_event_name":"Notification","hookEventName":"PreToolUse","session_id":"s","tool_name":"x","tool_input":{}}`, "PreToolUse", "tool.before"},
		{"claude", "PreToolUse", `{"sessionId":"s","timestamp":1,"toolName":"bash","tool_name":"other","toolArgs":{}}`, "preToolUse", "tool.before"},               // copilot's
		{"claude", "PreToolUse", `{"hook_event_name":"AfterTool","timestamp":"2026-01-02T03:04:05Z","tool_name":"a","toolName":"b"}`, "BeforeTool", "tool.before"}, // gemini's
	} {
		codec, e, err := Understand(c.client, c.event, []byte(c.stdin))
		if err == nil || codec == nil || e.Name != c.name || e.Point != c.point {
			t.Errorf("%s %q, %s: %v, %s's %q at %s", c.client, c.event, c.stdin, err, e.Client, e.Name, e.Point)
		}
	}
}
