package client

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLacks(t *testing.T) {
	const why = "an ask before a tool makes the hook fail, and the call runs"
	for name, c := range map[string]struct {
		clients, point, source string
		want                   []string
	}{
		"said as it is":            {"claude", "tool.before", "def f(ctx, call):\n    return [reject(\"no\"), stop(\"c\")]", nil},
		"an ask":                   {"codex", "tool.confirm", "return ask(\"sure?\")", []string{"codex can't be told ask at PreToolUse, instead deny: " + why}},
		"an ask in Lua":            {"codex", "tool.confirm", "return ask\"sure?\"", []string{"codex can't be told ask at PreToolUse, instead deny: " + why}},
		"a word of another thing":  {"codex", "tool.confirm", "task(x); call.ask(); m:ask(); asks(1)", nil},
		"what the point forbids":   {"codex", "session.start", "ask(\"?\")", nil},
		"everywhere at the point":  {"goose", "turn.before", "return reject(\"no\")", []string{"goose can't be told reject at turn.before, instead nothing: it reads no decision here"}},
		"a point that isn't fired": {"crush", "turn.after", "return proceed(\"x\")", []string{"crush has no event that fires turn.after"}},
		"a client that nobody is":  {"nobody", "tool.before", "", []string{`agentd speaks with no client "nobody"`}},
		"a field": {"cursor", "tool.after", "return patch(value = 1)", []string{
			"cursor can't be told patch of value at postToolUse, instead context: only an MCP tool's result can be replaced"}},
		"another field": {"cursor", "tool.after", "return patch(other = 1)", nil},
		"several clients": {"claude codex gemini", "tool.before", "return stop(\"x\")", []string{
			"codex can't be told stop at tool.before, instead deny: a stop before a tool makes the hook fail, and the call runs"}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, Lacks(strings.Fields(c.clients), c.point, c.source)); d != "" {
				t.Error(d)
			}
		})
	}
}
