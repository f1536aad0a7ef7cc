package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/internal/api"
	"agentd/internal/client"
	"agentd/operation"
	"agentd/revision"
)

// Hook implements api.Backend: a client's event in, its answer out. What can't be decided is denied;
// the error is that of a client that nobody knows.
func (d *Daemon) Hook(ctx context.Context, name, event string, stdin []byte) (stdout []byte, exit int, err error) {
	codec, e, err := client.Understand(name, event, stdin)
	if codec == nil {
		return nil, 0, api.Errorf(api.ErrNotFound, "%w", err)
	}
	var v client.Verdict
	if canary, ok := client.Canary(e); ok && err == nil {
		v = canary
	} else if err == nil {
		v, err = d.judge(ctx, e)
	}
	if err != nil {
		d.log.Error("a client's event was denied", "client", name, "event", e.Name, "err", err)
		v = client.Verdict{Kind: client.Deny, Reason: "agentd can't decide this: " + err.Error()}
	}
	a, _, _ := client.Say(codec, e, v)
	return a.Stdout, a.Exit, nil
}

// judge runs the chains of a client's event, as a foreign operation.
func (d *Daemon) judge(ctx context.Context, e client.Event) (client.Verdict, error) {
	session := e.Client + ":" + e.SessionID
	if e.Ends {
		if err := d.unobserve(ctx, e.Client, session, time.Time{}); err != nil {
			d.log.Error("operations of a client's session stay open", "session", session, "err", err)
		}
	}
	if e.Point != "tool.before" && e.Point != "tool.after" {
		return client.Verdict{Kind: client.NoOpinion}, nil
	}
	if err := d.serves(); err != nil {
		return client.Verdict{}, err
	}
	defer d.sessions.lock(session)()
	s, err := d.rt.Session(ctx, session)
	if err != nil {
		return client.Verdict{}, err
	}
	if e.Point == "tool.before" {
		return d.judgeBefore(ctx, s, e)
	}
	return d.judgeAfter(ctx, s, e)
}

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

// foreignHead is that of an operation that begins now.
func (d *Daemon) foreignHead(e client.Event, s *operation.Session) operation.Head {
	return operation.Head{ID: newID("op"), Kind: "tool", SessionID: s.ID, Client: e.Client, Tool: e.ToolID, Foreign: true, Revisions: d.rt.Serving().Triple, Began: d.rt.Now()}
}

func foreignAction(e client.Event, h operation.Head) (operation.Action, error) {
	fields := []payload.Field{
		{Name: "session_id", Value: payload.NewString(e.SessionID)}, {Name: "client", Value: payload.NewString(e.Client)},
		{Name: "operation_id", Value: payload.NewString(h.ID)}, {Name: "purpose", Value: payload.NewString("action")},
		{Name: "target", Value: payload.NewString(e.ToolID)}, {Name: "tool_id", Value: payload.NewString(e.ToolID)},
		{Name: "kind", Value: payload.NewString(e.Kind)}, {Name: "absent", Value: payload.NewStrings(e.Absent)},
	}
	scope, err := hookpoints.NewScope(payload.NewObject(fields...))
	if err != nil {
		return operation.Action{}, err
	}
	a := foreignShape(e.Kind)
	a.Head, a.Around, a.Input = h, &hookpoints.Around{Scope: scope, Now: h.Began, Seed: h.ID}, e.Payload
	if e.Point == "tool.after" {
		a.After = func(payload.Value, payload.Value, string) payload.Value { return e.Payload }
	}
	return a, nil
}

// foreignShape is what surrounds a client's action of this kind.
func foreignShape(kind string) operation.Action {
	return operation.Action{
		Points: operation.Points{Before: "tool.before", Confirm: "tool.confirm", After: "tool.after"},
		Confirm: func(in, _ payload.Value) payload.Value {
			return payload.NewObject(payload.Field{Name: "name", Value: in.Get("name")}, payload.Field{Name: "tool_id", Value: in.Get("tool_id")},
				payload.Field{Name: "kind", Value: payload.NewString(kind)}, payload.Field{Name: "arguments", Value: in.Get("arguments")}, payload.Field{Name: "preview", Value: payload.NewNull()})
		},
		After: func(in, raw payload.Value, status string) payload.Value {
			return payload.NewObject(payload.Field{Name: "value", Value: raw}, payload.Field{Name: "status", Value: payload.NewString(status)},
				payload.Field{Name: "evidence_arguments", Value: in.Get("arguments")})
		},
		Effective: func(after payload.Value) payload.Value { return after.Get("value") },
	}
}

