package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentd/hookpoints/payload"
)

func value(t *testing.T, text string) payload.Value {
	t.Helper()
	v, err := payload.ParseString(text)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func hello(t *testing.T) Request {
	return Request{Model: "m", Messages: value(t, `[{"role":"user","content":"hi"}]`)}
}

// serve starts a server that answers the n-th request (from 0) with answer, and a client of it whose
// sleeps are written down and not slept.
func serve(t *testing.T, opts OpenAIOptions, answer func(n int, w http.ResponseWriter, r *http.Request)) (o *OpenAI, slept *[]time.Duration) {
	t.Helper()
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		answer(n-1, w, r)
	}))
	t.Cleanup(s.Close)
	opts.BaseURL = s.URL + "/v1"
	slept = new([]time.Duration)
	opts.Sleep = func(_ context.Context, d time.Duration) error {
		*slept = append(*slept, d)
		return nil
	}
	o, err := NewOpenAI(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	return o, slept
}

func sse(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		fmt.Fprintf(w, "data: %s\n\n", e)
		w.(http.Flusher).Flush()
	}
}

func TestRepliesOfManyServers(t *testing.T) {
	delta := func(s string) string { return `{"id":"c-1","choices":[{"index":0,"delta":` + s + `}]}` }
	stop := `{"id":"c-1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	called := `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`
	for name, c := range map[string]struct {
		events   []string
		plain    string // instead of events: an answer that isn't streamed
		header   string
		streamed []string
		want     string
	}{
		"text in pieces, usage in a chunk without choices": {
			events: []string{delta(`{"role":"assistant","content":""}`), delta(`{"content":"Hel"}`), delta(`{"content":"lo"}`), stop,
				`{"id":"c-1","choices":[],"usage":{"prompt_tokens":3,"cost":0.10}}`, "[DONE]"},
			streamed: []string{"Hel", "lo"},
			want:     `{"role":"assistant","content":"Hello","usage":{"prompt_tokens":3,"cost":0.10},"finish_reason":"stop","provider_request_id":"c-1"}`,
		},
		"no usage, no [DONE], request id in the header": {
			events: []string{delta(`{"content":"x"}`), stop}, header: "req-7", streamed: []string{"x"},
			want: `{"role":"assistant","content":"x","finish_reason":"stop","provider_request_id":"req-7"}`,
		},
		"[DONE] without a finish reason": {
			events: []string{`{"choices":[{"delta":{"content":"x"}}]}`, "[DONE]"}, streamed: []string{"x"},
			want: `{"role":"assistant","content":"x"}`,
		},
		"reasoning and refusal": {
			events: []string{delta(`{"reasoning_content":"hm"}`), delta(`{"reasoning":"m"}`), delta(`{"refusal":"no"}`), stop},
			want:   `{"role":"assistant","content":"no","reasoning_content":"hmm","finish_reason":"stop","provider_request_id":"c-1"}`,
		},
		"empty text is a reply": {
			events: []string{stop}, want: `{"role":"assistant","content":"","finish_reason":"stop","provider_request_id":"c-1"}`,
		},
		"two calls in interleaved pieces": {
			events: []string{
				`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"shell","arguments":""}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"read_file","arguments":"{\"pa"}},{"index":0,"function":{"arguments":"{\"command\":"}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"ls\"}"}},{"index":1,"function":{"arguments":"th\":\"x\"}"}}]}}]}`,
				called},
			want: `{"role":"assistant","content":null,"tool_calls":[` +
				`{"id":"a","type":"function","function":{"name":"shell","arguments":"{\"command\":\"ls\"}"}},` +
				`{"id":"b","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"x\"}"}}],"finish_reason":"tool_calls"}`,
		},
		"whole calls, all under index 0, without ids": {
			events: []string{
				`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"","function":{"name":"f","arguments":"{\"n\":1}"}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"","function":{"name":"f","arguments":"{\"n\":2}"}}]}}]}`, called},
			want: `{"role":"assistant","content":null,"tool_calls":[` +
				`{"id":"call_0_0","type":"function","function":{"name":"f","arguments":"{\"n\":1}"}},` +
				`{"id":"call_0_1","type":"function","function":{"name":"f","arguments":"{\"n\":2}"}}],"finish_reason":"tool_calls"}`,
		},
		"calls without an index, one id twice, name repeated": {
			events: []string{
				`{"choices":[{"delta":{"tool_calls":[{"id":"x","function":{"name":"f","arguments":"{"}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"}"}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"id":"y","function":{"name":"g","arguments":"{"}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"id":"y","function":{"name":"g","arguments":"}"}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"index":4,"id":"y","function":{"name":"h"}}]}}]}`, called},
			want: `{"role":"assistant","content":null,"tool_calls":[` +
				`{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}},` +
				`{"id":"y","type":"function","function":{"name":"g","arguments":"{}"}},` +
				`{"id":"call_0_2","type":"function","function":{"name":"h","arguments":"{}"}}],"finish_reason":"tool_calls"}`,
		},
		"arguments as an object, second choice ignored": {
			events: []string{
				`{"choices":[{"index":0,"delta":{"content":"do","tool_calls":[{"id":"x","function":{"name":"f","arguments":{"big":1e400}}}]}},{"index":1,"delta":{"content":"other"}}]}`, called},
			streamed: []string{"do"},
			want:     `{"role":"assistant","content":"do","tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{\"big\":1e400}"}}],"finish_reason":"tool_calls"}`,
		},
		"a server that doesn't stream": {
			plain:    "{\n \"id\": \"c-2\",\n \"choices\": [{\"message\": {\"role\": \"assistant\", \"content\": \"a\\nb\"}, \"finish_reason\": \"stop\"}],\n \"usage\": {\"total_tokens\": 9}}\n",
			streamed: []string{"a\nb"},
			want:     `{"role":"assistant","content":"a\nb","usage":{"total_tokens": 9},"finish_reason":"stop","provider_request_id":"c-2"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o, _ := serve(t, OpenAIOptions{}, func(_ int, w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Request-Id", c.header)
				if c.plain != "" {
					w.Header().Set("Content-Type", "application/json; charset=utf-8")
					io.WriteString(w, c.plain)
					return
				}
				sse(w, c.events...)
			})
			var streamed []string
			got, err := o.Chat(t.Context(), hello(t), func(s string) { streamed = append(streamed, s) })
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.String()); diff != "" {
				t.Errorf("reply (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.streamed, streamed); diff != "" {
				t.Errorf("streamed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRequestHoldsOnlyWhatTheProtocolKnows(t *testing.T) {
	var body, key, path string
	o, _ := serve(t, OpenAIOptions{Key: "sk-1"}, func(_ int, w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		body, key, path = string(b), r.Header.Get("Authorization"), r.URL.Path
		sse(w, `{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}`)
	})
	temperature, topP, most := 0.0, 0.95, int64(64)
	_, err := o.Chat(t.Context(), Request{
		Model: "m",
		Messages: value(t, `[{"role":"system","content":"s","annotations":{}},
			{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"n\": 1.0}"}}],"usage":{}},
			{"role":"tool","tool_call_id":"a","content":{"n": 1e2}},{"role":"assistant","content":"ok","tool_calls":[]}]`),
		Tools:       value(t, `[{"name":"f","description":"d","parameters":{"type":"object"},"kind":"read"}]`),
		Temperature: &temperature, TopP: &topP, MaxTokens: &most,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"model":"m","messages":[{"role":"system","content":"s"},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"n\": 1.0}"}}]},` +
		`{"role":"tool","content":"{\"n\": 1e2}","tool_call_id":"a"},{"role":"assistant","content":"ok"}],` +
		`"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}}],` +
		`"temperature":0,"top_p":0.95,"max_tokens":64,"stream":true,"stream_options":{"include_usage":true}}`
	if diff := cmp.Diff(want, body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	if key != "Bearer sk-1" || path != "/v1/chat/completions" {
		t.Errorf("got Authorization %q at %s", key, path)
	}
}

func TestEnvironmentIsNotReadBehindTheCallersBack(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	t.Setenv("OPENAI_ORG_ID", "org-secret")
	t.Setenv("OPENAI_BASE_URL", "http://192.0.2.1")
	o, _ := serve(t, OpenAIOptions{}, func(_ int, w http.ResponseWriter, r *http.Request) {
		for k, v := range r.Header {
			if strings.Contains(strings.Join(v, ""), "secret") {
				t.Errorf("header %s is sent: %q", k, v)
			}
		}
		sse(w, `{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}`)
	})
	if _, err := o.Chat(t.Context(), hello(t), nil); err != nil {
		t.Fatal(err)
	}
}

func TestTriesAgainOnlyWhatIsSafe(t *testing.T) {
	ok := func(w http.ResponseWriter) {
		sse(w, `{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}`)
	}
	status := func(code int, header ...string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
			io.WriteString(w, `{"error":{"message":"busy here"}}`)
		}
	}
	const s = time.Second
	for name, c := range map[string]struct {
		answers []func(http.ResponseWriter)
		slept   []time.Duration
		want    error
	}{
		"429 with Retry-After":    {answers: []func(http.ResponseWriter){status(429, "Retry-After", "2"), ok}, slept: []time.Duration{2 * s}},
		"a long wait is capped":   {answers: []func(http.ResponseWriter){status(429, "Retry-After", "3600"), ok}, slept: []time.Duration{5 * s}},
		"milliseconds":            {answers: []func(http.ResponseWriter){status(429, "Retry-After-Ms", "150"), ok}, slept: []time.Duration{150 * time.Millisecond}},
		"a date by the server":    {answers: []func(http.ResponseWriter){status(503, "Date", "Mon, 02 Jan 2006 15:04:05 GMT", "Retry-After", "Mon, 02 Jan 2006 15:04:08 GMT"), ok}, slept: []time.Duration{3 * s}},
		"nonsense in Retry-After": {answers: []func(http.ResponseWriter){status(503, "Retry-After", "soon"), status(502), ok}, slept: []time.Duration{s, 2 * s}},
		"three times at most":     {answers: []func(http.ResponseWriter){status(504), status(503), status(429), ok}, slept: []time.Duration{s, 2 * s}, want: ErrNotSent},
		"500 is an answer":        {answers: []func(http.ResponseWriter){status(500), ok}, want: ErrRefused},
		"400 is an answer":        {answers: []func(http.ResponseWriter){status(400), ok}, want: ErrRefused},
		"401 is an answer":        {answers: []func(http.ResponseWriter){status(401), ok}, want: ErrNotSent},
	} {
		t.Run(name, func(t *testing.T) {
			requests := 0
			o, slept := serve(t, OpenAIOptions{}, func(n int, w http.ResponseWriter, _ *http.Request) {
				requests++
				c.answers[n](w)
			})
			_, err := o.Chat(t.Context(), hello(t), nil)
			if !errors.Is(err, c.want) {
				t.Errorf("got error %v, want %v", err, c.want)
			}
			if diff := cmp.Diff(c.slept, *slept); diff != "" {
				t.Errorf("slept (-want +got):\n%s", diff)
			}
			if want := len(c.slept) + 1; requests != want {
				t.Errorf("%d requests, want %d", requests, want)
			}
		})
	}
}

