package realtest

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// geminiServer is the model at an address.
type geminiServer struct {
	*httptest.Server
	*Gemini
}

func newGeminiServer(t *testing.T, turns ...[]Chunk) *geminiServer {
	g := NewGemini(turns...)
	s := &geminiServer{httptest.NewServer(g), g}
	t.Cleanup(s.Close)
	return s
}

// seen are the requests so far.
func (s *geminiServer) seen() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]request(nil), s.requests...)
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