func (d *Daemon) judgeBefore(ctx context.Context, s *operation.Session, e client.Event) (client.Verdict, error) {
	a, err := foreignAction(e, d.foreignHead(e, s))
	if err != nil {
		return client.Verdict{}, err
	}
	if err := d.rt.Points().Point("tool.before").Check(e.Payload); err != nil {
		return client.Verdict{}, err
	}
	done, err := s.ForeignBefore(ctx, a)
	if err != nil {
		return client.Verdict{}, err
	}
	d.askedBy(s, done)
	v := client.Verdict{Reason: done.Reason}
	switch done.State {
	case operation.Running:
		v.Kind = client.NoOpinion
	case operation.Waiting:
		v.Kind = client.Ask
	case operation.Stopped:
		v.Kind = client.Stop
	case operation.Responded:
		v.Kind, v.Value = client.Respond, done.Effective
	default:
		v.Kind = client.Deny
		if v.Reason == "" || done.Reason == "the hook failed" {
			v.Reason = fmt.Sprintf("the hook %s failed (%s)", done.By, done.Code)
		}
	}
	if got := done.Effective.Get("arguments"); (done.State == operation.Running || done.State == operation.Waiting) && got.String() != e.Input.String() {
		v.Patch = []payload.Field{{Name: "arguments", Value: got}}
	}
	for _, t := range done.Texts {
		v.Context = append(v.Context, client.Text{Text: t.Text, From: t.BindingID, Pin: t.Pin})
	}
	return v, nil
}

func (d *Daemon) judgeAfter(ctx context.Context, s *operation.Session, e client.Event) (client.Verdict, error) {
	if err := d.rt.Points().Point("tool.after").Check(e.Payload); err != nil {
		return client.Verdict{}, err
	}
	saved, err := d.match(ctx, e, s.ID)
	if err != nil {
		return client.Verdict{}, err
	}
	head := d.foreignHead(e, s)
	if len(saved) > 0 { // its hooks see the operation that it began as
		head = operation.Summarise(saved).Head
	}
	a, err := foreignAction(e, head)
	if err != nil {
		return client.Verdict{}, err
	}
	if len(saved) == 0 {
		a.Input = payload.NewObject(payload.Field{Name: "name", Value: payload.NewString(e.Tool)}, payload.Field{Name: "tool_id", Value: payload.NewString(e.ToolID)},
			payload.Field{Name: "implementation_id", Value: payload.NewNull()}, payload.Field{Name: "parameters", Value: payload.NewObject()}, payload.Field{Name: "arguments", Value: e.Input})
	}
	value := e.Payload.Get("value")
	done, err := s.ForeignAfter(ctx, a, saved, value, e.Status)
	if errors.Is(err, operation.ErrHook) { // nobody sees what no hook has cleared
		return client.Verdict{Kind: client.Deny, Reason: "withheld: " + err.Error()}, nil
	}
	if err != nil {
		return client.Verdict{}, err
	}
	d.askedBy(s, done)
	v := client.Verdict{Kind: client.NoOpinion}
	if done.Stop {
		v.Kind, v.Reason = client.Stop, done.Reason
	}
	if done.Effective.String() != value.String() {
		v.Patch = []payload.Field{{Name: "value", Value: done.Effective}}
	}
	for _, t := range done.Texts {
		v.Context = append(v.Context, client.Text{Text: t.Text, From: t.BindingID, Pin: t.Pin})
	}
	return v, nil
}

// askedBy has done what the hooks of a client's action asked for, once its answer is on its way.
func (d *Daemon) askedBy(s *operation.Session, done operation.Done) {
	if done.Asked {
		d.tendSession(s.ID)
	}
}

// match finds the open operation of an after event: by the input as it was answered, else as it was
// asked, oldest first. Clients write their inputs anew for each event, so what counts is what they say
// and not how they are spelled.
func (d *Daemon) match(ctx context.Context, e client.Event, session string) ([]operation.Row, error) {
	heads, err := d.store.OpenForeign(ctx, e.Client, session, e.ToolID)
	if err != nil {
		return nil, err
	}
	want := normal(e.Input)
	var asked []operation.Row
	for _, h := range heads {
		rows, err := d.store.Rows(ctx, h.ID)
		if err != nil {
			return nil, err
		}
		sum := operation.Summarise(rows)
		if normal(sum.Final.Get("arguments")) == want {
			return rows, nil
		}
		if asked == nil && normal(sum.Original.Get("arguments")) == want {
			asked = rows
		}
	}
	return asked, nil
}

// normal is a value without the freedom that JSON has in writing it, where that can be had: numbers
// that a float64 would change stay as they are, and then so does all the rest.
func normal(v payload.Value) string {
	if !v.Exists() {
		return ""
	}
	if text, err := revision.Canonical(v); err == nil {
		return string(text)
	}
	return v.String()
}
