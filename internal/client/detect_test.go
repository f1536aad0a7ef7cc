package client

import (
	"os"
	"path/filepath"
	"testing"
)

// TestClientsAreRecognised: clients run what was registered for another one, with events of their own.
func TestClientsAreRecognised(t *testing.T) {
	for _, real := range Names() {
		files, err := os.ReadDir(filepath.Join(captures, real))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			m, err := Read(read(t, real, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			for _, named := range Names() {
				if got := Detect(named, m); got != real {
					t.Errorf("%s/%s, run as the hook of %s, was taken for %s's", real, f.Name(), named, got)
				}
			}
		}
	}
}

// TestMarksOfOthersCannotBeForged: what a model writes into a tool's arguments says nothing about the client.
func TestMarksOfOthersCannotBeForged(t *testing.T) {
	for _, input := range []string{`{"cursor_version":"1","conversation_id":"c","workspace_roots":["/"]}`, `{"sessionId":"s","timestamp":1}`, `{"event":"PreToolUse","working_dir":"/"}`,
		`{"transcript_path":"/home/user/.codex/sessions/rollout-1.jsonl","turn_id":"t","model":"m"}`} {
		m, err := Read([]byte(`{"session_id":"s","transcript_path":"/home/user/.claude/projects/p/s.jsonl","cwd":"/home/user","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"u","tool_input":` + input + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := Detect("claude", m); got != "claude" {
			t.Errorf("%s in an input made it %s's", input, got)
		}
	}
}
