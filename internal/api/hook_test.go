package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"agentd/internal/api"
)

// waiting is a backend whose hooks answer only when their time is up.
type waiting struct{ api.Backend }

func (waiting) Hook(ctx context.Context, _, _ string, _ []byte) ([]byte, int, error) {
	<-ctx.Done()
	return []byte(strings.Repeat("late ", 4096)), 3, nil
}

func TestHookHasUntilTheClientStopsWaiting(t *testing.T) {
	for _, c := range []struct {
		within string
		status int
	}{{"1ms", 200}, {"0s", 400}, {"-1s", 400}, {"soon", 400}} {
		w, r := httptest.NewRecorder(), httptest.NewRequest("POST", "/v1/hook/gemini?event=BeforeTool", strings.NewReader("{}"))
		r.Header.Set("Agentd-Within", c.within)
		api.Handler(waiting{}, "").ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%s: %d %s", c.within, w.Code, w.Body)
		}
	}
}

// TestHookAnswersInOnePiece: agentd-hook reads no chunks.
func TestHookAnswersInOnePiece(t *testing.T) {
	s := httptest.NewServer(api.Handler(waiting{}, ""))
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "POST", s.URL+"/v1/hook/gemini", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Agentd-Within", "1ms")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.ContentLength != 5*4096 || len(res.TransferEncoding) > 0 || res.Header.Get("Agentd-Exit") != "3" {
		t.Errorf("%d %v %v", res.ContentLength, res.TransferEncoding, res.Header)
	}
}
