package daemon

import (
	"fmt"
	"math/rand/v2"
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

// TestWhateverComesInBetweenEachQuestionIsAsked: calls that are decided at the same time, with few different texts, whose
// second events and reports come in any order, some of them twice or never.
func TestWhateverComesInBetweenEachQuestionIsAsked(t *testing.T) {
	l := newLab(t)
	l.project("hooks/h.star", `
def confirm(ctx, call):
    return {"/home": ask("really?"), "/tmp": allow("fine"), "/etc": deny("no")}.get(call.arguments.get("working_directory"))

hook(id = "confirm", version = "1", run = confirm, point = "tool.confirm")
`)
	h := l.published()
	random := rand.New(rand.NewPCG(1, 2))
	for session := range 40 {
		say := func(name, rest string) string {
			return h.hookOf("cursor", fmt.Appendf(nil, `{"conversation_id":"s%d","generation_id":"g1","model":"m","hook_event_name":%q,"cursor_version":"3.5.33","workspace_roots":["/"],%s}`, session, name, rest))
		}
		var told []string
		type call struct {
			n               int
			command, folder string
		}
		first := func(c call) string {
			out := say("preToolUse", fmt.Sprintf(`"tool_name":"Shell","tool_input":{"command":%q,"working_directory":%q},"tool_use_id":"t%d"`, c.command, c.folder, c.n))
			told = append(told, fmt.Sprintf("first %v: %s", c, out))
			return out
		}
		second := func(c call) string {
			out := say("beforeShellExecution", fmt.Sprintf(`"command":%q,"cwd":%q`, c.command, c.folder))
			told = append(told, fmt.Sprintf("second %v: %s", c, out))
			return out
		}
		report := func(c call) {
			say("afterShellExecution", fmt.Sprintf(`"command":%q,"output":"","duration":1`, c.command))
			say("postToolUse", fmt.Sprintf(`"tool_name":"Shell","tool_input":{"command":%q,"working_directory":%q},"tool_output":"{}","tool_use_id":"t%d","duration":1`, c.command, c.folder, c.n))
			told = append(told, fmt.Sprintf("ran %v", c))
		}
		warm := call{0, "pwd", "/"}
		first(warm)
		second(warm)
		var waiting, running []call
		for n := 1; n < 40; n++ {
			switch pick := random.IntN(4); {
			case pick < 2:
				c := call{n, []string{"a", "b"}[random.IntN(2)], []string{"/", "/home", "/tmp", "/etc"}[random.IntN(4)]}
				if out := first(c); !strings.Contains(out, `"deny"`) {
					waiting = append(waiting, c)
				} else if c.folder != "/etc" && c.folder != "/home" {
					t.Errorf("%v is refused: %s", c, out)
				}
			case pick == 2 && len(waiting) > 0:
				i := random.IntN(len(waiting))
				c := waiting[i]
				waiting = append(waiting[:i], waiting[i+1:]...)
				for range 1 + random.IntN(2) { // of two registrations one may count
					out := second(c)
					if c.folder == "/home" && !strings.Contains(out, `"ask"`) || c.folder != "/tmp" && strings.Contains(out, `"allow"`) {
						t.Fatalf("%v isn't asked about:\n%s", c, strings.Join(told, "\n"))
					}
				}
				if random.IntN(3) > 0 { // else a person says no
					running = append(running, c)
				}
			case len(running) > 0:
				report(running[0])
				running = running[1:]
			}
		}
	}
}
