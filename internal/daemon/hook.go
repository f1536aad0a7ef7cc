package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/internal/client"
	"agentd/operation"
)

// Hook implements api.Backend: a client's event in, its answer out. What can't be decided is denied.
func (d *Daemon) Hook(ctx context.Context, name, event string, stdin []byte) ([]byte, int) {
	codec, err := client.For(name)
	if err != nil {
		return []byte(err.Error() + "\n"), 2
	}
	e, err := codec.Decode(stdin)
	if e.Name == "" {
		e.Name = event
	}
	if err == nil && e.Point == "" {
		return codec.Encode(e, client.Verdict{Kind: client.NoOpinion})
	}
	var v client.Verdict
	if err == nil {
		v, err = d.judge(ctx, e)
	}
	if err != nil {
		d.log.Error("a client's event was denied", "client", name, "event", e.Name, "err", err)
		v = client.Verdict{Kind: client.Deny, Reason: "agentd can't decide this: " + err.Error()}
	}
	return codec.Encode(e, v)
}

// judge runs the chains of a client's event, as a foreign operation.
func (d *Daemon) judge(ctx context.Context, e client.Event) (client.Verdict, error) {
	session := e.Client + ":" + e.SessionID
	defer d.sessionLock(session)()
	s, err := d.rt.Session(ctx, session)
	if err != nil {
		return client.Verdict{}, err
	}
	if e.Point == "tool.before" {
		return d.judgeBefore(ctx, s, e)
	}
	return d.judgeAfter(ctx, s, e)
}

// sessionLock makes the events of one session wait for each other.
func (d *Daemon) sessionLock(session string) (unlock func()) {
	d.mu.Lock()
	l := d.foreign[session]
	if l == nil {
		l = &sync.Mutex{}
		d.foreign[session] = l
	}
	d.mu.Unlock()
	l.Lock()
	return l.Unlock
}

func (d *Daemon) foreignAction(e client.Event, s *operation.Session) (operation.Action, error) {
	h := operation.Head{ID: newID("op"), Kind: "tool", SessionID: s.ID, Client: e.Client, Tool: e.ToolID, Foreign: true, Revisions: d.rt.Serving().Triple, Began: d.rt.Now()}
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
	return operation.Action{
		Head: h, Points: operation.Points{Before: "tool.before", Confirm: "tool.confirm", After: "tool.after"},
		Around: &hookpoints.Around{Scope: scope, Now: h.Began, Seed: h.ID}, Input: e.Payload,
		Confirm: func(in, _ payload.Value) payload.Value {
			return payload.NewObject(payload.Field{Name: "name", Value: in.Get("name")}, payload.Field{Name: "tool_id", Value: in.Get("tool_id")},
				payload.Field{Name: "kind", Value: payload.NewString(e.Kind)}, payload.Field{Name: "arguments", Value: in.Get("arguments")}, payload.Field{Name: "preview", Value: payload.NewNull()})
		},
		After:     func(_, _ payload.Value, _ string) payload.Value { return e.Payload },
		Effective: func(after payload.Value) payload.Value { return after.Get("value") },
	}, nil
}

func (d *Daemon) judgeBefore(ctx context.Context, s *operation.Session, e client.Event) (client.Verdict, error) {
	a, err := d.foreignAction(e, s)
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
		v.Input = got
	}
	for _, t := range done.Texts {
		v.Context = append(v.Context, t.Text)
	}
	return v, nil
}

func (d *Daemon) judgeAfter(ctx context.Context, s *operation.Session, e client.Event) (client.Verdict, error) {
	a, err := d.foreignAction(e, s)
	if err != nil {
		return client.Verdict{}, err
	}
	if err := d.rt.Points().Point("tool.after").Check(e.Payload); err != nil {
		return client.Verdict{}, err
	}
	saved, err := d.match(ctx, e, s.ID)
	if err != nil {
		return client.Verdict{}, err
	}
	if len(saved) > 0 {
		a.Head = operation.Summarise(saved).Head
	} else {
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
	v := client.Verdict{Kind: client.NoOpinion}
	if done.Stop {
		v.Kind, v.Reason = client.Stop, done.Reason
	}
	if done.Effective.String() != value.String() {
		v.Value = done.Effective
	}
	for _, t := range done.Texts {
		v.Context = append(v.Context, t.Text)
	}
	return v, nil
}

// match finds the open operation of an after event: by the input as it was answered, else as it was
// asked, oldest first.
func (d *Daemon) match(ctx context.Context, e client.Event, session string) ([]operation.Row, error) {
	heads, err := d.store.OpenForeign(ctx, e.Client, session, e.ToolID)
	if err != nil {
		return nil, err
	}
	want := e.Input.Digest()
	var asked []operation.Row
	for _, h := range heads {
		rows, err := d.store.Rows(ctx, h.ID)
		if err != nil {
			return nil, err
		}
		sum := operation.Summarise(rows)
		if sum.Final.Get("arguments").Digest() == want {
			return rows, nil
		}
		if asked == nil && sum.Original.Get("arguments").Digest() == want {
			asked = rows
		}
	}
	return asked, nil
}
