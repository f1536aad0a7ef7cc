package effects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"

	"agentd/hookpoints/payload"
	"agentd/operation"
)

const (
	maxAnswer = 64 << 10 // bytes of an answer
	maxBody   = 1 << 20
)

func checkWebhook(a payload.Value) error {
	if n := a.Get("body").Size(); n > maxBody {
		return fmt.Errorf("body has %d bytes, and may have %d", n, maxBody)
	}
	_, err := target(a)
	return err
}

func target(a payload.Value) (*url.URL, error) {
	u, err := url.Parse(a.Get("url").Text())
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return nil, errors.New("url is no URL with a host")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("url has the scheme %.20q, want http or https", u.Scheme)
	case u.User != nil:
		return nil, errors.New("url holds a user name, which would be journaled")
	}
	return u, nil
}

// webhook posts the body as JSON: {status, answer}, and cut if the answer was longer than what is
// kept. A redirect isn't followed, as nobody allowed where it leads. Once a byte of the request has
// left, an answer that doesn't come leaves open whether it was taken.
func (r *Registry) webhook(ctx context.Context, key string, a payload.Value) result {
	u, err := target(a)
	if err != nil {
		return failure(operation.Failed, err)
	}
	if r.opts.AllowURL == nil || !r.opts.AllowURL(ctx, u) {
		return failure(operation.Failed, fmt.Errorf("configuration doesn't let webhooks send to %.200s", u.Host))
	}
	timed, cancel := r.within(ctx, webhookTimeout)
	defer cancel()
	var left atomic.Bool
	traced := httptrace.WithClientTrace(timed, &httptrace.ClientTrace{WroteHeaderField: func(string, []string) { left.Store(true) }})
	req, err := http.NewRequestWithContext(traced, http.MethodPost, u.String(), bytes.NewReader(a.Get("body").JSON()))
	if err != nil {
		return failure(operation.Failed, errors.New("url can't be requested"))
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "agentd")
	req.Header.Set("Idempotency-Key", headerKey(key))
	// A connection of its own, no second try: what is sent twice would be done twice. No proxy, as
	// what is allowed is an address.
	transport := &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{}).DialContext}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return unanswered(ctx, err, left.Load())
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	fields := []payload.Field{integer("status", int64(resp.StatusCode)), text("answer", string(answer[:min(len(answer), maxAnswer)]))}
	if err != nil || len(answer) > maxAnswer {
		fields = append(fields, flag("cut", true))
	}
	switch code := resp.StatusCode; {
	case code >= 300 && code < 400:
		return failure(operation.Failed, fmt.Errorf("the server answered with status %d, a redirect, which isn't followed", code), fields...)
	case code < 200 || code >= 300:
		return failure(operation.Failed, fmt.Errorf("the server answered with status %d", code), fields...)
	}
	return success(fields...)
}

// unanswered is a request without an answer.
func unanswered(ctx context.Context, err error, left bool) result {
	var e *url.Error
	if errors.As(err, &e) {
		err = e.Err // the rest is the URL
	}
	why := short(err.Error())
	if errors.Is(err, context.DeadlineExceeded) {
		why = "its time was up"
	}
	switch {
	case left:
		return failure(operation.UnknownStat, fmt.Errorf("the request was sent and its answer was lost, so nobody knows whether it was taken: %s", why))
	case ctx.Err() != nil:
		return failure(operation.Cancelled, errors.New("cancelled before it was sent"))
	}
	return failure(operation.Failed, fmt.Errorf("the request couldn't be sent: %s", why))
}
