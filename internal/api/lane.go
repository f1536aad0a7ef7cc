package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Lane is a listener in front of an http.Server's. A client's event that comes as agentd-hook sends it, one
// request on a connection of its own, it answers itself: what HTTP costs in general is much beside what such an
// event takes. Every other connection it hands on, with what was read of it. Who asks can't tell which it was.
type Lane struct {
	o     LaneOptions
	in    net.Listener
	next  chan accepted
	ended chan struct{}
	close func() error
}

// LaneOptions are those of a lane.
type LaneOptions struct {
	Backend Backend
	Context context.Context // of what is asked
	// Enter counts a connection that came in, unless it returns false, and Leave one that is done with.
	Enter func() bool
	Leave func()
	Go    func(func()) // has something done while others come in
	Log   *slog.Logger
}

type accepted struct {
	conn net.Conn
	err  error
}

// NewLane takes over a listener. Run has to be running for anything to come in.
func NewLane(in net.Listener, o LaneOptions) *Lane {
	l := &Lane{o: o, in: in, next: make(chan accepted), ended: make(chan struct{})}
	l.close = sync.OnceValue(func() error {
		close(l.ended)
		return in.Close()
	})
	return l
}

// Accept implements net.Listener, for what isn't answered here.
func (l *Lane) Accept() (net.Conn, error) {
	select {
	case a := <-l.next:
		return a.conn, a.err
	case <-l.ended:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. What came in before is still answered.
func (l *Lane) Close() error { return l.close() }

// Addr implements net.Listener.
func (l *Lane) Addr() net.Addr { return l.in.Addr() }

// Run lets connections in until the lane is closed.
func (l *Lane) Run() {
	for {
		conn, err := l.in.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			_ = l.Close()
			return
		case err != nil:
			l.hand(accepted{err: err}) // who accepts knows how long to wait
		case !l.o.Enter():
			_ = conn.Close()
		default:
			l.o.Go(func() {
				defer l.o.Leave()
				l.serve(conn)
			})
		}
	}
}

// hand hands something to who accepts.
func (l *Lane) hand(a accepted) {
	select {
	case l.next <- a:
	case <-l.ended:
		if a.conn != nil {
			_ = a.conn.Close()
		}
	}
}

const (
	inTime    = time.Second      // in which a request has to be there; else it isn't one for here
	readsIn   = 10 * time.Second // in which who asked has to take the answer
	usualSize = 4 << 10
	fits      = 32 << 10 // what a connection takes though nobody reads
)

func (l *Lane) serve(conn net.Conn) {
	defer func() {
		if r := recover(); r != nil {
			l.o.Log.Error("a client's event broke its connection", "panic", r, "stack", string(debug.Stack()))
			_ = conn.Close()
		}
	}()
	if err := conn.SetDeadline(time.Now().Add(inTime)); err != nil {
		_ = conn.Close()
		return
	}
	text := make([]byte, usualSize)
	n, _ := conn.Read(text) // an error comes again
	text = text[:n]
	q, ok := readRequest(text)
	if ok && q.size > len(q.body) {
		whole := make([]byte, q.size)
		had := copy(whole, q.body)
		got, err := io.ReadFull(conn, whole[had:])
		text, q.body = append(text, whole[had:had+got]...), whole
		ok = err == nil
	}
	if !ok || !l.answer(conn, q) {
		l.forward(conn, text)
	}
}

// forward has somebody else serve a connection of which something was read.
func (l *Lane) forward(conn net.Conn, text []byte) {
	if conn.SetDeadline(time.Time{}) != nil {
		_ = conn.Close()
		return
	}
	l.hand(accepted{conn: &begun{conn, io.MultiReader(bytes.NewReader(text), conn)}})
}

// begun is a connection of which something was read.
type begun struct {
	net.Conn
	all io.Reader
}

func (b *begun) Read(into []byte) (int, error) { return b.all.Read(into) }

// answer reports whether it did. What fails is left to who says how: nothing has come of it yet.
func (l *Lane) answer(conn net.Conn, q request) bool {
	ctx := l.o.Context
	if q.within > 0 {
		inner, cancel := context.WithTimeout(ctx, q.within)
		defer cancel()
		ctx = inner
	}
	out, exit, err := l.o.Backend.Hook(ctx, q.client, q.event, q.body)
	if err != nil {
		return false
	}
	defer conn.Close()
	if conn.SetDeadline(time.Now().Add(readsIn)) != nil {
		return true
	}
	if len(out) > fits { // nobody waits for who reads it once the context ends
		defer context.AfterFunc(l.o.Context, func() { _ = conn.SetDeadline(time.Now()) })()
	}
	head := "HTTP/1.1 200 OK\r\n" + headExit + ": " + strconv.Itoa(exit) + "\r\nContent-Length: " + strconv.Itoa(len(out)) +
		"\r\nContent-Type: application/octet-stream\r\nConnection: close\r\n\r\n"
	_, _ = conn.Write(append([]byte(head), out...)) // who went away doesn't want it any more
	return true
}

// request is a client's event as agentd-hook sends it.
type request struct {
	client, event string
	within        time.Duration // 0: it doesn't say
	size          int           // of the body
	body          []byte        // what is there of it
}

// readRequest reads the beginning of a request. It is not ok with anything that agentd-hook doesn't send.
func readRequest(text []byte) (q request, ok bool) {
	head, body, whole := bytes.Cut(text, []byte("\r\n\r\n"))
	if !whole {
		return q, false
	}
	line, fields, _ := strings.Cut(string(head), "\r\n")
	path, isPost := strings.CutPrefix(line, "POST /v1/hook/")
	path, isHTTP := strings.CutSuffix(path, " HTTP/1.1")
	q.client, q.event, _ = strings.Cut(path, "?event=")
	if !isPost || !isHTTP || q.client == "" || !plain(q.client) || !plain(q.event) || !strings.HasPrefix(fields, "Host: agentd\r\nConnection: close\r\n") {
		return q, false
	}
	fields = strings.TrimPrefix(fields, "Host: agentd\r\nConnection: close\r\n")
	if rest, timed := strings.CutPrefix(fields, headWithin+": "); timed {
		within, more, _ := strings.Cut(rest, "\r\n")
		d, err := time.ParseDuration(within)
		if err != nil || d <= 0 {
			return q, false
		}
		q.within, fields = d, more
	}
	length, isLast := strings.CutPrefix(fields, "Content-Length: ")
	size, err := strconv.ParseUint(length, 10, 32)
	if !isLast || err != nil || size > maxBody || uint64(len(body)) > size {
		return q, false
	}
	q.size, q.body = int(size), body
	return q, true
}

// plain reports whether a word stands for itself in a path.
func plain(word string) bool {
	return !strings.ContainsFunc(word, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '-' && r != '_'
	})
}
