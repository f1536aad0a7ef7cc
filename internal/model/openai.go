package model

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"agentd/hookpoints/payload"
)

const (
	defaultBaseURL = "https://api.openai.com/v1"
	defaultKeyEnv  = "OPENAI_API_KEY"
	defaultSilence = 90 * time.Second
)

// OpenAIOptions says which server to ask, and how. The zero value means OpenAI itself, which then
// misses a key.
type OpenAIOptions struct {
	// BaseURL is the server's address up to and including /v1. Default https://api.openai.com/v1.
	BaseURL string

	// Key is sent as a bearer token. Servers on this machine need none.
	Key string

	// KeyEnv is the environment variable that Key was read from, for messages only.
	// Default OPENAI_API_KEY.
	KeyEnv string

	// Silence is how long the server may send nothing, before its answer and within it.
	// Default 90 s.
	Silence time.Duration

	// Client is used for all requests; its Timeout should be 0. Default: a client of its own.
	Client *http.Client

	// Sleep waits between tries. Default: a timer that ends with ctx.
	Sleep func(ctx context.Context, d time.Duration) error
}

// OpenAI is a [Provider] for servers that speak streaming Chat Completions. It may be used by
// several goroutines.
type OpenAI struct {
	opts OpenAIOptions
	base *url.URL
	chat openai.ChatCompletionService
}

// NewOpenAI checks the address; it connects to nothing.
func NewOpenAI(opts OpenAIOptions) (*OpenAI, error) {
	if opts.BaseURL == "" {
		opts.BaseURL = defaultBaseURL
	}
	if opts.KeyEnv == "" {
		opts.KeyEnv = defaultKeyEnv
	}
	if opts.Silence <= 0 {
		opts.Silence = defaultSilence
	}
	if opts.Client == nil {
		opts.Client = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	}
	if opts.Sleep == nil {
		opts.Sleep = sleep
	}
	base, err := url.Parse(opts.BaseURL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("base_url of the model in agentd.yaml is no address: %w", err)
	case base.Scheme != "http" && base.Scheme != "https", base.Host == "":
		return nil, fmt.Errorf("base_url %q of the model in agentd.yaml must begin with http:// or https:// and name a server", base.Redacted())
	}
	// The service alone, and not a client, because a client takes keys, addresses and headers from
	// the environment that nobody configured here.
	return &OpenAI{opts: opts, base: base, chat: openai.NewChatCompletionService(
		option.WithBaseURL(opts.BaseURL),
		option.WithAPIKey(opts.Key),
		option.WithHTTPClient(opts.Client),
		option.WithMaxRetries(0),
	)}, nil
}

// Close gives idle connections up.
func (o *OpenAI) Close() { o.opts.Client.CloseIdleConnections() }

// Chat implements [Provider]. Connections that can't be made and the statuses 429, 502, 503 and 504
// are tried three times in all, at most 5 s apart; nothing is tried again once the server answered
// or may have begun to work.
func (o *OpenAI) Chat(ctx context.Context, req Request, stream func(string)) (payload.Value, error) {
	if o.opts.Key == "" && !loopback(o.base) {
		return payload.Value{}, o.fail(ErrNotSent, nil, "needs a key: set the environment variable %s, or name another one as api_key_env of the model in agentd.yaml", o.opts.KeyEnv)
	}
	body := encode(req, o.base)
	if stream == nil {
		stream = func(string) {}
	}
	for try := 1; ; try++ {
		got, again, err := o.attempt(ctx, req, body, stream)
		if err == nil {
			return got, nil
		}
		if !again.ok || try == maxTries {
			return payload.Value{}, err
		}
		if cause := o.opts.Sleep(ctx, again.wait(try)); cause != nil {
			return payload.Value{}, o.fail(ErrNotSent, cause, "wasn't asked again after a failed try: %v", cause)
		}
	}
}

// attempt sends the request once.
func (o *OpenAI) attempt(ctx context.Context, req Request, body []byte, stream func(string)) (payload.Value, retry, error) {
	w := newWatch(ctx, o.opts.Silence)
	defer w.stop()
	s := o.chat.NewStreaming(w.ctx, openai.ChatCompletionNewParams{},
		option.WithRequestBody("application/json", body),
		option.WithMiddleware(w.middleware))
	defer s.Close()
	var r reply
	for s.Next() {
		chunk, err := payload.ParseString(s.Current().RawJSON())
		if err == nil {
			var text string
			if text, err = r.add(chunk); text != "" {
				stream(text)
			}
		}
		if err != nil {
			return payload.Value{}, retry{}, o.malformed(w, err)
		}
	}
	if err := s.Err(); err != nil {
		again, err := o.explain(w, req, err)
		return payload.Value{}, again, err
	}
	got, err := r.message(w.requestID, assistantTurns(req.Messages), w.done())
	if err != nil {
		return payload.Value{}, retry{}, o.malformed(w, err)
	}
	return got, retry{}, nil
}

