package client

import "strings"

// toolKinds is the normal kind of tools by the names that clients give them. A name means the same
// whoever uses it.
var toolKinds = map[string]string{
	"Bash": "shell", "bash": "shell", "PowerShell": "shell", "powershell": "shell", "Shell": "shell", "shell": "shell", "Execute": "shell",
	"run_shell_command": "shell", "developer__shell": "shell", "exec_command": "shell", "local_shell": "shell", "shell_command": "shell", "BashOutput": "shell", "KillShell": "shell",
	"Monitor": "shell", "monitor": "shell", "run_in_terminal": "shell", "runTerminalCommand": "shell", "send_to_terminal": "shell", "get_terminal_output": "shell", "kill_terminal": "shell",
	"create_and_run_task": "shell", "run_task": "shell", "write_stdin": "shell", "write_bash": "shell", "read_bash": "shell", "stop_bash": "shell", "list_bash": "shell",
	"write_powershell": "shell", "read_powershell": "shell", "stop_powershell": "shell", "list_powershell": "shell", "job_output": "shell", "job_kill": "shell",
	"computercontroller__automation_script": "shell", "list_background_processes": "shell", "read_background_output": "shell",

	"Read": "read", "read": "read", "read_file": "read", "read_many_files": "read", "view": "read", "NotebookRead": "read", "view_image": "read", "readFile": "read",
	"read_notebook_cell_output": "read", "copilot_getNotebookSummary": "read", "developer__read_image": "read", "developer__image_processor": "read",

	"Write": "write", "write_file": "write", "Create": "write", "create": "write", "write": "write", "create_file": "write", "createFile": "write", "create_directory": "write",
	"create_new_jupyter_notebook": "write", "developer__write": "write",

	"Edit": "edit", "MultiEdit": "edit", "NotebookEdit": "edit", "edit": "edit", "multiedit": "edit", "replace": "edit", "apply_patch": "edit", "ApplyPatch": "edit",
	"str_replace_editor": "edit", "text_editor": "edit", "EditNotebook": "edit", "developer__text_editor": "edit", "Delete": "edit", "edit_file": "edit", "editFiles": "edit", "edit_files": "edit",
	"insert_edit_into_file": "edit", "replace_string_in_file": "edit", "multi_replace_string_in_file": "edit", "edit_notebook_file": "edit", "notebook_edit": "edit", "StrReplace": "edit",
	"str_replace": "edit", "str_replace_based_edit_tool": "edit", "developer__edit": "edit",

	"Grep": "search", "grep": "search", "rg": "search", "Glob": "search", "glob": "search", "LS": "search", "ls": "search", "list_directory": "search", "list_dir": "search",
	"List": "search", "Search": "search", "SemanticSearch": "search", "semantic_search": "search", "sourcegraph": "search", "search_file_content": "search", "grep_search": "search",
	"file_search": "search", "test_search": "search", "list_code_usages": "search", "search_workspace_symbols": "search", "developer__tree": "search", "developer__analyze": "search",

	"WebFetch": "fetch", "WebSearch": "fetch", "web_fetch": "fetch", "web_search": "fetch", "google_web_search": "fetch", "FetchUrl": "fetch", "Fetch": "fetch", "agentic_fetch": "fetch", "download": "fetch", "fetch": "fetch",
	"fetch_webpage": "fetch", "open_simple_browser": "fetch", "open_browser_page": "fetch", "computercontroller__web_scrape": "fetch",

	"Task": "agent", "Agent": "agent", "task": "agent", "agent": "agent", "invoke_agent": "agent", "runSubagent": "agent", "search_subagent": "agent", "explore_subagent": "agent",
	"execution_subagent": "agent", "spawn_agent": "agent", "delegate": "agent",

	"AskUserQuestion": "ask", "ask_user": "ask", "ask_user_question": "ask", "AskUser": "ask", "AskQuestion": "ask", "vscode_askQuestions": "ask", "request_user_input": "ask",
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
