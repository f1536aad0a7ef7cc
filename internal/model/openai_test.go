package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
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
