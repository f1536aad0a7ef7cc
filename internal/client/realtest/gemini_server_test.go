package realtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// chunk is a piece of a model's turn: a text, or a call of a tool.
type chunk struct {
	text string
	call string
	args map[string]any
}

// geminiServer speaks as much of the Gemini API as Gemini CLI needs. Turns are played in order, the last
// one again and again.
type geminiServer struct {
	*httptest.Server
	turns [][]chunk
	asked func(n int) // called before the n-th request for a turn is answered, from 1; may be nil

	mu       sync.Mutex
	requests []request // for a turn
}

// request is what the client asked the model.
type request struct {
	Contents []struct {
		Role  string `json:"role"`
		Parts []struct {
			Text             string          `json:"text"`
			FunctionResponse json.RawMessage `json:"functionResponse"`
		} `json:"parts"`
	} `json:"contents"`
	ToolConfig struct {
		FunctionCallingConfig struct {
			Mode  string   `json:"mode"`
			Names []string `json:"allowedFunctionNames"`
		} `json:"functionCallingConfig"`
	} `json:"toolConfig"`
	GenerationConfig struct {
		Temperature *float64 `json:"temperature"`
		TopP        *float64 `json:"topP"`
	} `json:"generationConfig"`
	raw string
}

var rpc = regexp.MustCompile(`/models/[^:?]+:(\w+)`)

func newGeminiServer(t *testing.T, turns ...[]chunk) *geminiServer {
	s := &geminiServer{turns: turns}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *geminiServer) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	method := ""
	if m := rpc.FindStringSubmatch(r.URL.Path); m != nil {
		method = m[1]
	}
	switch method {
	case "countTokens":
		io.WriteString(w, `{"totalTokens":10}`)
	case "generateContent": // what the client asks for itself
		var q struct {
			GenerationConfig struct {
				Schema  any    `json:"responseJsonSchema"`
				Schema2 any    `json:"responseSchema"`
				Mime    string `json:"responseMimeType"`
			} `json:"generationConfig"`
		}
		if err := json.Unmarshal(body, &q); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		text := "<state_snapshot>what was said</state_snapshot>"
		if schema := q.GenerationConfig.Schema; schema != nil || q.GenerationConfig.Schema2 != nil || q.GenerationConfig.Mime == "application/json" {
			if schema == nil {
				schema = q.GenerationConfig.Schema2
			}
			sample, _ := json.Marshal(instance(schema))
			text = string(sample)
		}
		w.Write(piece(chunk{text: text}, true))
	case "streamGenerateContent":
		n, turn := s.take(body)
		if s.asked != nil {
			s.asked(n)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for i, c := range turn {
			fmt.Fprintf(w, "data: %s\r\n\r\n", piece(c, i == len(turn)-1))
		}
	default:
		http.NotFound(w, r)
	}
}

// take notes a request and finds its turn.
func (s *geminiServer) take(body []byte) (int, []chunk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := request{raw: string(body)}
	if err := json.Unmarshal(body, &q); err != nil {
		q.raw += "\n" + err.Error()
	}
	s.requests = append(s.requests, q)
	return len(s.requests), s.turns[min(len(s.requests), len(s.turns))-1]
}

// seen are the requests so far.
func (s *geminiServer) seen() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]request(nil), s.requests...)
}

func piece(c chunk, last bool) []byte {
	part := map[string]any{"text": c.text}
	if c.call != "" {
		part = map[string]any{"functionCall": map[string]any{"name": c.call, "args": c.args}}
	}
	candidate := map[string]any{"index": 0, "content": map[string]any{"role": "model", "parts": []any{part}}}
	if last {
		candidate["finishReason"] = "STOP"
	}
	text, _ := json.Marshal(map[string]any{"candidates": []any{candidate}, "usageMetadata": map[string]any{"promptTokenCount": 100, "candidatesTokenCount": 7, "totalTokenCount": 107}, "modelVersion": "m"})
	return text
}

// instance is the least that fulfils a schema. Numbers are 0: one that says how sure the model is that the
// agent goes round in circles would end the run.
func instance(schema any) any {
	m, _ := schema.(map[string]any)
	if list, ok := m["enum"].([]any); ok && len(list) > 0 {
		return list[0]
	}
	kind, _ := m["type"].(string)
	switch strings.ToLower(kind) {
	case "array":
		return []any{}
	case "boolean":
		return false
	case "number", "integer":
		return 0
	case "string":
		return "ok"
	}
	out := map[string]any{}
	properties, _ := m["properties"].(map[string]any)
	for name, p := range properties {
		out[name] = instance(p)
	}
	return out
}

// texts is all that a request says in words.
func (q request) texts() string {
	var out []string
	for _, c := range q.Contents {
		for _, p := range c.Parts {
			out = append(out, p.Text)
		}
	}
	return strings.Join(out, "\n")
}

// result is the last result of a tool in a request, as JSON.
func (q request) result() string {
	last := ""
	for _, c := range q.Contents {
		for _, p := range c.Parts {
			if len(p.FunctionResponse) > 0 {
				last = string(p.FunctionResponse)
			}
		}
	}
	return last
}
