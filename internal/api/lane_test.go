package api

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// echo is a backend that answers with what it got, for the clients that it knows.
type echo struct{ Backend }

func (echo) Hook(ctx context.Context, client, event string, stdin []byte) ([]byte, int, error) {
	if client == "nobody" {
		return nil, 0, Errorf(ErrNotFound, "nobody is no client")
	}
	_, timed := ctx.Deadline()
	return fmt.Appendf(nil, "%s %q %v %d %.20q", client, event, timed, len(stdin), stdin), 7, nil
}

// listening serves the backend on a socket, with a lane in front of it or without. It returns what asks there, and
// how many connections the server behind the lane was handed.
func listening(t *testing.T, withLane bool) (ask func(raw []byte) string, handed func() int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	in, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	n := 0
	s := &http.Server{Handler: Handler(echo{}, ""), ConnState: func(_ net.Conn, state http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		if state == http.StateNew {
			n++
		}
	}}
	if withLane {
		lane := NewLane(in, LaneOptions{Backend: echo{}, Context: t.Context(), Enter: func() bool { return true }, Leave: func() {}, Go: all.Go, Log: slog.New(slog.DiscardHandler)})
		all.Go(lane.Run)
		in = lane
	}
	all.Go(func() { _ = s.Serve(in) })
	t.Cleanup(func() {
		s.Close()
		all.Wait()
	})
	ask = func(raw []byte) string {
		t.Helper()
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write(raw); err != nil {
			t.Fatal(err)
		}
		if err := c.(*net.UnixConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		return answered(c)
	}
	return ask, func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

// answered is what an answer says.
func answered(from io.Reader) string {
	res, err := http.ReadResponse(bufio.NewReader(from), nil)
	if err != nil {
		return "no answer"
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return fmt.Sprint(res.Proto, " ", res.Status, " ", res.Header.Get(headExit), " ", res.ContentLength, " ", res.Header.Get("Content-Type"), " ", res.Close, " ", err, "\n", string(body))
}

func TestWhoeverAnswersAnEventAnswersTheSame(t *testing.T) {
	a, err := txtar.ParseFile("testdata/lane.txtar")
	if err != nil {
		t.Fatal(err)
	}
	withLane, handed := listening(t, true)
	plainly, _ := listening(t, false)
	for _, f := range a.Files {
		head, body, _ := strings.Cut(string(f.Data), "\n\n")
		raw := strings.ReplaceAll(strings.TrimSuffix(head, "\n"), "\n", "\r\n")
		if raw != "" {
			raw += "\r\n\r\n" + strings.TrimSuffix(body, "\n")
		}
		raw = strings.Replace(raw, "...", strings.Repeat("0123456789", 500000), 1)
		before := handed()
		got := withLane([]byte(raw))
		if d := cmp.Diff(plainly([]byte(raw)), got); d != "" {
			t.Errorf("%s: %s", f.Name, d)
		}
		where := map[bool]string{true: "server", false: "lane"}[handed() > before]
		if want, _, _ := strings.Cut(f.Name, ":"); where != want {
			t.Errorf("%s: the %s answered: %s", f.Name, where, got)
		}
	}
}

// TestAnEventThatComesInPiecesIsWhole: the pieces meet where they are read.
func TestAnEventThatComesInPiecesIsWhole(t *testing.T) {
	raw := "POST /v1/hook/gemini?event=BeforeTool HTTP/1.1\r\nHost: agentd\r\nConnection: close\r\nContent-Length: 20\r\n\r\n01234567890123456789"
	ask, _ := listening(t, false)
	want := ask([]byte(raw))
	for _, cut := range []int{1, 40, strings.Index(raw, "\r\n\r\n"), strings.Index(raw, "\r\n\r\n") + 4, len(raw) - 1} {
		near, far := net.Pipe()
		lane := NewLane(&one{conn: far}, LaneOptions{Backend: echo{}, Context: t.Context(), Enter: func() bool { return true }, Leave: func() {}, Go: func(f func()) { f() }, Log: slog.New(slog.DiscardHandler)})
		s := &http.Server{Handler: Handler(echo{}, "")}
		var all sync.WaitGroup
		all.Go(lane.Run)
		all.Go(func() { _ = s.Serve(lane) })
		all.Go(func() {
			_, _ = io.WriteString(near, raw[:cut])
			_, _ = io.WriteString(near, raw[cut:])
		})
		if d := cmp.Diff(want, answered(near)); d != "" {
			t.Errorf("cut at %d: %s", cut, d)
		}
		near.Close()
		s.Close()
		lane.Close()
		all.Wait()
	}
}

// large is a backend whose answers don't fit into a connection.
type large struct{ Backend }

func (large) Hook(context.Context, string, string, []byte) ([]byte, int, error) {
	return make([]byte, 1<<20), 0, nil
}

// TestWhoDoesNotTakeItsAnswerIsCutOffInTheEnd: it has a while, but nobody waits for it once all is over.
func TestWhoDoesNotTakeItsAnswerIsCutOffInTheEnd(t *testing.T) {
	for what, ends := range map[string]bool{"it is over": true, "it isn't": false} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := net.Pipe()
				defer near.Close()
				in := &one{conn: far}
				ctx, end := context.WithCancel(t.Context())
				defer end()
				var all sync.WaitGroup
				var left atomic.Bool
				began := time.Now()
				lane := NewLane(in, LaneOptions{Backend: large{}, Context: ctx, Enter: func() bool { return true }, Leave: func() { left.Store(true) }, Go: all.Go, Log: slog.New(slog.DiscardHandler)})
				all.Go(lane.Run)
				if _, err := io.WriteString(near, "POST /v1/hook/gemini?event=x HTTP/1.1\r\nHost: agentd\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if left.Load() {
					t.Error("it isn't waited for")
				}
				if ends {
					end()
				} else {
					time.Sleep(readsIn) // of the bubble
				}
				synctest.Wait()
				if took := time.Since(began); !left.Load() || ends && took > 0 {
					t.Errorf("after %v it is waited for: %v", took, !left.Load())
				}
				lane.Close()
				all.Wait()
			})
		})
	}
}

