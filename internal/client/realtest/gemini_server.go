package realtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
)

// Chunk is a piece of a model's turn: a text, or a call of a tool.
type Chunk struct {
	Text string
	Call string         // the name of a tool, "" where there is only a text
	Args map[string]any // of the call
}

// Gemini speaks as much of the Gemini API as Gemini CLI needs. Turns are played in order, the last one again
// and again.
type Gemini struct {
	turns [][]Chunk
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

// NewGemini makes a model that says these turns, of which there must be one.
func NewGemini(turns ...[]Chunk) *Gemini { return &Gemini{turns: turns} }

// ServeHTTP answers one request of the client.
func (s *Gemini) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
		w.Write(piece(Chunk{Text: text}, true))
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
func (s *Gemini) take(body []byte) (int, []Chunk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := request{raw: string(body)}
	if err := json.Unmarshal(body, &q); err != nil {
		q.raw += "\n" + err.Error()
	}
	s.requests = append(s.requests, q)
	return len(s.requests), s.turns[min(len(s.requests), len(s.turns))-1]
}

func piece(c Chunk, last bool) []byte {
	var parts []any
	if c.Text != "" || c.Call == "" {
		parts = append(parts, map[string]any{"text": c.Text})
	}
	if c.Call != "" {
		parts = append(parts, map[string]any{"functionCall": map[string]any{"name": c.Call, "args": c.Args}})
	}
	candidate := map[string]any{"index": 0, "content": map[string]any{"role": "model", "parts": parts}}
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
