package client

import (
	"errors"
	"fmt"
	"strings"

	"agentd/hookpoints/payload"
)

// gemini is Gemini CLI. Facts about it, as seen with the real client: it parses stdout as JSON and
// then ignores the exit code, so answers go out with code 0; silence, a time-out and plain text let
// the tool run; a changed tool_input replaces the whole input; additionalContext counts after a tool
// and is dropped before one; allow skips nothing; a result can only be replaced by a denial.
type gemini struct{}

var geminiKinds = map[string]string{
	"run_shell_command": "shell", "read_file": "read", "read_many_files": "read", "list_directory": "search", "glob": "search",
	"search_file_content": "search", "grep_search": "search", "write_file": "write", "replace": "edit", "web_fetch": "fetch",
	"google_web_search": "fetch", "ask_user": "ask",
}

// Decode implements Codec.
func (gemini) Decode(stdin []byte) (Event, error) {
	v, err := payload.Parse(stdin)
	if err != nil {
		return Event{Client: "gemini"}, fmt.Errorf("gemini's event: %w", err)
	}
	e := Event{Client: "gemini", Name: said(v, "hook_event_name"), SessionID: said(v, "session_id"), Cwd: said(v, "cwd")}
	if e.Name == "" {
		return e, errors.New("gemini's event has no hook_event_name")
	}
	if e.Name != "BeforeTool" && e.Name != "AfterTool" {
		e.Ends = e.Name == "SessionEnd"
		return e, nil
	}
	e.Tool, e.Input = said(v, "tool_name"), v.Get("tool_input")
	if e.Tool == "" || e.Input.Kind() != payload.Object {
		return e, fmt.Errorf("gemini's %s has no tool_name or no tool_input object", e.Name)
	}
	e.ToolID, e.Kind = e.Tool, geminiKinds[e.Tool]
	if mcp := v.Get("mcp_context"); mcp.Kind() == payload.Object {
		e.Kind = "mcp"
		if server, name := said(mcp, "server_name"), said(mcp, "tool_name"); server != "" && name != "" {
			e.ToolID = "mcp:" + server + ":" + name
		}
	}
	if e.Kind == "" {
		e.Kind = "other"
	}
	if e.Name == "BeforeTool" {
		e.Point, e.Absent = "tool.before", []string{"implementation_id", "parameters"}
		e.Payload = payload.NewObject(field("name", text(e.Tool)), field("tool_id", text(e.ToolID)), field("implementation_id", payload.NewNull()),
			field("parameters", payload.NewObject()), field("arguments", e.Input))
		return e, nil
	}
	response := v.Get("tool_response")
	e.Point, e.Status = "tool.after", "succeeded"
	if failure := response.Get("error"); failure.Exists() && failure.Kind() != payload.Null {
		e.Status = "failed"
	}
	value := response.Get("llmContent") // what the model is shown
	if !value.Exists() {
		value = payload.NewNull()
		e.Absent = []string{"value"}
	}
	e.Payload = payload.NewObject(field("value", value), field("status", text(e.Status)), field("evidence_arguments", e.Input))
	return e, nil
}

// Encode implements Codec.
func (gemini) Encode(e Event, v Verdict) ([]byte, int) {
	var out []payload.Field
	specific := func(name string, value payload.Value) {
		out = append(out, field("hookSpecificOutput", payload.NewObject(field("hookEventName", text(e.Name)), field(name, value))))
	}
	deny := func(reason string) {
		out = append(out, field("decision", text("deny")), field("reason", text(withContext(reason, v.Context))))
	}
	switch v.Kind {
	default: // Deny, and what nobody has heard of
		deny(v.Reason)
	case Stop:
		out = append(out, field("continue", payload.NewBool(false)), field("stopReason", text(v.Reason)))
	case Ask:
		out = append(out, field("decision", text("ask")), field("reason", text(v.Reason)), field("systemMessage", text(v.Reason)))
		if v.Input.Exists() {
			specific("tool_input", v.Input)
		}
	case Respond:
		deny("a hook answered instead: " + plain(v.Value))
	case NoOpinion:
		switch {
		case e.Name == "BeforeTool" && v.Input.Exists():
			specific("tool_input", v.Input)
		case e.Name == "AfterTool" && v.Value.Exists():
			deny(plain(v.Value))
		case e.Name == "AfterTool" && len(v.Context) > 0:
			specific("additionalContext", text(strings.Join(v.Context, "\n")))
		}
	}
	return append(payload.NewObject(out...).JSON(), '\n'), 0
}

// withContext puts what hooks had to say where the model will read it.
func withContext(reason string, context []string) string {
	parts := context
	if reason != "" {
		parts = append([]string{reason}, context...)
	}
	return strings.Join(parts, "\n\n")
}

// said is a field that is a text; anything else is as if it weren't there.
func said(v payload.Value, name string) string {
	if f := v.Get(name); f.Kind() == payload.String {
		return f.Text()
	}
	return ""
}

// plain is a value as a text.
func plain(v payload.Value) string {
	if v.Kind() == payload.String {
		return v.Text()
	}
	return v.String()
}
