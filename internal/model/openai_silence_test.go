package model

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// pipeClient talks over an in-memory connection, so that a fake clock can run. The server reads
// everything, sends each piece after a delay, and stays until the client hangs up.
func pipeClient(t *testing.T, delay time.Duration, pieces ...string) *http.Client {
	var servers sync.WaitGroup
	tr := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		asked, gone := make(chan struct{}), make(chan struct{})
		servers.Go(func() {
			defer close(gone)
			far.Read(make([]byte, 1))
			close(asked)
			io.Copy(io.Discard, far)
		})
		servers.Go(func() {
			<-asked
			for _, p := range pieces {
				select {
				case <-time.After(delay):
				case <-gone:
					return
				}
				io.WriteString(far, p)
			}
			<-gone
		})
		return near, nil
	}}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		servers.Wait()
	})
	return &http.Client{Transport: tr}
}

func TestSilenceEndsTheCall(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
	for name, c := range map[string]struct {
		before time.Duration // how long the server thinks before each piece
		pieces []string
		want   error
	}{
		"before the answer":         {100 * time.Second, []string{head}, ErrUnknown},
		"within the answer":         {0, []string{head, "data: {}\n\n"}, ErrUnknown},
		"slow pieces aren't silent": {80 * time.Second, []string{head, "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n", "data: [DONE]\n\n"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := pipeClient(t, c.before, c.pieces...)
				o, err := NewOpenAI(OpenAIOptions{BaseURL: "http://127.0.0.1/v1", Client: client})
				if err != nil {
					t.Fatal(err)
				}
				_, err = o.Chat(t.Context(), hello(t), nil)
				if !errors.Is(err, c.want) || c.want != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v, want %v", err, c.want)
				}
			})
		})
	}
}

func TestCancelledCall(t *testing.T) {
	t.Run("while the answer comes", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		o, _ := serve(t, OpenAIOptions{}, func(_ int, w http.ResponseWriter, r *http.Request) {
			sse(w, `{"choices":[{"delta":{"content":"x"}}]}`)
			<-r.Context().Done()
		})
		_, err := o.Chat(ctx, hello(t), func(string) { cancel() })
		if !errors.Is(err, ErrUnknown) || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("before it began", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		o, _ := serve(t, OpenAIOptions{}, func(int, http.ResponseWriter, *http.Request) { t.Error("it was asked") })
		_, err := o.Chat(ctx, hello(t), nil)
		if !errors.Is(err, ErrNotSent) || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("between two tries", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			client := pipeClient(t, 0, "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			o, err := NewOpenAI(OpenAIOptions{BaseURL: "http://127.0.0.1/v1", Client: client})
			if err != nil {
				t.Fatal(err)
			}
			_, err = o.Chat(ctx, hello(t), nil)
			if !errors.Is(err, ErrNotSent) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		})
	})
}