func TestErrorsSayWhatHappenedAndWhatToDo(t *testing.T) {
	drop := func(w http.ResponseWriter) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			c.Close()
		}
	}
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter)
		kind   error
		says   []string
		raw    string
	}{
		"bad key": {func(w http.ResponseWriter) {
			w.WriteHeader(401)
			io.WriteString(w, `{"error":{"message":"Incorrect API key provided: sk-private."}}`)
		}, ErrNotSent, []string{"Incorrect API key provided: [key]", "MY_KEY", "api_key_env"}, "[key]"},
		"unknown model": {func(w http.ResponseWriter) {
			w.WriteHeader(404)
			io.WriteString(w, `{"error":"model 'm' not found"}`)
		}, ErrRefused, []string{`"m"`, "model 'm' not found", "base_url"}, "not found"},
		"plain text": {func(w http.ResponseWriter) { http.Error(w, "broken\n pipe", 500) },
			ErrRefused, []string{"status 500, it says: broken pipe"}, "broken"},
		"nothing but a status": {func(w http.ResponseWriter) { w.WriteHeader(422) },
			ErrRefused, []string{"status 422, it gives no reason"}, ""},
		"error within the stream": {func(w http.ResponseWriter) {
			sse(w, `{"choices":[{"delta":{"content":"x"}}]}`, `{"error":{"message":"overloaded"}}`)
		}, ErrRefused, []string{"gave up", "overloaded"}, "overloaded"},
		"dropped before the answer": {drop, ErrUnknown, []string{"its answer was lost", "isn't known"}, ""},
		"dropped in the middle": {func(w http.ResponseWriter) {
			sse(w, `{"choices":[{"delta":{"content":"x"}}]}`)
			drop(w)
		}, ErrUnknown, []string{"its answer was lost"}, ""},
		"dropped in an answer that isn't streamed": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, `{"choices":[`)
			w.(http.Flusher).Flush()
			drop(w)
		}, ErrUnknown, []string{"its answer was lost"}, ""},
		"broken JSON in the stream": {func(w http.ResponseWriter) { sse(w, `{"choices":[{"delta":`, "[DONE]") },
			ErrMalformed, []string{"can't be read"}, `{"choices":[{"delta":`},
		"duplicate keys in the stream": {func(w http.ResponseWriter) { sse(w, `{"choices":[],"choices":[]}`, "[DONE]") },
			ErrMalformed, []string{"duplicate"}, `"choices":[],"choices"`},
		"a page": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<html>\n\nlog in</html>")
		}, ErrMalformed, []string{"no choices"}, "log in"},
		"no choices": {func(w http.ResponseWriter) { sse(w, `{"choices":[]}`, "[DONE]") },
			ErrMalformed, []string{"no choices"}, "choices"},
		"an end in the middle": {func(w http.ResponseWriter) { sse(w, `{"choices":[{"delta":{"content":"x"}}]}`) },
			ErrMalformed, []string{"ends in the middle"}, "content"},
		"a call without a name": {func(w http.ResponseWriter) {
			sse(w, `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`)
		}, ErrMalformed, []string{"tool call 1 has no name"}, "tool_calls"},
		"not JSON though it says so": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, "{\"choices\":\n\noops")
		}, ErrMalformed, []string{"can't be read"}, "oops"},
	} {
		t.Run(name, func(t *testing.T) {
			o, _ := serve(t, OpenAIOptions{Key: "sk-private", KeyEnv: "MY_KEY"}, func(_ int, w http.ResponseWriter, _ *http.Request) { c.answer(w) })
			_, err := o.Chat(t.Context(), hello(t), nil)
			var e *Error
			if !errors.As(err, &e) || e.Kind != c.kind {
				t.Fatalf("got %#v, want an Error of kind %q", err, c.kind)
			}
			for _, kind := range []error{ErrNotSent, ErrRefused, ErrUnknown, ErrMalformed} {
				if errors.Is(err, kind) != (kind == c.kind) {
					t.Errorf("errors.Is(err, %q) is wrong", kind)
				}
			}
			for _, want := range append(c.says, o.base.String()) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q doesn't say %q", err, want)
				}
			}
			if !strings.Contains(e.Raw, c.raw) {
				t.Errorf("raw %q lacks %q", e.Raw, c.raw)
			}
			if strings.Contains(err.Error()+e.Raw, "sk-private") {
				t.Errorf("the key is shown in %q or %q", err, e.Raw)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q is more than one line", err)
			}
		})
	}
}

func TestServerThatIsNotThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	slept := 0
	o, err := NewOpenAI(OpenAIOptions{BaseURL: "http://" + address, Sleep: func(context.Context, time.Duration) error { slept++; return nil }})
	if err != nil {
		t.Fatal(err)
	}
	_, err = o.Chat(t.Context(), hello(t), nil)
	if !errors.Is(err, ErrNotSent) || !strings.Contains(err.Error(), "can't be reached") || !strings.Contains(err.Error(), address) || slept != 2 {
		t.Errorf("after %d sleeps got %v", slept, err)
	}
}

func TestKeyIsNeededForOtherMachines(t *testing.T) {
	for base, needed := range map[string]bool{
		"":                           true,
		"https://api.example.com/v1": true,
		"http://10.0.0.1:1/v1":       true,
		"http://localhost.evil.com/": true,
		"http://127.0.0.1:1/v1":      false,
		"http://[::1]:1/v1":          false,
		"http://LOCALHOST:1/v1":      false,
	} {
		dialed := errors.New("dialed")
		client := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, dialed })}
		o, err := NewOpenAI(OpenAIOptions{BaseURL: base, KeyEnv: "SOME_KEY", Client: client})
		if err != nil {
			t.Fatal(err)
		}
		_, err = o.Chat(t.Context(), hello(t), nil)
		if !errors.Is(err, ErrNotSent) || errors.Is(err, dialed) == needed || strings.Contains(err.Error(), "SOME_KEY") != needed {
			t.Errorf("%q: got %v", base, err)
		}
	}
}

func TestAddressesThatAreNone(t *testing.T) {
	for _, base := range []string{"localhost:8080/v1", "/v1", "http://", "ftp://host/v1", "http://%zz"} {
		if o, err := NewOpenAI(OpenAIOptions{BaseURL: base}); err == nil || !strings.Contains(err.Error(), "base_url") {
			t.Errorf("%q: got %v, %v", base, o, err)
		}
	}
}

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

func TestReplyIsBounded(t *testing.T) {
	piece := `{"choices":[{"delta":{"content":"` + strings.Repeat("x", 1<<20) + `"}}]}`
	o, _ := serve(t, OpenAIOptions{}, func(_ int, w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			sse(w, piece)
		}
	})
	_, err := o.Chat(t.Context(), hello(t), nil)
	var e *Error
	if !errors.As(err, &e) || e.Kind != ErrMalformed || len(e.Raw) != maxRaw {
		t.Errorf("got %v", err)
	}
}
