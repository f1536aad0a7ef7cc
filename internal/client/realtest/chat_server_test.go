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

// chatServer speaks as much of the chat completions API as Qwen Code and OpenCode need. Turns are played in
// order, the last one again and again.
type chatServer struct {
	*httptest.Server
	turns []Chunk
	asked func(n int) // called before the n-th request for a turn is answered, from 1; may be nil
	full  int         // the turn after which the model counts its context as full, from 1; 0 is none

	mu       sync.Mutex
	requests []string // with tools: all messages, as JSON
}

// fullContext is more than the models of this server take, in tokens.
const fullContext = 100_000

func newChatServer(t *testing.T, turns ...Chunk) *chatServer {
	s := &chatServer{turns: turns}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *chatServer) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var q struct {
		Messages json.RawMessage   `json:"messages"`
		Tools    []json.RawMessage `json:"tools"`
		Stream   bool              `json:"stream"`
	}
	if err != nil || !strings.HasSuffix(r.URL.Path, "/chat/completions") || json.Unmarshal(body, &q) != nil {
		http.NotFound(w, r)
		return
	}
	turn := Chunk{Text: "ok"} // what is asked on the side
	s.mu.Lock()
	if len(q.Tools) > 0 {
		turn = s.turns[min(len(s.requests), len(s.turns)-1)]
		s.requests = append(s.requests, string(q.Messages))
	}
	n := len(s.requests)
	s.mu.Unlock()
	if len(q.Tools) > 0 && s.asked != nil {
		s.asked(n)
	}
	message, finish := map[string]any{"role": "assistant", "content": turn.Text}, "stop"
	if turn.Call != "" {
		args, err := json.Marshal(turn.Args)
		if err != nil {
			panic(err)
		}
		finish = "tool_calls"
		message = map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{"index": 0, "id": fmt.Sprintf("call_%d", n), "type": "function",
			"function": map[string]any{"name": turn.Call, "arguments": string(args)}}}}
	}
	usage := map[string]any{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
	if len(q.Tools) > 0 && n == s.full {
		usage = map[string]any{"prompt_tokens": fullContext, "completion_tokens": 1, "total_tokens": fullContext + 1}
	}
	answer := func(kind string, choices []any, more map[string]any) string {
		out := map[string]any{"id": "c", "object": kind, "created": 1, "model": "none", "choices": choices}
		for name, value := range more {
			out[name] = value
		}
		text, err := json.Marshal(out)
		if err != nil {
			panic(err)
		}
		return string(text)
	}
	if !q.Stream {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, answer("chat.completion", []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}}, map[string]any{"usage": usage}))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	const kind = "chat.completion.chunk"
	fmt.Fprintf(w, "data: %s\n\n", answer(kind, []any{map[string]any{"index": 0, "delta": message, "finish_reason": nil}}, nil))
	fmt.Fprintf(w, "data: %s\n\n", answer(kind, []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": finish}}, nil))
	fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", answer(kind, []any{}, map[string]any{"usage": usage}))
}

func (s *chatServer) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.requests...)
}
