package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"agentd/internal/api"
)

// cmdEvent does something (event KIND write FILE TEXT...) and waits for an event of the daemon.
func cmdEvent(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 4 || args[1] != "copy" {
		ts.Fatalf("usage: event KIND copy FROM TO")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := api.Dial(ctx, ts.MkAbs(filepath.Join(".agentd", "state", "agentd.sock")))
	ts.Check(err)
	defer c.Close()
	listening, seen, ended := make(chan struct{}), make(chan struct{}, 1024), make(chan error, 1)
	inner, stop := context.WithCancel(ctx)
	go func() {
		ended <- c.Events(inner, func() { close(listening) }, func(e api.Event) {
			if e.Type == args[0] {
				seen <- struct{}{}
			}
		})
	}()
	select {
	case <-listening:
	case <-ctx.Done():
		ts.Fatalf("the daemon tells no events")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[3]), []byte(ts.ReadFile(args[2])), 0o644))
	select {
	case <-seen:
	case <-ctx.Done():
		ts.Fatalf("no event %s came", args[0])
	}
	stop()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		ts.Fatalf("events: %v", err)
	}
}
