package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/internal/client"
)

// eventOf is a capture of a client's event, of a session and at a time of its own.
func eventOf(t *testing.T, name, file, session string, n int, more ...payload.Field) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", name, file))
	if err != nil {
		t.Fatal(err)
	}
	v, err := payload.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	for key, was := range v.Members() {
		switch {
		case key == "session_id" || key == "sessionId" || key == "conversation_id":
			v = v.With(payload.Field{Name: key, Value: payload.NewString(session)})
		case key == "timestamp" && was.Kind() == payload.Number:
			v = v.With(payload.Field{Name: key, Value: payload.NewInt(int64(1_700_000_000_000 + n))})
		case key == "timestamp":
			v = v.With(payload.Field{Name: key, Value: payload.NewString(fmt.Sprintf("2026-01-02T03:04:05.%03dZ", n))})
		case key == "message_id" || key == "prompt_id" || key == "generation_id" || key == "tool_use_id" || key == "call_id" || key == "tool_call_id":
			v = v.With(payload.Field{Name: key, Value: payload.NewString(fmt.Sprintf("%s-%d", session, n))})
		}
	}
	for _, f := range more {
		if v.Get(f.Name).Exists() {
			v = v.With(f)
		}
	}
	return v.JSON()
}

// TestEveryClientIsSentOnBelowItsOwnCap: a hook that always sends the agent on is held for each client before the
// client itself would end it, in each session for itself, and begins anew with the next prompt.
func TestEveryClientIsSentOnBelowItsOwnCap(t *testing.T) {
	ends := map[string]string{"claude": "Stop.json", "codex": "Stop.json", "continue": "Stop.json", "copilot": "agentStop.json", "cursor": "stop.json", "factory": "Stop.json",
		"gemini": "AfterAgent.json", "goose": "Stop.json", "opencode": "session.idle.json", "qwen": "Stop.json"}
	prompts := map[string]string{"claude": "UserPromptSubmit.json", "codex": "UserPromptSubmit.json", "continue": "UserPromptSubmit.json", "copilot": "userPromptSubmitted.json",
		"cursor": "beforeSubmitPrompt.json", "factory": "UserPromptSubmit.json", "gemini": "BeforeAgent.json", "goose": "UserPromptSubmit.json", "opencode": "chat.message.json", "qwen": "UserPromptSubmit.json"}
	for _, name := range client.Names() {
		file, ok := ends[name]
		if !ok {
			if name != "crush" { // it has no such event
				t.Errorf("nothing is known of the end of a turn of %s", name)
			}
			continue
		}
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.project("hooks/h.star", "hook(id = \"on\", version = \"1\", run = lambda ctx, call: proceed(\"go on %d\" % call.continuation), point = \"turn.after\")\n")
			h := l.published()
			event := strings.TrimSuffix(file, ".json")
			k, _ := client.KnownEvent(name, event)
			want := 8
			if k.Proceeds > 0 {
				want = min(want, k.Proceeds-1)
			}
			n := 0
			count := func(session string, times int) (on int) {
				for i := range times {
					n++
					active := payload.NewBool(i > 0)
					text := eventOf(t, name, file, session, n, payload.Field{Name: "stop_hook_active", Value: active}, payload.Field{Name: "continues", Value: active},
						payload.Field{Name: "loop_count", Value: payload.NewInt(int64(i))})
					out, _, err := h.Hook(t.Context(), name, event, text)
					if err != nil {
						t.Fatal(err)
					}
					if strings.Contains(string(out), fmt.Sprintf("go on %d", i)) {
						on++
					} else if i < want {
						t.Errorf("%s: the %d. time it is answered %s", session, i+1, out)
					}
				}
				return on
			}
			if on := count("one", want-1); on != want-1 {
				t.Errorf("it was sent on %d times of %d", on, want-1)
			}
			if on := count("two", want+3); on != want { // nothing of the other session counts
				t.Errorf("another session was sent on %d times, want %d", on, want)
			}
			n++
			h.hookFor(name, "", eventOf(t, name, prompts[name], "two", n))
			if on := count("two", want+3); on != want {
				t.Errorf("after another prompt it was sent on %d times, want %d", on, want)
			}
		})
	}
}

