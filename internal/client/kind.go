package client

import "strings"

// toolKinds is the normal kind of tools by the names that clients give them. A name means the same
// whoever uses it.
var toolKinds = map[string]string{
	"Bash": "shell", "bash": "shell", "PowerShell": "shell", "powershell": "shell", "Shell": "shell", "shell": "shell", "Execute": "shell",
	"run_shell_command": "shell", "developer__shell": "shell", "exec_command": "shell", "local_shell": "shell", "BashOutput": "shell", "KillShell": "shell",

	"Read": "read", "read_file": "read", "read_many_files": "read", "view": "read", "NotebookRead": "read", "view_image": "read",

	"Write": "write", "write_file": "write", "Create": "write", "create": "write", "write": "write",

	"Edit": "edit", "MultiEdit": "edit", "NotebookEdit": "edit", "edit": "edit", "multiedit": "edit", "replace": "edit", "apply_patch": "edit", "ApplyPatch": "edit",
	"str_replace_editor": "edit", "text_editor": "edit", "EditNotebook": "edit", "developer__text_editor": "edit", "Delete": "edit", "edit_file": "edit",

	"Grep": "search", "grep": "search", "Glob": "search", "glob": "search", "LS": "search", "ls": "search", "list_directory": "search",
	"List": "search", "Search": "search", "SemanticSearch": "search", "sourcegraph": "search", "search_file_content": "search", "grep_search": "search",

	"WebFetch": "fetch", "WebSearch": "fetch", "web_fetch": "fetch", "web_search": "fetch", "google_web_search": "fetch", "FetchUrl": "fetch", "Fetch": "fetch", "agentic_fetch": "fetch", "download": "fetch", "fetch": "fetch",

	"Task": "agent", "Agent": "agent", "task": "agent", "agent": "agent",

	"AskUserQuestion": "ask", "ask_user": "ask",
}

// kindOf is the normal kind of a tool. Names of tools of MCP servers say so themselves.
func kindOf(tool string) string {
	if kind := toolKinds[tool]; kind != "" {
		return kind
	}
	if server, _ := mcpTool(tool); server != "" {
		return "mcp"
	}
	return "other"
}

// mcpTool takes a name like mcp__SERVER__TOOL apart. One like MCP:TOOL doesn't say its server, which is
// then "*": there is no server of that name.
func mcpTool(name string) (server, tool string) {
	if tool, ok := strings.CutPrefix(name, "MCP:"); ok && tool != "" {
		return "*", tool
	}
	rest, ok := strings.CutPrefix(name, "mcp__")
	if !ok {
		return "", ""
	}
	server, tool, ok = strings.Cut(rest, "__")
	if !ok || server == "" || tool == "" {
		return "", ""
	}
	return server, tool
}

// uses says which tool an event is about: its name, our id of it and its normal kind.
func (e *Event) uses(tool string) {
	e.Tool, e.ToolID, e.Kind = tool, tool, kindOf(tool)
	if server, name := mcpTool(tool); server != "" {
		e.ToolID = "mcp:" + server + ":" + name
	}
}
