package daemon

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"agentd/internal/api"
	"agentd/operation"
)

// grace is how long requests may still take once the daemon ends.
const grace = 5 * time.Second

// graceNow is what is left of it for one that has to be gone at some time.
func (o Options) graceNow() time.Duration {
	g := cmp.Or(o.grace, grace)
	if !o.Until.IsZero() {
		g = max(min(g, time.Until(o.Until)), 0)
	}
	return g
}

const (
	// sweep is how often operations of clients that nobody will report about are closed.
	sweep = time.Hour
	// look is how often questions are looked at whose time may be over.
	look = time.Minute
)

// Serve listens on the socket (and on Listen) until the context ends, then lets runs come to a place
// where they can be resumed, and closes everything. Ready is called with the addresses.
func (d *Daemon) Serve(ctx context.Context, ready func(addresses []string)) error {
	endpoints, err := d.listen()
	if err != nil {
		return errors.Join(err, d.Close())
	}
	inner, stop := context.WithCancel(ctx)
	defer stop()
	// Requests outlive ctx by the grace.
	requests, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	var wg sync.WaitGroup
	var answering inFlight
	errs := make(chan error, len(endpoints)+3)
	if d.o.Dev { // before anybody is answered
		w := d.follower(inner)
		wg.Go(func() {
			if err := w.Run(inner); err != nil {
				errs <- err
			}
		})
	}
	var servers []*http.Server
	var addresses []string
	var events crew
	for _, e := range endpoints {
		if _, local := e.Listener.(*socket); local {
			lane := api.NewLane(e.Listener, api.LaneOptions{Backend: d, Context: requests, Enter: answering.enter, Leave: answering.leave, Go: events.Go, Log: d.log})
			wg.Go(lane.Run)
			e.Listener = lane
		}
		s := &http.Server{
			Handler: answering.count(api.Handler(d, e.token)), ReadHeaderTimeout: 10 * time.Second,
			BaseContext: func(net.Listener) context.Context { return requests },
			ErrorLog:    slog.NewLogLogger(d.log.Handler(), slog.LevelDebug),
		}
		servers = append(servers, s)
		addresses = append(addresses, e.Addr().Network()+":"+e.Addr().String())
		wg.Go(func() {
			if err := s.Serve(e.Listener); !errors.Is(err, http.ErrServerClosed) {
				errs <- err
			}
		})
	}
	if err := d.settle(inner); err != nil {
		errs <- err
	}
	if err := d.tendAll(inner); err != nil {
		errs <- err
	}
	wg.Go(func() { d.keepHouse(inner) })
	if ready != nil {
		ready(addresses)
	}
	var failed error
	select {
	case <-ctx.Done():
	case failed = <-errs:
	}
	stop()
	d.runs.close()
	d.bus.close() // streams of events end, so that the servers can
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.o.graceNow())
	defer cancel()
	if unix, ok := endpoints[0].Listener.(*socket); ok && failed == nil {
		if err := unix.retire(late); err != nil { // somebody removed it, say; who waits is cut off
			d.log.Debug("the socket can't be retired", "err", err)
		}
	}
	for _, s := range servers {
		if s.Shutdown(late) != nil { // somebody still asks, or doesn't listen to the answer
			abandon()
			failed = errors.Join(failed, s.Close())
		}
	}
	if !answering.over(late) {
		abandon()
	}
	answering.wait()
	events.Wait()
	wg.Wait()
	return errors.Join(failed, d.Close())
}

// keepHouse closes what clients left open, and denies what nobody answered, now and then.
func (d *Daemon) keepHouse(ctx context.Context) {
	clients, questions := time.NewTicker(sweep), time.NewTicker(look)
	defer clients.Stop()
	defer questions.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-clients.C:
			if err := d.unobserve(ctx, "", "", d.rt.Now().Add(-operation.UnobservedAfter)); err != nil && ctx.Err() == nil {
				d.log.Error("operations of clients stay open", "err", err)
			}
		case <-questions.C:
			if err := d.expire(ctx); err != nil && ctx.Err() == nil {
				d.log.Error("questions stay open", "err", err)
			}
		}
	}
}

// inFlight counts the requests that are being answered: a server that was closed leaves their
// goroutines alone, and the store must outlive them.
type inFlight struct {
	mu     sync.Mutex
	n      int
	closed bool
	idle   chan struct{} // closed when the last one ends after wait began
}

func (f *inFlight) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !f.enter() {
			panic(http.ErrAbortHandler) // the connection is closed already
		}
		defer f.leave()
		next.ServeHTTP(w, r)
	})
}

func (f *inFlight) enter() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.n++
	}
	return !f.closed
}

func (f *inFlight) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n--
	if f.closed && f.n == 0 {
		close(f.idle)
	}
}

// over lets nobody in any more, and reports whether the last one leaves before the context ends.
func (f *inFlight) over(ctx context.Context) bool {
	select {
	case <-f.close():
		return true
	case <-ctx.Done():
		return false
	}
}

// wait lets nobody in any more and returns when the last one has left.
func (f *inFlight) wait() { <-f.close() }

// close lets nobody in any more. What it returns is closed when the last one leaves.
func (f *inFlight) close() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.closed, f.idle = true, make(chan struct{})
		if f.n == 0 {
			close(f.idle)
		}
	}
	return f.idle
}
