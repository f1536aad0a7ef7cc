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
	e := Event{Client: "gemini", Name: v.Get("hook_event_name").Text(), SessionID: v.Get("session_id").Text(), Cwd: v.Get("cwd").Text()}
	if e.Name == "" {
		return e, errors.New("gemini's event has no hook_event_name")
	}
	if e.Name != "BeforeTool" && e.Name != "AfterTool" {
		e.Ends = e.Name == "SessionEnd"
		return e, nil
	}
	e.Tool, e.Input = v.Get("tool_name").Text(), v.Get("tool_input")
	if e.Tool == "" || e.Input.Kind() != payload.Object {
		return e, fmt.Errorf("gemini's %s has no tool_name or no tool_input object", e.Name)
	}
	e.ToolID, e.Kind = e.Tool, geminiKinds[e.Tool]
	if mcp := v.Get("mcp_context"); mcp.Kind() == payload.Object {
		e.ToolID, e.Kind = "mcp:"+mcp.Get("server_name").Text()+":"+mcp.Get("tool_name").Text(), "mcp"
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
	switch v.Kind {
	case Deny:
		out = append(out, field("decision", text("deny")), field("reason", text(withContext(v.Reason, v.Context))))
	case Stop:
		out = append(out, field("continue", payload.NewBool(false)), field("stopReason", text(v.Reason)))
	case Ask:
		out = append(out, field("decision", text("ask")), field("reason", text(v.Reason)), field("systemMessage", text(v.Reason)))
		if v.Input.Exists() {
			specific("tool_input", v.Input)
		}
	case Respond:
		out = append(out, field("decision", text("deny")), field("reason", text("a hook answered instead: "+plain(v.Value))))
	case NoOpinion:
		switch {
		case e.Name == "BeforeTool" && v.Input.Exists():
			specific("tool_input", v.Input)
		case e.Name == "AfterTool" && v.Value.Exists():
			out = append(out, field("decision", text("deny")), field("reason", text(withContext(plain(v.Value), v.Context))))
		case e.Name == "AfterTool" && len(v.Context) > 0:
			specific("additionalContext", text(strings.Join(v.Context, "\n")))
		}
	}
	return append(payload.NewObject(out...).JSON(), '\n'), 0
}

// withContext puts what hooks had to say where the model will read it.
func withContext(reason string, context []string) string {
	return strings.Join(append([]string{reason}, context...), "\n\n")
}

// plain is a value as a text.
func plain(v payload.Value) string {
	if v.Kind() == payload.String {
		return v.Text()
	}
	return v.String()
}
