package daemon

import (
	"context"

	"agentd/hookpoints/payload"
	"agentd/internal/client"
	"agentd/operation"
	"agentd/store"
)

// What a client does with its answers shows when it reports what it did.

// Unheeded is an action that a client did otherwise than it was told, as its own report says.
type Unheeded struct {
	Operation string        `json:"operation_id"`
	Session   string        `json:"session_id"`
	Client    string        `json:"client"`
	Tool      string        `json:"tool"`
	What      string        `json:"what"` // UnheededNotAsked, UnheededInput
	Told      payload.Value `json:"told,omitzero"`
	Ran       payload.Value `json:"ran,omitzero"`
}

// What can be wrong.
const (
	UnheededNotAsked = "it ran without being asked about, or after a denial"
	UnheededInput    = "it ran with another input than the one that it was answered with"
)

// heed holds a report against what the client was told, and tells whoever listens.
func (d *Daemon) heed(h operation.Head, saved []operation.Row, e client.Event) {
	if u, bad := unheeded(h, saved, e.Input); bad {
		d.log.Warn("a client did something otherwise than it was told", "client", u.Client, "operation_id", u.Operation, "tool", u.Tool, "what", u.What)
		fields := map[string]any{"operation_id": u.Operation, "session_id": u.Session, "client": u.Client, "tool": u.Tool, "what": u.What}
		if u.Told.Exists() {
			fields["told"] = u.Told
		}
		fields["ran"] = u.Ran
		d.tell("client.unheeded", "", fields)
	}
}

func unheeded(h operation.Head, saved []operation.Row, ran payload.Value) (Unheeded, bool) {
	u := Unheeded{Operation: h.ID, Session: h.SessionID, Client: h.Client, Tool: h.Tool, Ran: ran}
	if len(saved) == 0 {
		u.What = UnheededNotAsked
		return u, true
	}
	if u.Told = operation.Summarise(saved).Final.Get("arguments"); normal(u.Told) != normal(ran) {
		u.What = UnheededInput
		return u, true
	}
	return u, false
}

// UnheededBy lists what a client ("" is all of them) did otherwise than it was told, oldest first, of the
// last limit operations (0: all).
func UnheededBy(ctx context.Context, r *store.Reader, name string, limit int) ([]Unheeded, error) {
	ops, err := r.Operations(ctx, store.Filter{Client: name, Kind: "tool", Limit: limit})
	if err != nil {
		return nil, err
	}
	list := []Unheeded{}
	for _, o := range ops {
		if !o.Head.Foreign || o.State != operation.Finished {
			continue
		}
		rows, err := r.Rows(ctx, o.Head.ID)
		if err != nil {
			return nil, err
		}
		sum := operation.Summarise(rows)
		u := Unheeded{Operation: o.Head.ID, Session: o.Head.SessionID, Client: o.Head.Client, Tool: o.Head.Tool}
		if sum.Reason == operation.NoBefore {
			u.What, u.Ran = UnheededNotAsked, sum.Final.Get("arguments")
			list = append(list, u)
			continue
		}
		for _, row := range rows {
			if out, ok := row.(operation.OutcomeRow); ok && out.Evidence.Exists() && normal(out.Evidence) != normal(sum.Final.Get("arguments")) {
				u.What, u.Told, u.Ran = UnheededInput, sum.Final.Get("arguments"), out.Evidence
				list = append(list, u)
			}
		}
	}
	return list, nil
}

// heeded tells what a client did otherwise than it was told, of what is looked at.
func (k *checkup) heeded(ctx context.Context, r *store.Reader, name string) error {
	list, err := UnheededBy(ctx, r, name, lookedAt)
	if err != nil {
		return err
	}
	byWhat := map[string][]Unheeded{}
	for _, u := range list {
		byWhat[u.What] = append(byWhat[u.What], u)
	}
	for _, what := range []string{UnheededNotAsked, UnheededInput} {
		if n := len(byWhat[what]); n > 0 {
			last := byWhat[what][n-1]
			k.warn("look at agentd ops show "+last.Operation+"; a client that goes on like this isn't guarded", "%s of %s not as agentd had answered: %s; the last one is %s (%s)", countOf(n), name, what, last.Operation, last.Tool)
		}
	}
	return nil
}

// reported finds the operation whose end this very event has reported already.
func (d *Daemon) reported(ctx context.Context, e client.Event, session string) ([]operation.Row, error) {
	if e.Key == "" {
		return nil, nil
	}
	ops, err := d.store.Operations(ctx, store.Filter{Client: e.Client, Session: session, Tool: e.ToolID, Kind: "tool", Limit: recentReports})
	if err != nil {
		return nil, err
	}
	for i := len(ops) - 1; i >= 0; i-- {
		if ops[i].State != operation.Finished {
			continue
		}
		rows, err := d.store.Rows(ctx, ops[i].Head.ID)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if out, ok := row.(operation.OutcomeRow); ok && out.Event == e.Key && ended(rows) {
				return rows, nil
			}
		}
	}
	return nil, nil
}

// recentReports is how many operations are looked through for one that was reported twice: a client that
// says one thing twice does so at once.
const recentReports = 32
