package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/internal/client"
	"agentd/operation"
)

// judged is a client's event on its way to a verdict.
type judged struct {
	d     *Daemon
	codec client.Codec
	e     client.Event
	s     *operation.Session
	was   memo      // of the session, before the event
	at    time.Time // when the event came
	// next is the operation that another action of the same name would be, "" if there is none.
	next string
	// decided is the operation as which the action was decided at its event before this one, if it was.
	decided string
	// asked is what its person is to be asked about at this event, as it may be that action, if there is one.
	asked *operation.Decided
	// unheard is the operation of an action that ran and was to be asked about at another event before.
	unheard string
}

// judge runs the chains of a client's event, as a foreign operation. What it returns is committed.
func (d *Daemon) judge(ctx context.Context, codec client.Codec, e client.Event) (client.Verdict, error) {
	session := e.Client + ":" + e.SessionID
	if e.Ends {
		if err := d.unobserve(ctx, e.Client, session, time.Time{}); err != nil {
			d.log.Error("operations of a client's session stay open", "session", session, "err", err)
		}
	}
	if err := d.serves(); err != nil {
		return client.Verdict{}, err
	}
	unlock, err := d.hold(ctx, session, e.Point == effectsWait)
	if err != nil {
		return client.Verdict{}, fmt.Errorf("another event of this session is still being decided: %w", err)
	}
	defer unlock()
	s, err := d.rt.Session(ctx, session)
	if err != nil {
		return client.Verdict{}, err
	}
	j := &judged{d: d, codec: codec, e: e, s: s, was: readMemo(s.Kept(memoCell)), at: d.rt.Now()}
	if e.Point == "turn.after" {
		j.counts()
	}
	p := d.rt.Points().Point(e.Point)
	if err := p.Check(e.Payload); err != nil {
		return client.Verdict{}, err
	}
	id, saved, err := j.place(ctx)
	if err != nil {
		return client.Verdict{}, err
	}
	switch {
	case e.Point == "tool.after":
		return j.after(ctx, id, saved)
	case len(saved) > 0:
		return j.again(ctx, id, saved)
	}
	if e.Point == "tool.before" {
		if e.Second {
			return j.second(ctx, id)
		}
		return j.before(ctx, id)
	}
	return j.point(ctx, id)
}

// effectsWait is the point where effects are done before the client is answered.
const effectsWait = "turn.after"

