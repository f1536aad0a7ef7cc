package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
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
		defer outlive()()
		began := time.Now()
		_, called, _ := client.Understand(args[0], event, nil)
		stdin, err := eventWithin(e.stdin, max(cmp.Or(within, daemon.Patience(called)), readsIn))
		_, seen, odd := client.Understand(args[0], event, stdin)
		ctx, cancel := context.WithDeadline(c.Context(), began.Add(cmp.Or(within, daemon.Patience(seen))))
		defer cancel()
		var out []byte
		var code int
		if odd == nil && silent(seen) {
			to := e.stderr
			talk := &held{}
			e.stderr = talk
			defer func() {
				if e.stderr = to; len(out) > 0 {
					_, _ = to.Write(talk.text.Bytes())
				}
			}()
		}
		if err == nil {
			out, code, err = e.hook(ctx, args[0], event, stdin)
		}
		if err != nil {
			e.note("agentd: %v", err)
			out, code = e.undecided(args[0], event, stdin, err)
		}
		if len(out) > 0 {
			if err := writeWithin(e.stdout, out, goneAt(ctx, began)); err != nil {
				return e.unsaid(args[0], event, stdin, err)
			}
		}
		if code != 0 {
			return exit(code)
		}
		return nil
	}}
	c.Flags().StringVar(&event, "event", "", "the event's `NAME`, for clients that don't say it")
	c.Flags().DurationVar(&within, "within", 0, "how long the answer may take; what isn't decided when the `TIME` is up is answered as the policy says")
	c.Flags().Lookup("within").DefValue = "80 % of how long the client usually waits"
	return c
}

// goesIn is the part of the time for an answer in which the process has to be gone after that: with 80 % of what
// the client waits for the answer it is gone at 90 %.
const goesIn = 8

// goneAt is when a process is gone that began to answer until the context's end.
func goneAt(ctx context.Context, began time.Time) time.Time {
	until, _ := ctx.Deadline()
	return until.Add(until.Sub(began) / goesIn)
}

// writeWithin writes an answer, if it is taken in time: a client that doesn't read isn't waited for. Who still writes
// then ends with the process.
func writeWithin(to io.Writer, text []byte, until time.Time) error {
	written := make(chan error, 1)
	go func() {
		_, err := to.Write(text)
		written <- err
	}()
	late := time.NewTimer(max(time.Until(until), readsIn))
	defer late.Stop()
	select {
	case err := <-written:
		return err
	case <-late.C:
		return errors.New("nobody reads it")
	}
}

// readsIn is what reading an event may take at least: what is there already is read, so that it is refused as what it is.
const readsIn = 100 * time.Millisecond

// outlive keeps the process alive where nobody reads what it says any more, until it is called again: the exit code
// is an answer too. Programs that it starts aren't concerned.
func outlive() (undo func()) {
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	return func() { signal.Stop(pipe) }
}

// eventWithin reads an event. Of one that hasn't ended in time it is what has come of it; who still reads then ends
// with the process.
func eventWithin(from io.Reader, limit time.Duration) ([]byte, error) {
	type event struct {
		text []byte
		err  error
	}
	whole := make(chan event, 1)
	var mu sync.Mutex
	var text []byte
	go func() {
		buf := make([]byte, 64<<10)
		from := io.LimitReader(from, hookpoints.MaxPayload+1)
		for {
			n, err := from.Read(buf)
			mu.Lock()
			text = append(text, buf[:n]...)
			mu.Unlock()
			if err != nil {
				if err == io.EOF {
					err = nil
				}
				whole <- event{text, err}
				return
			}
		}
	}()
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case e := <-whole:
		if len(e.text) > hookpoints.MaxPayload {
			e.err = fmt.Errorf("the event has more than %d bytes", hookpoints.MaxPayload)
		}
		return e.text, e.err
	case <-late.C:
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(text), fmt.Errorf("the event hadn't ended after %v", limit)
	}
}

// folders are the variables in which clients say where they were started. An agent can go anywhere else, and there
// the hooks of its project count all the same. cmd/agentd-hook has them too.
var folders = map[string]string{
	"claude": "CLAUDE_PROJECT_DIR", "cursor": "CURSOR_PROJECT_DIR", "factory": "FACTORY_PROJECT_DIR", "gemini": "GEMINI_PROJECT_DIR", "qwen": "QWEN_PROJECT_DIR",
}

// placesOf are the places of a client's project: that in which it was started, else that in which the hook was.
func (e *env) placesOf(client string) (config.Places, error) {
	if dir := e.getenv(folders[client]); filepath.IsAbs(dir) {
		if p, err := e.placesFrom(dir); err == nil && p.Project != "" {
			return p, nil
		}
	}
	return e.places()
}

// silent reports whether a client may take what is on standard error for the answer, where there is none: Gemini CLI
// does, and at some events anything at all changes what it does.
func silent(e client.Event) bool { return e.Client == "gemini" }

// held keeps what is said.
type held struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (h *held) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(p)
}

// undecided answers what couldn't be decided as the policy says, in the client's words.
func (e *env) undecided(name, event string, stdin []byte, cause error) ([]byte, int) {
	codec, seen, v := e.refusal(name, event, stdin, cause)
	a, _, _ := client.Say(codec, seen, v)
	return a.Stdout, a.Exit
}

// refusal is the verdict about an event that couldn't be decided. Settings that can't be read open nothing.
func (e *env) refusal(name, event string, stdin []byte, cause error) (client.Codec, client.Event, client.Verdict) {
	var policy config.Clients
	if p, err := e.placesOf(name); err == nil {
		if live, err := config.ReadLive(p, e.getenv); err == nil {
			policy = live.Clients
		}
	}
	codec, seen, err := client.Understand(name, event, stdin)
	if err != nil {
		cause = err
	}
	return codec, seen, daemon.Undecided(policy, seen, cause)
}

// unsaid is for an answer that can't be written. What is refused then is refused by the exit code that every client
// understands, with the reason on standard error; at an end that would send the agent on.
func (e *env) unsaid(name, event string, stdin []byte, cause error) error {
	_, seen, v := e.refusal(name, event, stdin, cause)
	if v.Kind == client.NoOpinion || seen.Point == "turn.after" || seen.Point == "subagent.after" {
		return cause
	}
	e.note("agentd can't decide this: the answer can't be written: %v", cause)
	return exit(2)
}

func (e *env) hook(ctx context.Context, name, event string, stdin []byte) ([]byte, int, error) {
	p, err := e.placesOf(name)
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
