package daemon

import (
	"fmt"
	"strings"
	"testing"
)

// TestAQuestionIsNotForgottenForOthers: however many calls are decided before the event comes at which it is asked.
func TestAQuestionIsNotForgottenForOthers(t *testing.T) {
	l := newLab(t)
	l.project("hooks/h.star", `
hook(id = "confirm", version = "1", run = lambda ctx, call: ask("really?") if call.arguments.get("working_directory") == "/home" else None, point = "tool.confirm")
`)
	h := l.published()
	const event = `{"conversation_id":"s","generation_id":"g1","model":"m","hook_event_name":"%s","cursor_version":"3.5.33","workspace_roots":["/"],%s}`
	first := func(n int, folder string) string {
		return h.hookOf("cursor", fmt.Appendf(nil, event, "preToolUse", fmt.Sprintf(`"tool_name":"Shell","tool_input":{"command":"make %d","working_directory":%q},"tool_use_id":"t%d"`, n, folder, n)))
	}
	second := func(n int) string {
		return h.hookOf("cursor", fmt.Appendf(nil, event, "beforeShellExecution", fmt.Sprintf(`"command":"make %d","cwd":"/"`, n)))
	}
	first(0, "/")
	second(0)
	if got := first(1, "/home"); got != "{}" {
		t.Fatalf("it doesn't wait: %s", got)
	}
	for n := range 2 * maxAwaits {
		first(100+n, "/")
	}
	if got := first(2, "/home"); !strings.HasPrefix(got, `{"permission":"deny"`) {
		t.Errorf("one that can't wait is told %s", got)
	}
	if got := second(1); !strings.HasPrefix(got, `{"permission":"ask"`) {
		t.Errorf("the one that waited is told %s", got)
	}
	if got := first(3, "/home"); got != "{}" {
		t.Errorf("once there is room again: %s", got)
	}
}
