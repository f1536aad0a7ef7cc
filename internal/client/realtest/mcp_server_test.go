package realtest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// serveMCP is an MCP server with one tool, which says what it is told, until its input ends. This package's
// test program becomes one where mcpVariable is set.
func serveMCP(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var q struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Version   string `json:"protocolVersion"`
				Arguments struct {
					Text string `json:"text"`
				} `json:"arguments"`
			} `json:"params"`
		}
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			return err
		}
		if q.ID == nil { // it only says something
			continue
		}
		var result any
		switch q.Method {
		case "initialize":
			result = map[string]any{"protocolVersion": q.Params.Version, "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "parrot", "version": "1"}}
		case "tools/list":
			schema := map[string]any{"type": "object", "required": []string{"text"}, "properties": map[string]any{"text": map[string]any{"type": "string"}}}
			result = map[string]any{"tools": []any{map[string]any{"name": "say", "description": "Says it.", "inputSchema": schema}}}
		case "tools/call":
			result = map[string]any{"content": []any{map[string]any{"type": "text", "text": "It says: " + q.Params.Arguments.Text}}}
		default:
			result = map[string]any{}
		}
		text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": q.ID, "result": result})
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s\n", text); err != nil {
			return err
		}
	}
	return lines.Err()
}

// mcpVariable makes the test program an MCP server.
const mcpVariable = "AGENTD_REALTEST_MCP"