// hold takes a client's session, and, if alone, only while nobody does effects of it: what is asked for
// here is done here, and nobody else may come across it.
func (d *Daemon) hold(ctx context.Context, session string, alone bool) (unlock func(), err error) {
	for {
		if unlock, err = d.sessions.lockUntil(ctx, session); err != nil || !alone {
			return unlock, err
		}
		tended := d.runs.tending(session)
		if tended == nil {
			return unlock, nil
		}
		unlock() // whoever tends it needs it too
		select {
		case <-tended:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// head is that of an operation that begins now.
func (j *judged) head(id string) operation.Head {
	kind := "tool"
	if j.e.Point != "tool.before" && j.e.Point != "tool.after" {
		kind = j.e.Point
	}
	return operation.Head{ID: id, Kind: kind, SessionID: j.s.ID, Instance: j.e.Agent, Client: j.e.Client, Tool: j.e.Target, Foreign: true, Revisions: j.d.rt.Serving().Triple, Began: j.d.rt.Now()}
}

// action is the event with what surrounds it.
func (j *judged) action(h operation.Head) (operation.Action, error) {
	e := j.e
	var fields []payload.Field
	add := func(name, value string) {
		if value != "" {
			fields = append(fields, payload.Field{Name: name, Value: payload.NewString(value)})
		}
	}
	add("session_id", cmp.Or(e.SessionID, "unknown"))
	add("client", e.Client)
	add("operation_id", h.ID)
	add("purpose", "action")
	add("instance_id", e.Agent)
	add("target", e.Target)
	add("tool_id", e.ToolID)
	add("kind", e.Kind)
	add("turn", e.Turn)
	if e.Point == "model.chat.before" || e.Point == "model.chat.after" {
		add("model_id", e.Target)
	}
	fields = append(fields, payload.Field{Name: "absent", Value: payload.NewStrings(e.Absent)})
	scope, err := hookpoints.NewScope(payload.NewObject(fields...))
	if err != nil {
		return operation.Action{}, err
	}
	a := operation.Action{}
	if e.Tool != "" {
		a = foreignShape(e.Kind)
	}
	if row := client.RowFor(j.codec, e, hookpoints.Ask); row != nil && row.Instead == client.AsDeny && !j.asksLater() {
		a.Policy = "deny" // nobody can be asked there, so it is recorded as what it is
	}
	a.Head, a.Around, a.Input, a.Report = h, &hookpoints.Around{Scope: scope, Now: h.Began, Seed: h.ID}, e.Payload, e.Key
	a.Note = func(done operation.Done) {
		if _, now := j.conclude(h, done); !sameMemo(now, j.was) {
			j.s.Keep(memoCell, now.value())
		}
	}
	switch {
	case e.Point == "tool.after":
		a.After = func(payload.Value, payload.Value, string) payload.Value { return e.Payload }
	case e.Point != "tool.before":
		a.Validate, a.Answer, a.Allowed = pointChecks(j.d.rt.Points(), e.Point, e.Payload, e.Absent)
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

// pointChecks are what hooks have to keep to at a point without an action, beside its contract. A choice of
// tools can only become smaller; where the client doesn't say which there are, nobody can check that. What is
// allowed when a client asks is looked at by the guards of tool.before: its input may have become another, and not
// every client asked about the call before.
func pointChecks(catalogue *hookpoints.Catalogue, point string, given payload.Value, absent []string) (validate func(context.Context, payload.Value) (payload.Value, error),
	answer func(payload.Value) error, allowed func(payload.Value) (string, payload.Value)) {
	switch {
	case point == "model.chat.before":
		answer = catalogue.Point("model.chat.after").Check
	case point == "tools.select" && !slices.Contains(absent, "tools"):
		had := given.Get("tools").Strings()
		validate = func(_ context.Context, in payload.Value) (payload.Value, error) {
			for _, name := range in.Get("tools").Strings() {
				if !slices.Contains(had, name) {
					return in, fmt.Errorf("tools can only become fewer, and %q wasn't among them", name)
				}
			}
			return in, nil
		}
	case point == "tool.confirm":
		allowed = func(in payload.Value) (string, payload.Value) {
			return "tool.before", askedFor(in.Get("name"), in.Get("tool_id"), in.Get("arguments"))
		}
	}
	return validate, answer, allowed
}

// askedFor is the payload of tool.before, of a client that says no more.
func askedFor(name, toolID, arguments payload.Value) payload.Value {
	return payload.NewObject(payload.Field{Name: "name", Value: name}, payload.Field{Name: "tool_id", Value: toolID},
		payload.Field{Name: "implementation_id", Value: payload.NewNull()}, payload.Field{Name: "parameters", Value: payload.NewObject()}, payload.Field{Name: "arguments", Value: arguments})
}

// before is an action that the client wants to do.
func (j *judged) before(ctx context.Context, id string) (client.Verdict, error) {
	h := j.head(id)
	a, err := j.action(h)
	if err != nil {
		return client.Verdict{}, err
	}
	done, err := j.s.ForeignBefore(ctx, a)
	if err != nil {
		return client.Verdict{}, err
	}
	return j.concluded(ctx, h, done)
}

// point is an event without an action of its own.
func (j *judged) point(ctx context.Context, id string) (client.Verdict, error) {
	h := j.head(id)
	a, err := j.action(h)
	if err != nil {
		return client.Verdict{}, err
	}
	if why := j.quiet(); why != "" {
		if err := j.s.ForeignQuiet(ctx, a, why); err != nil {
			return client.Verdict{}, err
		}
		return j.concluded(ctx, h, operation.Done{Head: h, Outcome: hookpoints.Continued, State: operation.Finished, Effective: j.e.Payload})
	}
	done, err := j.s.ForeignPoint(ctx, a, j.e.Point, j.e.Point == effectsWait)
	if errors.Is(err, operation.ErrHook) {
		return refusal(j.e.Point, err.Error()), nil
	}
	if err != nil {
		return client.Verdict{}, err
	}
	return j.concluded(ctx, h, done)
}

// quiet says why no hook is asked about an event; "" if they are.
func (j *judged) quiet() string {
	switch {
	case j.e.Point == "turn.before" && j.was.sent(j.e.Payload.Get("prompt").Text()) == sentOnly:
		return "a hook sent the turn on with this"
	case j.e.SessionID == "":
	case j.e.Ends && j.was.ended:
		return "the session is over already"
	case j.e.Point == "session.start" && j.was.began && !j.was.ended && j.e.Payload.Get("source").Text() == "startup":
		return "the session has begun already"
	}
	return ""
}

// again gives the answer that an event had when it came for the first time.
func (j *judged) again(ctx context.Context, id string, saved []operation.Row) (client.Verdict, error) {
	a, err := j.action(j.head(id))
	if err != nil {
		return client.Verdict{}, err
	}
	done, err := j.s.ForeignAgain(ctx, a, saved, j.e.Point, j.e.Point == effectsWait)
	if errors.Is(err, operation.ErrHook) {
		return refusal(j.e.Point, err.Error()), nil
	}
	if err != nil {
		return client.Verdict{}, err
	}
	v, _ := j.verdict(done)
	if j.was.givenWith == id {
		v.Context = after(j.was.given, v.Context)
	}
	return v, nil
}

// after is the report of an action's end.
func (j *judged) after(ctx context.Context, id string, saved []operation.Row) (client.Verdict, error) {
	switch { // of a call that the client names
	case len(saved) > 0 && ended(saved):
		return j.again(ctx, id, saved)
	case len(saved) > 0 && operation.Summarise(saved).State != operation.Unobserved:
		saved, id = nil, cmp.Or(j.next, newID("op")) // it was denied, and ran
	}
	if len(saved) == 0 {
		var err error
		if saved, err = j.d.match(ctx, j.e, j.s.ID); err != nil {
			return client.Verdict{}, err
		}
		if len(saved) == 0 {
			twice, err := j.d.reported(ctx, j.e, j.s.ID)
			if err != nil {
				return client.Verdict{}, err
			}
			if len(twice) > 0 {
				return j.again(ctx, twice[0].Key().Op, twice)
			}
		}
	}
	if len(saved) > 0 && j.unasked(saved) {
		saved, id = nil, newID("op")
	}
	h := j.head(id)
	if len(saved) > 0 { // its hooks see the operation that it began as
		h = operation.Summarise(saved).Head
	}
	a, err := j.action(h)
	if err != nil {
		return client.Verdict{}, err
	}
	if len(saved) == 0 {
		a.Input = askedFor(payload.NewString(j.e.Tool), payload.NewString(j.e.ToolID), j.e.Input)
	}
	done, err := j.s.ForeignAfter(ctx, a, saved, j.e.Payload.Get("value"), j.e.Status)
	j.d.heed(h, saved, j.e)
	if errors.Is(err, operation.ErrHook) { // nobody sees what no hook has cleared
		return client.Verdict{Kind: client.Deny, Reason: "withheld: " + err.Error()}, nil
	}
	if err != nil {
		return client.Verdict{}, err
	}
	return j.concluded(ctx, h, done)
}

// ended reports whether the end of an action was reported and looked at.
func ended(rows []operation.Row) bool {
	outcome := false
	for _, r := range rows {
		switch r.(type) {
		case operation.OutcomeRow:
			outcome = true
		case operation.AfterRow:
			return outcome
		}
	}
	return false
}

// concluded is the verdict once what was decided is durable. What came only after that is made durable
// too before anybody is told.
func (j *judged) concluded(ctx context.Context, h operation.Head, done operation.Done) (client.Verdict, error) {
	if done.Asked { // done once the answer is on its way
		j.d.tendSession(j.s.ID)
	}
	v, now := j.conclude(h, done)
	if sameMemo(now, readMemo(j.s.Kept(memoCell))) {
		return v, nil
	}
	j.s.Keep(memoCell, now.value())
	told := h
	told.ID, told.Parent, told.Kind = h.ID+"/told", h.ID, "told"
	a, err := j.action(told)
	if err != nil {
		return v, err
	}
	a.Note = nil
	return v, j.s.ForeignQuiet(ctx, a, "what came of it was told later")
}
