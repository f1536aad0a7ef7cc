package model

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openai/openai-go/v3/option"

	"agentd/hookpoints/payload"
)

const (
	maxRaw   = 64 << 10 // of a reply's text that is kept for ErrMalformed
	tailSize = 64       // enough to find the mark that ends a stream
)

// watch sees one attempt from below the SDK: whether the request left, what came back, whether it
// broke, and that the server doesn't fall silent.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	limit  time.Duration

	sent      atomic.Bool // set by the transport's goroutine
	status    int
	header    http.Header
	requestID string
	raw       strings.Builder
	tail      []byte
	broken    error // what ended the body, other than its end
}

func newWatch(ctx context.Context, silence time.Duration) *watch {
	w := &watch{limit: silence}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.timer = time.AfterFunc(silence, func() {
		w.cancel(fmt.Errorf("it sent nothing for %v: %w", silence, context.DeadlineExceeded))
	})
	w.ctx = httptrace.WithClientTrace(w.ctx, &httptrace.ClientTrace{WroteHeaders: func() { w.sent.Store(true) }})
	return w
}

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

func (w *watch) middleware(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	res, err := next(req)
	if err != nil {
		return res, err
	}
	w.timer.Reset(w.limit)
	w.status, w.header = res.StatusCode, res.Header
	w.requestID = res.Header.Get("x-request-id")
	res.Body = &watchedBody{res.Body, w}
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind == "application/json" && res.StatusCode == http.StatusOK {
		return res, asStream(res)
	}
	return res, nil
}

// asStream presents a whole answer, from a server that doesn't stream, as a stream of one event. An
// answer that isn't JSON is left for the stream's reader to find fault with.
func asStream(res *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(res.Body, 8*maxReply))
	res.Body.Close()
	if err != nil {
		return err
	}
	if v, err := payload.Parse(text); err == nil {
		text = []byte(oneLine(v))
	} else {
		text = bytes.ReplaceAll(text, []byte("\n"), []byte(" "))
	}
	res.Header = res.Header.Clone()
	res.Header.Set("Content-Type", "text/event-stream")
	res.Body = io.NopCloser(strings.NewReader("data: " + string(text) + "\n\ndata: [DONE]\n\n"))
	return nil
}

// oneLine is the text of v without line breaks, which can only stand between its tokens.
func oneLine(v payload.Value) string {
	return strings.NewReplacer("\n", " ", "\r", " ").Replace(v.String())
}

// done reports whether the server marked the end of its stream.
func (w *watch) done() bool { return bytes.Contains(w.tail, []byte("[DONE]")) }

type watchedBody struct {
	io.ReadCloser
	w *watch
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	w := b.w
	w.timer.Reset(w.limit)
	if room := maxRaw - w.raw.Len(); room > 0 {
		w.raw.Write(p[:min(n, room)])
	}
	w.tail = append(w.tail, p[:n]...)
	if extra := len(w.tail) - tailSize; extra > 0 {
		w.tail = append(w.tail[:0], w.tail[extra:]...)
	}
	if err != nil && err != io.EOF {
		w.broken = err
	}
	return n, err
}
