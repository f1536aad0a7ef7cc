package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"agentd/hookpoints"
	"agentd/internal/api"
	"agentd/internal/client"
	"agentd/internal/daemon"
)

// hookDeadline is how long a client's event may take, waiting for the lock included. It is well below
// what clients allow, as they let a tool run when a hook is late.
const hookDeadline = 25 * time.Second

func hookVerb(e *env) *cobra.Command {
	var event string
	var within time.Duration
	c := &cobra.Command{Use: "hook CLIENT", Short: "Answer a client's event on standard input", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		if _, err := client.For(args[0]); err != nil {
			return usage{err}
		}
		ctx, cancel := context.WithTimeout(c.Context(), within)
		defer cancel()
		stdin, err := io.ReadAll(io.LimitReader(e.stdin, hookpoints.MaxPayload+1))
		if len(stdin) > hookpoints.MaxPayload {
			err = fmt.Errorf("the event has more than %d bytes", hookpoints.MaxPayload)
		}
		var out []byte
		var code int
		if err == nil {
			out, code, err = e.hook(ctx, args[0], event, stdin)
		}
		if err != nil {
			e.note("agentd: %v", err)
			out, code = undecided(args[0], event, stdin, err)
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
	c.Flags().DurationVar(&within, "within", hookDeadline, "how long the answer may take; a denial when the `TIME` is up")
	return c
}

// undecided fails closed, in the client's words; an event that decides nothing needs no decision.
func undecided(name, event string, stdin []byte, cause error) ([]byte, int) {
	codec, seen, err := client.Understand(name, event, stdin)
	v := client.Verdict{Kind: client.Deny, Reason: "agentd can't decide this: " + cause.Error()}
	if err == nil && seen.Point != "tool.before" && seen.Point != "tool.after" {
		v = client.Verdict{Kind: client.NoOpinion}
	}
	a, _, _ := client.Say(codec, seen, v)
	return a.Stdout, a.Exit
}

func (e *env) hook(ctx context.Context, name, event string, stdin []byte) ([]byte, int, error) {
	p, err := e.places()
	if err != nil {
		return nil, 0, err
	}
	var out []byte
	var code int
	err = daemon.DoUntil(ctx, e.options(p), func(c *daemon.Connection) error {
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
