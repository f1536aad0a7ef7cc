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
	close func() error
}

// Connect finds the daemon on its socket, or becomes it until Close.
func Connect(ctx context.Context, o Options) (*Connection, error) {
	return connect(ctx, o, lockWait)
}

// ConnectUntil is Connect that waits for the lock until the context ends.
func ConnectUntil(ctx context.Context, o Options) (*Connection, error) { return connect(ctx, o, 0) }

func connect(ctx context.Context, o Options, wait time.Duration) (*Connection, error) {
	path, err := o.Places.Socket()
	if err != nil {
		return nil, err
	}
	limit := ctx
	if wait > 0 {
		var cancel context.CancelFunc
		limit, cancel = context.WithTimeout(ctx, wait)
		defer cancel()
	}
	for {
		if c, err := api.Dial(limit, path); err == nil {
			return &Connection{Client: c, close: func() error { c.Close(); return nil }}, nil
		}
		d, err := Open(limit, o)
		if err == nil {
			return d.here(ctx, path)
		}
		if !errors.Is(err, store.ErrInUse) {
			return nil, err
		}
		select { // somebody holds the lock: their socket comes, or the lock goes
		case <-time.After(20 * time.Millisecond):
		case <-limit.Done():
			return nil, fmt.Errorf("%w, and its socket doesn't answer; try again, or end that process", err)
		}
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
	c := api.NewClient(path)
	return &Connection{Client: c, Own: true, close: func() error {
		c.Close()
		stop()
		return <-ended
	}}, nil
}

// Close lets the daemon go; one in this process ends, and what it does is left where it can be
// resumed.
func (c *Connection) Close() error { return c.close() }