// one is a listener that lets one connection in.
type one struct {
	conn net.Conn
	done chan struct{}
	once sync.Once
}

func (l *one) init() { l.once.Do(func() { l.done = make(chan struct{}) }) }

func (l *one) Accept() (net.Conn, error) {
	l.init()
	if c := l.conn; c != nil {
		l.conn = nil
		return c, nil
	}
	<-l.done
	return nil, net.ErrClosed
}

func (l *one) Close() error {
	l.init()
	close(l.done)
	return nil
}

func (l *one) Addr() net.Addr { return &net.UnixAddr{} }

// FuzzReadRequest: what is read of a request is what net/http reads of it.
func FuzzReadRequest(f *testing.F) {
	a, err := txtar.ParseFile("testdata/lane.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range a.Files {
		f.Add(bytes.ReplaceAll(file.Data, []byte("\n"), []byte("\r\n")))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		q, ok := readRequest(raw)
		if !ok {
			return
		}
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
		if err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		body, _ := io.ReadAll(io.LimitReader(r.Body, int64(len(q.body))))
		if want := "/v1/hook/" + q.client; r.Method != "POST" || r.URL.Path != want || r.URL.Query().Get("event") != q.event || len(r.URL.Query()) > 1 ||
			r.ContentLength != int64(q.size) || !bytes.Equal(body, q.body) || !r.Close || len(r.TransferEncoding) > 0 || (q.within > 0) != (r.Header.Get(headWithin) != "") {
			t.Fatalf("%q is read as %+v and by net/http as %+v", raw, q, r)
		}
	})
}
