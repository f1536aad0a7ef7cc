package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agentd/internal/api"
	"agentd/store"
)

// lockWait is how long a verb waits for a writer that holds the lock and doesn't answer yet.
const lockWait = 2 * time.Second

// Connection is a client of the daemon: of one that was there, or of one in this process.
type Connection struct {
	*api.Client
	Own   bool // the daemon is in this process
	stop  func()
	close func() error
}

// Stop begins to end a daemon in this process: its runs come to a place where they can be resumed, and
// say so. Another process's daemon goes on.
func (c *Connection) Stop() { c.stop() }

// Close lets the daemon go; one in this process ends, and what it does is left where it can be
// resumed.
func (c *Connection) Close() error { return c.close() }

// Do connects, does something and lets go. A daemon that goes away before it took the request (one
// that lived for a single verb, say) is no failure: do is called again with the next one.
func Do(ctx context.Context, o Options, do func(*Connection) error) error {
	return try(ctx, o, lockWait, do)
}

// DoUntil is Do that waits for the lock until the context ends.
func DoUntil(ctx context.Context, o Options, do func(*Connection) error) error {
	return try(ctx, o, 0, do)
}

func try(ctx context.Context, o Options, wait time.Duration, do func(*Connection) error) error {
	limit, cancel := limited(ctx, wait)
	defer cancel()
	for {
		c, err := connect(ctx, limit, o)
		if err != nil {
			return err
		}
		err = do(c)
		if closing := c.Close(); err == nil {
			err = closing
		}
		if c.Own || !errors.Is(err, api.ErrNoDaemon) && !errors.Is(err, api.ErrClosing) || !pause(limit) {
			return err
		}
	}
}

// Connect finds the daemon on its socket, or becomes it until Close.
func Connect(ctx context.Context, o Options) (*Connection, error) {
	limit, cancel := limited(ctx, lockWait)
	defer cancel()
	return connect(ctx, limit, o)
}

func limited(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	if wait == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, wait)
}

// connect waits for a socket that answers or for the lock until limit; what is done then has ctx.
func connect(ctx, limit context.Context, o Options) (*Connection, error) {
	path, err := o.Places.Socket()
	if err != nil {
		return nil, err
	}
	for {
		if c, err := api.Dial(limit, path); err == nil {
			return &Connection{Client: c, stop: func() {}, close: func() error { c.Close(); return nil }}, nil
		}
		o.owner = newID("owner")
		d, err := Open(ctx, o)
		if err == nil {
			return d.here(ctx, path)
		}
		if !errors.Is(err, store.ErrInUse) {
			return nil, err
		}
		if !pause(limit) { // somebody holds the lock: their socket comes, or the lock goes
			return nil, fmt.Errorf("%w, and its socket doesn't answer; try again, or end that process", err)
		}
	}
}

// pause waits a little; false means that there is no time left.
func pause(ctx context.Context) bool {
	t := time.NewTimer(20 * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// here serves the socket from this process.
func (d *Daemon) here(ctx context.Context, path string) (*Connection, error) {
	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- d.Serve(inner, func([]string) { close(ready) }) }()
	select {
	case <-ready:
	case err := <-ended:
		stop()
		return nil, err
	}
	c := api.NewClient(path, d.o.owner)
	return &Connection{Client: c, Own: true, stop: stop, close: func() error {
		c.Close()
		stop()
		return <-ended
	}}, nil
}