// hookFor is hookOf for a client that doesn't say its events.
func (h *host) hookFor(name, event string, stdin []byte) string {
	h.l.t.Helper()
	if name == "copilot" && event == "" {
		event = "userPromptSubmitted"
	}
	out, exit, err := h.Hook(h.l.t.Context(), name, event, stdin)
	if err != nil || exit != 0 {
		h.l.t.Fatalf("exit %d, %v", exit, err)
	}
	return strings.TrimSpace(string(out))
}

// TestEveryClientGetsPinnedContextAgain: after a compaction, with the first event that can carry it, once.
func TestEveryClientGetsPinnedContextAgain(t *testing.T) {
	for name, c := range map[string]struct {
		pins, shortens string   // events
		then           []string // those that follow; the one with a mark carries it
	}{
		"claude":   {"PostToolUse.json", "PostCompact.json", []string{"Stop.json", "!UserPromptSubmit.json", "UserPromptSubmit.json"}},
		"codex":    {"PostToolUse.json", "PostCompact.json", []string{"Stop.json", "!PostToolUse.mcp.json", "UserPromptSubmit.json"}},
		"continue": {"PostToolUse.json", "SessionStart.json", []string{"Stop.json", "!UserPromptSubmit.json", "UserPromptSubmit.json"}},
		"copilot":  {"postToolUse.json", "preCompact.json", []string{"agentStop.json", "preToolUse.json", "userPromptSubmitted.json", "!postToolUse.json", "postToolUse.json"}},
		"cursor":   {"postToolUse.json", "preCompact.json", []string{"stop.json", "beforeSubmitPrompt.json", "!postToolUse.json", "postToolUse.json"}},
		"gemini":   {"AfterTool-read_file.json", "PreCompress-manual.json", []string{"AfterAgent.json", "!BeforeAgent.json", "BeforeAgent.json"}},
		"opencode": {"tool.execute.after.json", "session.compacted.json", []string{"session.idle.json", "tool.execute.before.json", "!chat.message.json", "chat.message.json"}},
		"qwen":     {"PostToolUse.json", "PostCompact.json", []string{"Stop.json", "!UserPromptSubmit.json", "UserPromptSubmit.json"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.project("hooks/h.star", `
def pin(ctx, call):
    return context("keep to the style", pin = True) if not ctx.state.get("did") else None

def once(ctx, call):
    return [d for d in [pin(ctx, call), remember(did = True)] if d != None]

hook(id = "pin", version = "1", run = once, point = "tool.after", state = "pin")
`)
			h := l.published()
			n := 0
			send := func(file string) string {
				n++
				event, _, _ := strings.Cut(strings.TrimSuffix(file, ".json"), ".")
				if name == "gemini" || name == "opencode" {
					event = ""
				}
				more := []payload.Field{}
				if name == "continue" && strings.HasPrefix(file, "SessionStart") {
					more = append(more, payload.Field{Name: "source", Value: payload.NewString("compact")})
				}
				return h.hookFor(name, event, eventOf(t, name, file, "s", n, more...))
			}
			const text = "keep to the style"
			if got := send(c.pins); !strings.Contains(got, text) {
				t.Fatalf("it isn't given at all: %s", got)
			}
			at := send(c.shortens)
			if carries := strings.Contains(at, text); carries {
				if name != "continue" { // what tells that it was shortened carries it as well
					t.Errorf("%s carries it: %s", c.shortens, at)
				}
				return
			}
			for _, file := range c.then {
				file, want := strings.CutPrefix(file, "!")
				if got := send(file); strings.Contains(got, text) != want {
					t.Errorf("%s: %s, want it to have it: %v", file, got, want)
				}
			}
		})
	}
	for _, name := range client.Names() {
		c, err := client.For(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range c.Events() { // those beside have nothing that carries context, or nothing that shortens
			e := client.Event{Client: name, Name: k.Name, Point: k.Point}
			if (name == "goose" || name == "crush") && k.Point != "tool.before" && client.Carries(c, e) && points.Point(k.Point).Allows.Has(hookpoints.Context) {
				t.Errorf("%s can carry context at %s, and no case shows it", name, k.Name)
			}
		}
	}
}
