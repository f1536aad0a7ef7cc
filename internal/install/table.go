package install

import "agentd/internal/client"

// managed are the folders of Claude Code's settings that its user can't change.
const (
	claudeLinux = "/etc/claude-code/managed-settings.json"
	claudeMac   = "/Library/Application Support/ClaudeCode/managed-settings.json"
)

// familyCanary is the canary as Claude Code and the clients that copy it write an event; more is what tells them
// apart.
func familyCanary(more string) string {
	return `{"session_id":"agentd-doctor",` + more + `,"cwd":"CWD","hook_event_name":"PreToolUse","tool_name":"TOOL","tool_input":{},"tool_use_id":"agentd-doctor"}`
}

// Clients is the table.
var Clients = []Client{
	{
		Name: "gemini", Title: "Gemini CLI", Project: "./.gemini/settings.json", User: "~/.gemini/settings.json",
		Homes: map[string]string{"~": "GEMINI_CLI_HOME", "~/.gemini/trustedFolders.json": "GEMINI_CLI_TRUSTED_FOLDERS_PATH",
			"/etc/gemini-cli/system-defaults.json": "GEMINI_CLI_SYSTEM_DEFAULTS_PATH", "/etc/gemini-cli/settings.json": "GEMINI_CLI_SYSTEM_SETTINGS_PATH"}, Grouped: true,
		Handler: `{"type":"command","name":"agentd","command":"LINE","timeout":"MILLISECONDS"}`,
		Needs:   Needs{[]string{"gemini", "--version"}, client.Versions{From: "0.26.0"}, "an older one runs no hooks unless other keys than these tell it to"},
		Layers: []Layer{
			{"system defaults", "/etc/gemini-cli/system-defaults.json"}, {"user", "~/.gemini/settings.json"}, {"project", "./.gemini/settings.json"}, {"system", "/etc/gemini-cli/settings.json"},
			{"system", "/Library/Application Support/GeminiCli/settings.json"},
		},
		Switches: []Switch{
			{Path: "hooksConfig.enabled", Is: "false", Means: "hooks are switched off", Fix: `remove "enabled": false from hooksConfig`},
			{Path: "hooksConfig.disabled", Has: "agentd", Means: "the hook named agentd is switched off", Fix: `take "agentd" out of hooksConfig.disabled, or say /hooks enable agentd`},
		},
		CanaryEvent: "BeforeTool",
		Canary:      `{"session_id":"agentd-doctor","transcript_path":"","cwd":"CWD","hook_event_name":"BeforeTool","timestamp":"TIME","tool_name":"TOOL","tool_input":{}}`,
	},
	{
		Name: "claude", Title: "Claude Code", Project: "./.claude/settings.local.json", User: "~/.claude/settings.json",
		Homes: map[string]string{"~/.claude": "CLAUDE_CONFIG_DIR"}, Grouped: true, Plain: true, Mark: true,
		Handler: `{"type":"command","command":"PROGRAM","args":"ARGUMENTS","timeout":"SECONDS"}`,
		// It counts from 2.1.295 on; older ones take no notice of it.
		Closed: `"onFailure":"block"`, ClosedAt: []string{"PreToolUse", "PreSkillShellCommand", "PermissionRequest", "UserPromptSubmit"},
		Needs: Needs{[]string{"claude", "--version"}, client.Versions{From: "2.1.101"}, "an older one skips the whole file where it doesn't know one of the events"},
		Skip: map[string]string{
			"WorktreeCreate": "a hook there takes the place of what the client does itself",
			"MessageDisplay": "it comes with every piece of what is shown",
			// What a command becomes isn't in it: its prompt is what was typed.
			"UserPromptExpansion": "a prompt is judged at UserPromptSubmit, and would be once more",
		},
		Also: []string{"ConfigChange"},
		Layers: []Layer{
			{"user", "~/.claude/settings.json"}, {"project", "./.claude/settings.json"}, {"local", "./.claude/settings.local.json"}, {"managed", claudeLinux}, {"managed", claudeMac},
		},
		Switches: []Switch{
			{Path: "disableAllHooks", Is: "true", Means: "all hooks are switched off", Fix: `remove "disableAllHooks"`},
			{Layers: []string{"managed"}, Path: "allowManagedHooksOnly", Is: "true", Means: "only hooks of the company's settings run", Fix: `ask who manages this machine to register the hook there, or to remove "allowManagedHooksOnly"`},
			{Layers: []string{"managed"}, Path: "strictPluginOnlyCustomization", Is: "true", Means: "only hooks of plugins run", Fix: `ask who manages this machine to register the hook there, or to remove "strictPluginOnlyCustomization"`},
			{Layers: []string{"managed"}, Path: "strictPluginOnlyCustomization", Has: "hooks", Means: "only hooks of plugins run", Fix: `ask who manages this machine to register the hook there, or to take "hooks" out of strictPluginOnlyCustomization`},
		},
		CanaryEvent: "PreToolUse", Canary: familyCanary(`"transcript_path":"/.claude/projects/agentd/doctor.jsonl","permission_mode":"default"`),
	},
	{
		Name: "factory", Title: "Factory Droid", Project: "./.factory/settings.json", User: "~/.factory/settings.json", Grouped: true,
		Handler: `{"type":"command","command":"LINE","timeout":"SECONDS"}`,
		Then:    "Factory Droid reads its hooks when it starts: start it again",
		Layers: []Layer{
			{"user", "~/.factory/settings.json"}, {"user's local", "~/.factory/settings.local.json"}, {"project", "./.factory/settings.json"},
			{"local", "./.factory/settings.local.json"}, {"managed", "/etc/factory/settings.json"},
		},
		Shadows: map[string][]string{
			"./.factory/settings.json": {"./.factory/hooks.json", "./.factory/hooks/hooks.json"},
			"~/.factory/settings.json": {"~/.factory/hooks.json", "~/.factory/hooks/hooks.json"},
		},
		Switches: []Switch{
			{Path: "disableAllHooks", Is: "true", Means: "all hooks are switched off", Fix: `remove "disableAllHooks"`},
			{Path: "hooksDisabled", Is: "true", Means: "all hooks are switched off", Fix: `remove "hooksDisabled"`},
		},
		CanaryEvent: "PreToolUse", Canary: familyCanary(`"transcript_path":"/.factory/sessions/agentd/doctor.jsonl","permission_mode":"auto-low"`),
	},
	{
		Name: "qwen", Title: "Qwen Code", Project: "./.qwen/settings.json", User: "~/.qwen/settings.json", Grouped: true,
		Homes: map[string]string{"~/.qwen": "QWEN_HOME", "~/.qwen/trustedFolders.json": "QWEN_CODE_TRUSTED_FOLDERS_PATH",
			"/etc/qwen-code/system-defaults.json": "QWEN_CODE_SYSTEM_DEFAULTS_PATH", "/etc/qwen-code/settings.json": "QWEN_CODE_SYSTEM_SETTINGS_PATH"},
		Handler: `{"type":"command","name":"agentd","command":"LINE","timeout":"MILLISECONDS"}`,
		Skip: map[string]string{
			// What a command becomes is sent on as a prompt, which UserPromptSubmit has.
			"UserPromptExpansion": "a prompt is judged at UserPromptSubmit, and would be once more",
		},
		Layers: []Layer{
			{"system defaults", "/etc/qwen-code/system-defaults.json"}, {"user", "~/.qwen/settings.json"}, {"project", "./.qwen/settings.json"}, {"system", "/etc/qwen-code/settings.json"},
		},
		Switches: []Switch{
			{Path: "disableAllHooks", Is: "true", Means: "all hooks are switched off", Fix: `remove "disableAllHooks"`},
			{Path: "hooksConfig.enabled", Is: "false", Means: "hooks are switched off", Fix: `remove "enabled": false from hooksConfig`},
			{Path: "hooksConfig.disabled", Has: "agentd", Means: "the hook named agentd is switched off", Fix: `take "agentd" out of hooksConfig.disabled`},
		},
		CanaryEvent: "PreToolUse", Canary: familyCanary(`"transcript_path":"/.qwen/tmp/agentd/doctor.jsonl","permission_mode":"default","timestamp":"TIME"`),
	},
	{
		Name: "continue", Title: "Continue CLI", Project: "./.continue/settings.local.json", User: "~/.continue/settings.json",
		Homes: map[string]string{"~/.continue": "CONTINUE_GLOBAL_DIR"}, Grouped: true, Plain: true,
		Handler: `{"type":"command","command":"LINE","timeout":"SECONDS"}`,
		Layers: []Layer{
			{"Claude Code's user", "~/.claude/settings.json"}, {"user", "~/.continue/settings.json"}, {"Claude Code's project", "./.claude/settings.json"}, {"project", "./.continue/settings.json"},
			{"Claude Code's local", "./.claude/settings.local.json"}, {"local", "./.continue/settings.local.json"},
		},
		Switches:    []Switch{{Path: "disableAllHooks", Is: "true", Means: "all hooks are switched off", Fix: `remove "disableAllHooks"`}},
		CanaryEvent: "PreToolUse", Canary: familyCanary(`"transcript_path":"","permission_mode":"default"`),
	},
	{
		Name: "crush", Title: "Crush", Project: "./crush.json", User: "~/.config/crush/crush.json", Homes: map[string]string{"~/.config": "XDG_CONFIG_HOME"},
		Handler:     `{"name":"agentd","command":"LINE","timeout":"SECONDS"}`,
		Layers:      []Layer{{"user", "~/.config/crush/crush.json"}, {"project", "./crush.json"}, {"hidden project", "./.crush.json"}},
		CanaryEvent: "PreToolUse",
		Canary:      `{"event":"PreToolUse","session_id":"agentd-doctor","cwd":"CWD","tool_name":"TOOL","tool_input":{}}`,
	},
	{
		Name: "codex", Title: "Codex CLI", Project: "./.codex/hooks.json", User: "~/.codex/hooks.json", Homes: map[string]string{"~/.codex": "CODEX_HOME"}, Grouped: true,
		Handler:     `{"type":"command","command":"LINE","timeout":"SECONDS"}`,
		Login:       true,
		Plain:       true,
		Top:         []string{"description", "hooks"},
		Then:        "Codex CLI runs no hook that nobody approved: start it and approve them under /hooks",
		Layers:      []Layer{{"user", "~/.codex/hooks.json"}, {"project", "./.codex/hooks.json"}},
		CanaryEvent: "PreToolUse",
		Canary:      `{"session_id":"agentd-doctor","transcript_path":null,"cwd":"CWD","hook_event_name":"PreToolUse","model":"none","permission_mode":"default","turn_id":"agentd-doctor","tool_name":"TOOL","tool_input":{"command":""},"tool_use_id":"agentd-doctor"}`,
	},
	{
		Name: "cursor", Title: "Cursor", Project: "./.cursor/hooks.json", User: "~/.cursor/hooks.json", Start: `{"version":1}`, Strict: true,
		Handler: `{"command":"LINE","type":"command","timeout":"SECONDS"}`, Closed: `"failClosed":true`,
		Skip: map[string]string{
			"beforeTabFileRead": "it comes with every completion that is typed",
			"afterTabFileEdit":  "it comes with every completion that is typed",
			"afterAgentThought": "it comes with every piece of a thought",
		},
		Layers: []Layer{
			{"user", "~/.cursor/hooks.json"}, {"project", "./.cursor/hooks.json"}, {"enterprise", "/etc/cursor/hooks.json"}, {"enterprise", "/Library/Application Support/Cursor/hooks.json"},
		},
		CanaryEvent: "preToolUse",
		Canary:      `{"conversation_id":"agentd-doctor","generation_id":"agentd-doctor","model":"none","hook_event_name":"preToolUse","cursor_version":"0","workspace_roots":["CWD"],"user_email":null,"transcript_path":null,"tool_name":"TOOL","tool_input":{},"tool_use_id":"agentd-doctor","cwd":"CWD"}`,
	},
	{
		Name: "copilot", Title: "Copilot CLI", Project: "./.github/hooks/agentd.json", User: "~/.copilot/hooks/agentd.json", Start: `{"version":1}`,
		Homes:   map[string]string{"~/.copilot": "COPILOT_HOME"},
		Handler: `{"type":"command","bash":"LINE","timeoutSec":"SECONDS"}`,
		Then:    "Copilot CLI runs a project's hooks in a folder that it trusts only, and those at the top of its repository only; yours (--user) it runs everywhere",
		Layers: []Layer{{"user", "~/.copilot/hooks/agentd.json"}, {"user's general", "~/.copilot/settings.json"}, {"project", "./.github/hooks/agentd.json"},
			{"project's general", "./.github/copilot/settings.json"}, {"local", "./.github/copilot/settings.local.json"}},
		Switches:    []Switch{{Path: "disableAllHooks", Is: "true", Means: "all hooks are switched off", Fix: `remove "disableAllHooks"`}},
		CanaryEvent: "preToolUse",
		Canary:      `{"sessionId":"agentd-doctor","timestamp":0,"cwd":"CWD","toolName":"TOOL","toolArgs":{}}`,
	},
	{
		Name: "goose", Title: "Goose", Project: "./.agents/plugins/agentd/hooks/hooks.json", User: "~/.agents/plugins/agentd/hooks/hooks.json", Grouped: true,
		Handler: `{"type":"command","command":"LINE","timeout":"SECONDS"}`, Closed: `"on_failure":"block"`, ClosedAt: []string{"PreToolUse"},
		Needs: Needs{[]string{"goose", "--version"}, client.Versions{From: "1.34.0"}, "an older one has no hooks"},
		Skip: map[string]string{
			"PreToolUseResult": "it only repeats what was decided",
		},
		Manifest:    `{"name":"agentd","version":"1.0.0","description":"Asks the hooks of agentd"}`,
		Layers:      []Layer{{"user", "~/.agents/plugins/agentd/hooks/hooks.json"}, {"project", "./.agents/plugins/agentd/hooks/hooks.json"}},
		CanaryEvent: "PreToolUse",
		Canary:      `{"event":"PreToolUse","session_id":"agentd-doctor","matcher_context":"TOOL","tool_name":"TOOL","tool_input":{},"working_dir":"CWD","tool_call_id":"agentd-doctor"}`,
	},
	{
		Name: "opencode", Title: "OpenCode", Project: "./.opencode/plugins/agentd.js", User: "~/.config/opencode/plugins/agentd.js",
		Homes: map[string]string{"~/.config": "XDG_CONFIG_HOME"}, Plugin: opencodePlugin,
		Then:        "OpenCode loads its plugins when it starts: start it again",
		CanaryEvent: "tool.execute.before",
		Canary:      `{"client":"opencode","event":"tool.execute.before","session_id":"agentd-doctor","cwd":"CWD","call_id":"agentd-doctor","tool":"TOOL","arguments":{}}`,
	},
}
