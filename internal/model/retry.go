package model

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"time"
)

const (
	maxTries = 3
	maxDelay = 5 * time.Second
)

// retry says whether a failed attempt is worth another one, and what delay the server asked for.
type retry struct {
	ok    bool
	asked time.Duration
}

// wait is the delay after the given try, which counts from 1.
func (r retry) wait(try int) time.Duration {
	if r.asked > 0 {
		return min(r.asked, maxDelay)
	}
	return min(time.Second<<(try-1), maxDelay)
}

// retryDial tries again what failed before a connection stood.
func retryDial(err error) retry {
	var op *net.OpError
	var dns *net.DNSError
	return retry{ok: errors.As(err, &dns) || errors.As(err, &op) && op.Op == "dial"}
}

func (w *watch) retry() retry { return retry{ok: true, asked: retryAfter(w.header)} }

// retryAfter reads the delay that a server asks for. A date is measured from the server's own Date,
// so that no clock of ours has a say.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return time.Duration(min(ms, 1e9) * float64(time.Millisecond))
	}
	text := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		return time.Duration(min(max(s, 0), 1e9) * float64(time.Second))
	}
	at, err := http.ParseTime(text)
	now, err2 := http.ParseTime(h.Get("Date"))
	if err != nil || err2 != nil {
		return 0
	}
	return max(at.Sub(now), 0)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
