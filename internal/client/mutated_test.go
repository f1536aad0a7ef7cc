package client

import (
	"testing"

	"agentd/hookpoints/payload"
)

// TestACallStaysOneWhateverBecomesOfItsFields: no field of an event about a call makes it anything less.
func TestACallStaysOneWhateverBecomesOfItsFields(t *testing.T) {
	values := []payload.Value{{}, payload.NewNull(), text(""), text("x"), text("{}"), text("2026-01-02T03:04:05.000Z"), text("auto"), text("/home/user/.gemini/t.jsonl"), payload.NewInt(0), payload.NewBool(true), payload.NewObject(), payload.NewArray(nil)}
	for _, client := range Names() {
		m, err := Read(read(t, client, gates[client].capture))
		if err != nil {
			t.Fatal(err)
		}
		fields := []string{"hookEventName", "hook_event_name", "event", "prompt", "output", "error", "tool_response", "model", "turn_id", "timestamp", "transcript_path", "permission_mode", "sessionId", "session_id", "cwd", "client"}
		for name := range m.Value.Members() {
			fields = append(fields, name)
		}
		for _, name := range fields {
			for _, value := range values {
				v := m.Value.Without(name)
				if value.Exists() {
					v = m.Value.With(field(name, value))
				}
				for _, event := range []string{gates[client].event, ""} {
					codec, e, err := Understand(client, event, v.JSON())
					if e.Name == "" && err != nil { // refused, whatever it was
						continue
					}
					if event == "" && client == "copilot" && name == "error" && value.Exists() && value.Kind() != payload.Null { // what failed has an error
						continue
					}
					if guarding(e.Point) != 2 {
						t.Errorf("%s, event %q, %s is %s: %s's %q at %s, %v", client, event, name, value, e.Client, e.Name, e.Point, err)
					}
					none, _, _ := Say(codec, e, Verdict{Kind: NoOpinion})
					if deny, _, _ := Say(codec, e, Verdict{Reason: "r"}); string(deny.Stdout) == string(none.Stdout) {
						t.Errorf("%s, event %q, %s is %s: a denial is said as %s", client, event, name, value, deny.Stdout)
					}
				}
			}
		}
	}
}
