package client

import "agentd/hookpoints/payload"

// mark is what only one client's events have.
type mark struct {
	client string
	has    func(v payload.Value) bool
}

// marks are asked in order. Clients load one another's configuration and then send their own events to a
// command that was registered for somebody else. Only what the client itself writes at the top of its
// event counts: nothing that a model could have written.
var marks = []mark{
	{"cursor", func(v payload.Value) bool {
		return v.Get("cursor_version").Exists() || v.Get("conversation_id").Exists() && v.Get("workspace_roots").Exists()
	}},
	{"copilot", func(v payload.Value) bool {
		return v.Get("sessionId").Exists() && v.Get("timestamp").Kind() == payload.Number && !v.Get("session_id").Exists()
	}},
	{"goose", func(v payload.Value) bool { return v.Get("event").Exists() && v.Get("working_dir").Exists() }},
	{"codex", func(v payload.Value) bool {
		return v.Get("hook_event_name").Exists() && v.Get("turn_id").Exists() && v.Get("model").Exists() && !v.Get("prompt_id").Exists()
	}},
	{"gemini", func(v payload.Value) bool {
		_, ok := KnownEvent("gemini", said(v, "hook_event_name"))
		return ok && geminisOwn[said(v, "hook_event_name")]
	}},
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
