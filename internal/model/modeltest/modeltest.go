// Package modeltest plays a server that speaks streaming Chat Completions, for tests of what stands
// above the model.
package modeltest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Turn is one answer of the model.
type Turn struct {
	Text  []string `json:"text,omitempty"` // in the pieces in which it is streamed
	Calls []Call   `json:"calls,omitempty"`
	Drop  bool     `json:"drop,omitempty"` // the connection is cut off after the text
	Body  string   `json:"body,omitempty"` // the whole answer, whatever it is
	Hold  bool     `json:"hold,omitempty"` // no answer comes until the client goes away
}

// Call is a tool call. Arguments is a JSON text.
type Call struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	// Take is a regular expression; where Arguments has TAKEN stands its last match in the request, for
	// what only the product knows.
	Take string `json:"take,omitempty"`
}

// Server plays turns one by one; when there are none left it says so with status 500.
type Server struct {
	URL  string // its address up to and including /v1
	http *httptest.Server

	mu       sync.Mutex
	turns    []Turn
	requests [][]byte
	log      io.Writer
	asked    chan struct{} // a token for each request
	fixed    bool
}

// New starts a server. Each request is also written to log as a line, if there is one.
func New(log io.Writer, turns ...Turn) *Server {
	s := &Server{turns: turns, log: log, asked: make(chan struct{}, 1024)}
	s.http = httptest.NewServer(s)
	s.URL = s.http.URL + "/v1"
	return s
}

// Close ends the server and what it holds.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// Asked has a token for each request that arrived.
func (s *Server) Asked() <-chan struct{} { return s.asked }

// ByReplies makes the server answer by what is asked, not by when: a conversation that has n replies gets
// turn n, however often it comes.
func (s *Server) ByReplies() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fixed = true
}

// Forget forgets the requests so far.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = nil
}

// Replies counts the replies that a request's conversation has.
func Replies(request []byte) (n int, err error) {
	var q struct {
		Messages []struct{ Role string }
	}
	if err := json.Unmarshal(request, &q); err != nil {
		return 0, err
	}
	for _, m := range q.Messages {
		if m.Role == "assistant" {
			n++
		}
	}
	return n, nil
}

// Add appends turns.
func (s *Server) Add(turns ...Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns = append(s.turns, turns...)
}

// Requests are the bodies of all requests so far.
func (s *Server) Requests() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t, ok := s.next(r)
	switch {
	case !ok:
		http.Error(w, `{"error":{"message":"no turn is left"}}`, http.StatusBadRequest)
		return
	case t.Hold:
		<-r.Context().Done()
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if t.Body != "" {
		io.WriteString(w, t.Body)
		return
	}
	event(w, `{"role":"assistant","content":""}`, "")
	for _, text := range t.Text {
		event(w, `{"content":`+quote(text)+`}`, "")
	}
	if t.Drop {
		panic(http.ErrAbortHandler)
	}
	finish := "stop"
	for i, c := range t.Calls {
		event(w, fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}]}`, i, quote(c.ID), quote(c.Name), quote(c.Arguments)), "")
		finish = "tool_calls"
	}
	event(w, `{}`, finish)
	io.WriteString(w, "data: [DONE]\n\n")
}

func (s *Server) next(r *http.Request) (Turn, bool) {
	body, err := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fixed && err != nil { // who asked was killed before the question was whole
		return Turn{}, false
	}
	s.requests = append(s.requests, body)
	if s.log != nil {
		fmt.Fprintf(s.log, "%s\n", body)
	}
	if s.fixed {
		n, err := Replies(body)
		if err != nil || n >= len(s.turns) {
			return Turn{}, false
		}
		return s.turns[n].taking(body), true
	}
	s.asked <- struct{}{}
	if err != nil || len(s.turns) == 0 {
		return Turn{}, false
	}
	t := s.turns[0]
	s.turns = s.turns[1:]
	return t.taking(body), true
}

// taking is the turn with what its calls take from the request.
func (t Turn) taking(request []byte) Turn {
	t.Calls = slices.Clone(t.Calls)
	for i, c := range t.Calls {
		if c.Take == "" {
			continue
		}
		if found := regexp.MustCompile(c.Take).FindAll(request, -1); found != nil {
			t.Calls[i].Arguments = strings.ReplaceAll(c.Arguments, "TAKEN", string(found[len(found)-1]))
		}
	}
	return t
}

// event writes one chunk; finish is "" but in the last one.
func event(w http.ResponseWriter, delta, finish string) {
	reason := "null"
	if finish != "" {
		reason = quote(finish)
	}
	fmt.Fprintf(w, "data: {\"id\":\"c-1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", delta, reason)
	w.(http.Flusher).Flush()
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings can always be written
	}
	return string(b)
}
