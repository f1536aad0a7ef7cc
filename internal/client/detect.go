package client

import (
	"slices"
	"strings"

	"agentd/hookpoints/payload"
)

// mark is what only one client's events have.
type mark struct {
	client string
	has    func(v payload.Value) bool
}

// marks are asked in order. Clients load one another's configuration and then send their own events to a
// command that was registered for somebody else. Only what the client itself writes at the top of its
// event counts: nothing that a model could have written.
var marks = []mark{
	{"opencode", func(v payload.Value) bool { return said(v, "client") == "opencode" && has(v, "event") }}, // its plugin is ours
	{"cursor", func(v payload.Value) bool {
		return has(v, "cursor_version") || has(v, "conversation_id") && has(v, "workspace_roots")
	}},
	{"copilot", func(v payload.Value) bool {
		return has(v, "sessionId") && v.Get("timestamp").Kind() == payload.Number && !has(v, "session_id")
	}},
	{"goose", func(v payload.Value) bool {
		return has(v, "event") && !has(v, "hook_event_name") && (has(v, "working_dir") || has(v, "matcher_context"))
	}},
	{"crush", func(v payload.Value) bool {
		return has(v, "event") && !has(v, "hook_event_name") && has(v, "cwd") && has(v, "session_id") && !has(v, "client")
	}},
	{"codex", func(v payload.Value) bool {
		return has(v, "hook_event_name") && kept(v) == "codex" || has(v, "hook_event_name") && has(v, "model") && !has(v, "prompt_id") && !has(v, "timestamp") &&
			(has(v, "turn_id") || has(v, "permission_mode") && (v.Get("transcript_path").Kind() == payload.Null || strings.Contains(said(v, "transcript_path"), "rollout-")))
	}},
	{"gemini", func(v payload.Value) bool {
		name := spelled("gemini", said(v, "hook_event_name"))
		return knows("gemini", name) && (geminisOwn[name] || has(v, "timestamp") && kept(v) == "gemini")
	}},
	{"qwen", func(v payload.Value) bool {
		return has(v, "hook_event_name") && said(v, "timestamp") != "" && has(v, "transcript_path") && (kept(v) == "qwen" || kept(v) == "" && has(v, "permission_mode")) ||
			slices.Contains([]string{"auto_edit", "yolo"}, said(v, "permission_mode"))
	}},
	{"copilot", func(v payload.Value) bool { // its other dialect
		return copilotNames[spoken(v, "hook_event_name")] != "" && said(v, "timestamp") != "" && !has(v, "permission_mode") && (!has(v, "transcript_path") || kept(v) == "copilot" || inEditor(v))
	}},
	{"factory", func(v payload.Value) bool {
		return slices.Contains([]string{"off", "spec", "auto-low", "auto-medium", "auto-high"}, spoken(v, "permission_mode")) || kept(v) == "factory"
	}},
	{"continue", func(v payload.Value) bool { // it writes no transcript and says so
		return has(v, "hook_event_name") && v.Get("transcript_path").Kind() == payload.String && said(v, "transcript_path") == "" && !has(v, "timestamp") &&
			slices.Contains([]string{"", "normal", "plan", "auto"}, said(v, "permission_mode"))
	}},
	{"claude", func(v payload.Value) bool {
		return kept(v) == "claude" || has(v, "prompt_id") && has(v, "hook_event_name") && !has(v, "timestamp")
	}},
}

// inEditor reports whether a transcript is kept by Visual Studio Code.
func inEditor(v payload.Value) bool {
	return strings.Contains(strings.ToLower(strings.ReplaceAll(spoken(v, "transcript_path"), `\`, "/")), "/github.copilot")
}

func has(v payload.Value, name string) bool { return v.Get(name).Exists() }

// kept is the client in whose folder a transcript is kept, "" if it is in nobody's.
func kept(v payload.Value) string {
	path := strings.ReplaceAll(spoken(v, "transcript_path"), `\`, "/")
	client, last := "", -1
	for _, c := range []string{"claude", "codex", "cursor", "copilot", "factory", "qwen", "gemini", "continue"} {
		if i := strings.LastIndex(path, "/."+c+"/"); i > last {
			client, last = c, i
		}
	}
	return client
}

// geminisOwn are the names that no client but Gemini CLI gives to events.
var geminisOwn = map[string]bool{"BeforeTool": true, "AfterTool": true, "BeforeAgent": true, "AfterAgent": true, "BeforeModel": true,
	"AfterModel": true, "BeforeToolSelection": true, "PreCompress": true}

// Detect says which client sent a message that was meant for another one's hook. Without a mark of a
// client that agentd speaks with it is the named one.
func Detect(named string, m Message) string {
	for _, mk := range marks {
		if mk.client != named && codecs[mk.client] != nil && mk.has(m.Value) && !marked(named, m.Value) {
			return mk.client
		}
	}
	return named
}

func marked(client string, v payload.Value) bool {
	for _, mk := range marks {
		if mk.client == client && mk.has(v) {
			return true
		}
	}
	return false
}
