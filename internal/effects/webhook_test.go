package effects_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"agentd/internal/effects"
	"agentd/operation"
)

// hooked is a server that notes what it was asked.
type hooked struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
}

func serve(t *testing.T, handle func(w http.ResponseWriter, q *http.Request)) (*hooked, effects.Options) {
	t.Helper()
	h := &hooked{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			t.Error(err)
		}
		h.mu.Lock()
		h.seen = append(h.seen, fmt.Sprint(q.Method, " ", q.URL, " ", q.Header.Get("Content-Type"), " ", q.Header.Get("Idempotency-Key"), " ", string(body)))
		h.mu.Unlock()
		handle(w, q)
	}))
	t.Cleanup(h.Close)
	return h, effects.Options{AllowURL: func(_ context.Context, u *url.URL) bool { return "http://"+u.Host == h.URL && u.Path != "/forbidden" }, Timeout: time.Minute}
}

func (h *hooked) asked() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.seen, "\n")
}

func TestWebhooksPostJSON(t *testing.T) {
	h, o := serve(t, func(w http.ResponseWriter, q *http.Request) {
		switch q.URL.Path {
		case "/redirect":
			http.Redirect(w, q, "/elsewhere", http.StatusTemporaryRedirect)
		case "/refuse":
			http.Error(w, "no", http.StatusForbidden)
		case "/flood":
			w.Write(make([]byte, 100<<10))
		case "/short":
			w.Header().Set("Content-Length", "100")
			w.Write([]byte("ten bytes."))
		default:
			w.Write([]byte("thanks \xff"))
		}
	})
	for _, c := range []struct{ path, want string }{
		{"/ok?a=b", `succeeded {"status":200,"answer":"thanks ` + "\ufffd" + `"}`},
		{"/redirect", `failed {"status":307,"answer":"","error":"the server answered with status 307, a redirect, which isn't followed"}`},
		{"/refuse", `failed {"status":403,"answer":"no\n","error":"the server answered with status 403"}`},
		{"/flood", `succeeded {"status":200,"answer":"\u0000`},
		{"/short", `succeeded {"status":200,"answer":"ten bytes.","cut":true}`},
		{"/forbidden", `failed {"error":"configuration doesn't let webhooks send to 127.0.0.1:`},
	} {
		got := done(t, o, "key/1", "webhook", `{"url":"`+h.URL+c.path+`","body":{"n":1e400,"t":["é"]}}`)
		starts(t, c.path, got, c.want)
		if c.path == "/flood" && (!strings.HasSuffix(got, `"cut":true}`) || len(got) > 7*65<<10) {
			t.Errorf("the flood has %d bytes and ends in %s", len(got), got[len(got)-20:])
		}
	}
	want := ""
	for _, path := range []string{"/ok?a=b", "/redirect", "/refuse", "/flood", "/short"} {
		want += "\nPOST " + path + ` application/json key/1 {"n":1e400,"t":["é"]}`
	}
	if got := "\n" + h.asked(); got != want {
		t.Errorf("the server was asked:%s\nwant:%s", got, want)
	}
}

func TestALostAnswerIsUnknownAndNotAskedForAgain(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	h, o := serve(t, func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/wait" {
			cancel()
			<-q.Context().Done()
			return
		}
		panic(http.ErrAbortHandler)
	})
	starts(t, "closed", done(t, o, "k", "webhook", `{"url":"`+h.URL+`/close","body":1}`), `unknown {"error":"the request was sent and its answer was lost, so nobody knows whether it was taken: `)
	v, status := effects.New(o).Do(ctx, "k", "webhook", value(t, `{"url":"`+h.URL+`/wait","body":1}`))
	if status != operation.UnknownStat {
		t.Errorf("cancelled while it was answered: %s %s", status, v)
	}
	o.Timeout = 100 * time.Millisecond
	slow, so := serve(t, func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() })
	so.Timeout = o.Timeout
	if got := done(t, so, "k", "webhook", `{"url":"`+slow.URL+`/","body":1}`); !strings.HasPrefix(got, "unknown ") && !strings.HasPrefix(got, "failed ") { // it may not even have been sent
		t.Errorf("slow: %s", got)
	}
	if n := strings.Count(h.asked(), "POST"); n != 2 {
		t.Errorf("the server was asked %d times, want 2:\n%s", n, h.asked())
	}
}

func TestARequestThatNeverLeftHasFailed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	o := effects.Options{AllowURL: func(context.Context, *url.URL) bool { return true }, Timeout: time.Minute}
	starts(t, "refused", done(t, o, "k", "webhook", `{"url":"http://`+addr+`/","body":1}`), `failed {"error":"the request couldn't be sent: `)
	plain, _ := serve(t, func(http.ResponseWriter, *http.Request) {})
	starts(t, "no TLS there", done(t, o, "k", "webhook", `{"url":"https`+strings.TrimPrefix(plain.URL, "http")+`/","body":1}`), `failed {"error":"the request couldn't be sent: `)
}
