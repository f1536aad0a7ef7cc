package daemon

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"agentd/internal/api"
	"agentd/internal/client"
	"agentd/operation"
)

// Hook implements api.Backend: a client's event in, its answer out, before the context ends; without a
// deadline of its own, before the client's usual limit is near. What can't be decided by then is answered
// as the policy for its point says. The error is that of a client that nobody knows.
func (d *Daemon) Hook(ctx context.Context, name, event string, stdin []byte) (stdout []byte, exit int, err error) {
	codec, e, err := client.Understand(name, event, stdin)
	if codec == nil {
		return nil, 0, api.Errorf(api.ErrNotFound, "%w", err)
	}
	if _, timed := ctx.Deadline(); !timed {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, Patience(e))
		defer cancel()
	}
	if e.Called != "" && err == nil {
		d.log.Warn("a client's event isn't the one that its hook was registered for", "client", e.Client, "event", e.Name, "registered", e.Called)
		d.tell("client.misnamed", "", map[string]any{"client": e.Client, "event": e.Name, "point": e.Point, "registered": e.Called, "session_id": e.Client + ":" + e.SessionID})
	}
	var v client.Verdict
	if canary, ok := client.Canary(e); ok && err == nil {
		v = canary
	} else if err == nil {
		v, err = d.judgeInTime(ctx, codec, e)
	}
	if err != nil {
		v = Undecided(d.live.Clients, e, err)
		d.log.Error("a client's event couldn't be decided", "client", e.Client, "event", e.Name, "point", e.Point, "open", v.Kind == client.NoOpinion, "err", err)
		d.tell("client.undecided", "", map[string]any{"client": e.Client, "event": e.Name, "point": e.Point, "session_id": e.Client + ":" + e.SessionID, "open": v.Kind == client.NoOpinion, "error": err.Error()})
		if failed := d.undecided(ctx, codec, e, len(stdin), v, err); failed != nil {
			d.log.Error("what an undecided event is answered isn't recorded", "client", e.Client, "event", e.Name, "err", failed)
		}
	}
	a, _, applied := client.Say(codec, e, v)
	for _, row := range applied {
		d.log.Info("a client can't be told what a hook decided", "client", e.Client, "event", e.Name, "verb", row.Verb, "field", row.Field, "instead", row.Instead)
	}
	return a.Stdout, a.Exit, nil
}

// judgeInTime is judge, but for who waits it is over with the context. What is still at work then ends by
// itself, as its context has ended too; the daemon waits for it before it closes.
func (d *Daemon) judgeInTime(ctx context.Context, codec client.Codec, e client.Event) (client.Verdict, error) {
	type judgement struct {
		v   client.Verdict
		err error
	}
	done := make(chan judgement, 1)
	d.judging.Go(func() {
		var j judgement
		defer func() {
			if r := recover(); r != nil {
				d.log.Error("a client's event broke its judgement", "client", e.Client, "event", e.Name, "panic", r, "stack", string(debug.Stack()))
				j = judgement{err: fmt.Errorf("agentd has a fault: %v", r)}
			}
			done <- j
		}()
		j.v, j.err = d.judge(ctx, codec, e)
	})
	select {
	case j := <-done:
		return j.v, j.err
	case <-ctx.Done():
		select {
		case j := <-done: // both at once
			return j.v, j.err
		default:
		}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return client.Verdict{}, errLate
		}
		return client.Verdict{}, ctx.Err()
	}
}

// errLate: the client would go on without an answer soon.
var errLate = errors.New("it took too long")

// unobserve closes what clients left open: of one session if it is named, and of those that began
// before a time if there is one.
func (d *Daemon) unobserve(ctx context.Context, name, session string, before time.Time) error {
	heads, err := d.store.OpenForeign(ctx, name, session, "")
	if err != nil {
		return err
	}
	bySession := map[string][]operation.Head{}
	for _, h := range heads {
		if before.IsZero() || h.Began.Before(before) {
			bySession[h.SessionID] = append(bySession[h.SessionID], h)
		}
	}
	for session, old := range bySession {
		if err := d.closeOpen(ctx, session, old); err != nil {
			return err
		}
	}
	return nil
}

// closeOpen closes those of a session's operations that are still open, as a late report may have come.
func (d *Daemon) closeOpen(ctx context.Context, session string, heads []operation.Head) error {
	defer d.sessions.lock(session)()
	var open []operation.Head
	for _, h := range heads {
		sum, _, err := d.store.Operation(ctx, h.ID)
		if err != nil {
			return err
		}
		if !sum.Done() {
			open = append(open, h)
		}
	}
	return d.rt.Runner().Unobserve(ctx, open)
}
