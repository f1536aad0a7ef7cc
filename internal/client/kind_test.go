package client

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentd/hookpoints/payload"
)

// TestToolsHaveTheirKinds: what a client's own tools are, by the names that it has for them. A guard of a kind
// doesn't see a tool that is taken for another.
func TestToolsHaveTheirKinds(t *testing.T) {
	calls := map[string]string{
		"claude": "PreToolUse.json", "codex": "PreToolUse.json", "cursor": "preToolUse.json", "copilot": "preToolUse.json", "gemini": "BeforeTool-write_file.json", "qwen": "PreToolUse.json",
		"factory": "PreToolUse.json", "continue": "PreToolUse.json", "crush": "PreToolUse.json", "goose": "PreToolUse.json", "opencode": "tool.execute.before.json",
	}
	text, err := os.ReadFile(filepath.Join("testdata", "kinds.txt"))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		name, want := words[0], words[1]
		listed[name] = true
		call, err := payload.Parse(read(t, name, calls[name]))
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range words[2:] {
			for _, key := range []string{"tool_name", "toolName", "tool"} {
				if call.Get(key).Exists() {
					call = call.With(field(key, payload.NewString(tool)))
				}
			}
			_, e, err := Understand(name, "preToolUse", call.JSON())
			if err != nil || e.Tool != tool || e.Kind != want {
				t.Errorf("%s's %s is %s, want %s: %v", name, e.Tool, e.Kind, want, err)
			}
		}
	}
	for _, name := range Names() {
		if !listed[name] {
			t.Errorf("no tools of %s are listed", name)
		}
	}
}
