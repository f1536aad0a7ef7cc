package model

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

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