// explain turns the failure of one attempt into an Error and says whether to try again.
func (o *OpenAI) explain(w *watch, req Request, err error) (retry, error) {
	if cause := context.Cause(w.ctx); cause != nil {
		err = cause
	}
	var streamed *ssestream.StreamError
	switch {
	case w.status/100 == 2 && w.broken == nil && errors.As(err, &streamed):
		return retry{}, o.failed(w, ErrRefused, "gave up within its answer: %s", o.said(streamed.Event.Data))
	case w.status/100 == 2 && w.broken == nil && context.Cause(w.ctx) == nil:
		return retry{}, o.malformed(w, err)
	case w.status >= 300:
		return o.explainStatus(w, req)
	case w.sent.Load():
		return retry{}, o.fail(ErrUnknown, err, "was asked and its answer was lost (%v): whether it was worked on isn't known", plain(err))
	case w.ctx.Err() != nil:
		return retry{}, o.fail(ErrNotSent, err, "wasn't asked: %v", err)
	}
	return retryDial(err), o.fail(ErrNotSent, err, "can't be reached (%v): start it, or correct base_url in agentd.yaml", plain(err))
}

func (o *OpenAI) explainStatus(w *watch, req Request) (retry, error) {
	said := o.said([]byte(w.raw.String()))
	switch w.status {
	case http.StatusUnauthorized:
		return retry{}, o.failed(w, ErrNotSent, "doesn't accept the key (%s): set the environment variable %s to a valid one, or name another one as api_key_env in agentd.yaml", said, o.opts.KeyEnv)
	case http.StatusNotFound:
		return retry{}, o.failed(w, ErrRefused, "doesn't know the model %q or has no chat/completions there (%s): correct name or base_url in agentd.yaml", req.Model, said)
	case http.StatusTooManyRequests:
		return w.retry(), o.failed(w, ErrNotSent, "takes no more requests now (%s): wait a while, or look at the account's limits", said)
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return w.retry(), o.failed(w, ErrNotSent, "isn't available (status %d, %s): try again later", w.status, said)
	}
	return retry{}, o.failed(w, ErrRefused, "refused the request (status %d, %s)", w.status, said)
}

func (o *OpenAI) malformed(w *watch, err error) error {
	e := o.failed(w, ErrMalformed, "sent a reply that can't be read: %v", err)
	e.Err = err
	return e
}

func (o *OpenAI) failed(w *watch, kind error, format string, args ...any) *Error {
	e := o.fail(kind, nil, format, args...)
	e.Status, e.Raw = w.status, o.withoutKey(w.raw.String())
	return e
}

func (o *OpenAI) fail(kind, cause error, format string, args ...any) *Error {
	text := "the model server at " + o.base.Redacted() + " " + fmt.Sprintf(format, args...)
	return &Error{Kind: kind, Err: cause, Message: o.withoutKey(text)}
}

// said is what the server gives as its reason, in a form that fits into a sentence.
func (o *OpenAI) said(raw []byte) string {
	text := strings.TrimSpace(string(raw))
	if v, err := payload.Parse([]byte(text)); err == nil {
		switch e := v.Get("error"); {
		case e.Kind() == payload.String:
			text = e.Text()
		case e.Get("message").Kind() == payload.String:
			text = e.Get("message").Text()
		case v.Get("message").Kind() == payload.String:
			text = v.Get("message").Text()
		}
	}
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	if runes := []rune(text); len(runes) > 300 {
		text = string(runes[:300]) + "..."
	}
	if text == "" {
		return "it gives no reason"
	}
	return "it says: " + strings.TrimSuffix(text, ".")
}

// withoutKey guards against servers and proxies that echo what they were sent.
func (o *OpenAI) withoutKey(text string) string {
	if o.opts.Key == "" {
		return text
	}
	return strings.ReplaceAll(text, o.opts.Key, "[key]")
}

// plain takes the address off a client's error, since the message already names it.
func plain(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
