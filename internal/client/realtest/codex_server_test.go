package realtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// codexServer speaks as much of the Responses API as Codex needs. Turns are played in order, the last one
// again and again.
type codexServer struct {
	*httptest.Server
	turns [][]Chunk

	mu       sync.Mutex
	requests []string // for a turn: all that the model is shown, as JSON
}

func newCodexServer(t *testing.T, turns ...[]Chunk) *codexServer {
	s := &codexServer{turns: turns}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *codexServer) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || !strings.HasSuffix(r.URL.Path, "/responses") {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"object":"list","data":[],"models":[]}`)
		return
	}
	var q struct {
		Input json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(body, &q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	turn := s.turns[min(len(s.requests), len(s.turns)-1)]
	s.requests = append(s.requests, string(q.Input))
	n := len(s.requests)
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(kind string, more map[string]any) {
		more["type"] = kind
		text, err := json.Marshal(more)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, text)
	}
	id := fmt.Sprintf("resp_%d", n)
	event("response.created", map[string]any{"response": map[string]any{"id": id}})
	for i, c := range turn {
		item := map[string]any{"type": "message", "id": fmt.Sprintf("msg_%d_%d", n, i), "role": "assistant", "content": []any{map[string]any{"type": "output_text", "text": c.Text}}}
		if c.Call != "" {
			args, err := json.Marshal(c.Args)
			if err != nil {
				panic(err)
			}
			item = map[string]any{"type": "function_call", "id": fmt.Sprintf("fc_%d_%d", n, i), "call_id": fmt.Sprintf("call_%d_%d", n, i), "name": c.Call, "arguments": string(args)}
		}
		event("response.output_item.done", map[string]any{"output_index": i, "item": item})
	}
	event("response.completed", map[string]any{"response": map[string]any{"id": id, "usage": map[string]any{"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}})
}

func (s *codexServer) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.requests...)
}
