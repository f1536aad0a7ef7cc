package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"agentd/hookpoints"
	"agentd/internal/api"
	"agentd/internal/client"
	"agentd/internal/config"
	"agentd/internal/daemon"
)

func hookVerb(e *env) *cobra.Command {
	var event string
	var within time.Duration
	c := &cobra.Command{Use: "hook CLIENT", Short: "Answer a client's event on standard input", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		if _, err := client.For(args[0]); err != nil {
			return usage{err}
		}
		began := time.Now()
		stdin, err := io.ReadAll(io.LimitReader(e.stdin, hookpoints.MaxPayload+1))
		if len(stdin) > hookpoints.MaxPayload {
			err = fmt.Errorf("the event has more than %d bytes", hookpoints.MaxPayload)
		}
		ctx, cancel := context.WithDeadline(c.Context(), began.Add(cmp.Or(within, patience(args[0], event, stdin))))
		defer cancel()
		var out []byte
		var code int
		if err == nil {
			out, code, err = e.hook(ctx, args[0], event, stdin)
		}
		if err != nil {
			e.note("agentd: %v", err)
			out, code = e.undecided(args[0], event, stdin, err)
		}
		if _, err := e.stdout.Write(out); err != nil {
			return err
		}
		if code != 0 {
			return exit(code)
		}
		return nil
	}}
	c.Flags().StringVar(&event, "event", "", "the event's `NAME`, for clients that don't say it")
	c.Flags().DurationVar(&within, "within", 0, "how long the answer may take; what isn't decided when the `TIME` is up is answered as the policy says. 80 % of how long the client usually waits")
	c.Flags().Lookup("within").DefValue = ""
	return c
}

// goesIn is the part of the time for an answer in which the process has to be gone after that: with 80 % of what
// the client waits for the answer it is gone at 90 %.
const goesIn = 8

// patience is how long the answer may take, waiting for the lock included.
func patience(name, event string, stdin []byte) time.Duration {
	_, seen, _ := client.Understand(name, event, stdin)
	return daemon.Patience(seen)
}

// undecided answers what couldn't be decided as the policy says, in the client's words. Settings that
// can't be read open nothing.
func (e *env) undecided(name, event string, stdin []byte, cause error) ([]byte, int) {
	var policy config.Clients
	if p, err := e.places(); err == nil {
		if live, err := config.ReadLive(p, e.getenv); err == nil {
			policy = live.Clients
		}
	}
	codec, seen, err := client.Understand(name, event, stdin)
	if err != nil {
		cause = err
	}
	a, _, _ := client.Say(codec, seen, daemon.Undecided(policy, seen, cause))
	return a.Stdout, a.Exit
}

func (e *env) hook(ctx context.Context, name, event string, stdin []byte) ([]byte, int, error) {
	p, err := e.places()
	if err != nil {
		return nil, 0, err
	}
	var out []byte
	var code int
	o := e.options(p)
	o.Event = true
	if end, timed := ctx.Deadline(); timed {
		o.Until = end.Add(time.Until(end) / goesIn)
	}
	err = daemon.DoUntil(ctx, o, func(c *daemon.Connection) error {
		var err error
		out, code, err = c.Hook(ctx, name, event, stdin)
		if errors.Is(err, api.ErrLost) {
			// A daemon that lived for one verb is gone. Asking again does no harm: an event that was
			// decided and never answered is an operation that nobody reports about.
			err = fmt.Errorf("%w: %w", api.ErrNoDaemon, err)
		}
		return err
	})
	return out, code, err
}
