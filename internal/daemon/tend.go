package daemon

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"agentd/internal/agent"
	"agentd/operation"
	"agentd/store"
)

// Sessions are tended when nobody goes on with their runs: results that no after chain has seen get
// theirs, and effects that were asked for are done. One goroutine a session does it, and a run that
// begins there meanwhile waits for it.

// left is what a session has open, by run; the run "" is that of clients.
type left map[string][]operation.Head

// tendAll tends all sessions when a daemon starts. One that lives for a verb doesn't: it would interrupt
// what it began.
func (d *Daemon) tendAll(ctx context.Context) error {
	if d.o.owner != "" || d.serves() != nil {
		return nil
	}
	open, err := d.store.Open(ctx)
	if err != nil {
		return err
	}
	bySession := map[string]left{}
	var order []string
	for _, h := range open {
		tends, err := d.tends(ctx, h)
		if err != nil {
			return err
		}
		if !tends {
			continue
		}
		l := bySession[h.SessionID]
		if l == nil {
			l = left{}
			bySession[h.SessionID], order = l, append(order, h.SessionID)
		}
		l[h.RunID] = append(l[h.RunID], h)
	}
	for _, session := range order {
		d.runs.tend(session, bySession[session])
	}
	return nil
}

// tends reports whether something is to be done about an open operation that needs no person: an effect,
// or a result that no after chain has seen. Where a hook has failed already, a person resumes the run.
func (d *Daemon) tends(ctx context.Context, h operation.Head) (bool, error) {
	rows, err := d.store.Rows(ctx, h.ID)
	if err != nil || len(rows) == 0 {
		return false, err
	}
	switch rows[len(rows)-1].(type) {
	case operation.FailedRow, operation.HookRow, operation.HookedRow:
		return false, nil
	case operation.OutcomeRow:
		return h.RunID != "" || h.Kind == operation.KindEffect, nil
	case operation.IntentRow:
		sum := operation.Summarise(rows)
		return h.Kind == operation.KindEffect || sum.State == operation.Responded && !h.Foreign, nil
	}
	return h.Kind == operation.KindEffect, nil
}

// tendSession does the effects of a session that nobody else does.
func (d *Daemon) tendSession(session string) {
	ops, err := d.store.Operations(context.WithoutCancel(d.runs.ctx), store.Filter{Session: session, Kind: operation.KindEffect})
	if err != nil {
		d.log.Error("effects can't be looked for", "session_id", session, "err", err)
		return
	}
	l := left{}
	for _, o := range ops {
		if !o.Done {
			l[o.Head.RunID] = append(l[o.Head.RunID], o.Head)
		}
	}
	if len(l) > 0 {
		d.runs.tend(session, l)
	}
}

// tend tends a session, unless a run is at work there or somebody does already; who does sees to what was
// asked for meanwhile.
func (r *runs) tend(session string, l left) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.busy[session] != "" || r.d.own(session) != nil {
		return
	}
	if r.tended[session] != nil {
		r.again[session] = true
		return
	}
	done := make(chan struct{})
	r.tended[session] = done
	r.wg.Go(func() {
		for _, run := range slices.Sorted(maps.Keys(l)) {
			if err := r.d.tendRun(r.ctx, session, run, l[run]); err != nil && r.ctx.Err() == nil {
				r.d.log.Error("what a run asked for stays open", "session_id", session, "run_id", run, "err", err)
			}
		}
		r.mu.Lock()
		again := r.again[session]
		delete(r.again, session)
		delete(r.tended, session)
		r.mu.Unlock()
		close(done)
		if again {
			r.d.tendSession(session)
		}
	})
}

// tending is closed when nobody tends a session any more; nil if nobody does.
func (r *runs) tending(session string) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tended[session]
}

func (d *Daemon) tendRun(ctx context.Context, session, run string, heads []operation.Head) error {
	if _, err := d.rt.Generation(ctx, heads[0].Revisions); err != nil { // its hooks couldn't look at anything
		return err
	}
	if run == "" {
		return d.tendClient(ctx, session)
	}
	sum, _, err := d.store.Operation(ctx, run)
	if err != nil {
		return err
	}
	s, err := d.rt.Session(ctx, session)
	if err == nil {
		err = s.Settle(ctx, run)
	}
	if err == nil {
		err = d.agent.Settle(ctx, s, task(sum))
	}
	if err != nil && (ctx.Err() != nil || errors.Is(err, operation.ErrPersistence)) {
		return err
	}
	// What the loop doesn't come to, as the run ended another way, or can't be taken up here.
	return errors.Join(err, d.eachEffect(ctx, session, run, func(id string) error {
		s, err := d.rt.Session(ctx, session)
		if err == nil {
			_, err = s.Effect(ctx, id)
		}
		return err
	}))
}

// tendClient does effects while the session is free for the client's next event; only hooks that look at
// what came of them hold it.
func (d *Daemon) tendClient(ctx context.Context, session string) error {
	return d.eachEffect(ctx, session, "", func(id string) error {
		if err := d.rt.Runner().DoEffect(ctx, id); err != nil {
			return err
		}
		defer d.sessions.lock(session)()
		s, err := d.rt.Session(ctx, session)
		if err == nil {
			_, err = s.Effect(ctx, id)
		}
		return err
	})
}

// eachEffect does each open effect of a run once, also those that come up meanwhile.
func (d *Daemon) eachEffect(ctx context.Context, session, run string, do func(id string) error) error {
	tried := map[string]bool{}
	var failed error
	for {
		ops, err := d.store.Operations(ctx, store.Filter{Session: session, Run: run, Kind: operation.KindEffect})
		if err != nil {
			return err
		}
		next := ""
		for _, o := range ops {
			if next == "" && !o.Done && o.Head.RunID == run && !tried[o.Head.ID] {
				next = o.Head.ID
			}
		}
		if next == "" {
			return failed
		}
		tried[next] = true
		if err := do(next); err != nil {
			if ctx.Err() != nil || errors.Is(err, operation.ErrPersistence) {
				return err
			}
			failed = errors.Join(failed, err)
		}
	}
}

// letTend lets a daemon that lives for a verb finish what hooks asked for in it, for as long as requests
// may still take.
func (r *runs) letTend() {
	if r.d.o.owner == "" {
		return
	}
	late := time.After(r.d.o.graceNow())
	for {
		r.mu.Lock()
		var one chan struct{}
		for _, done := range r.tended {
			one = done
		}
		r.mu.Unlock()
		if one == nil {
			return
		}
		select {
		case <-one:
		case <-late:
			return
		}
	}
}

// leftOver reports whether a run that ended this way may have left effects.
func leftOver(status string) bool { return status == agent.Cancelled || status == agent.Failed }
