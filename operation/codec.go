package operation

import (
	"encoding/json"
	"fmt"
	"time"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// DecodeRow reads a row back; fetch finds the large values. Without a fetch they are absent, which
// is enough for Summary.Advance to tell where the operation stands.
func DecodeRow(k Key, body []byte, fetch Fetch) (Row, error) {
	v, err := payload.Parse(body)
	if err != nil {
		return nil, fmt.Errorf("row %s/%s/%d: %w", k.Op, k.Stage, k.N, err)
	}
	r := &reader{v: v, fetch: fetch}
	r.op = k.Op
	row := r.row(k)
	if r.err != nil {
		return nil, fmt.Errorf("row %s/%s/%d: %w", k.Op, k.Stage, k.N, r.err)
	}
	return row, nil
}

func (r *reader) row(k Key) Row {
	switch k.Stage {
	case StPoint:
		return PointRow{r.decided(), r.text("point"), k.N}
	case StReady:
		return ReadyRow{r.decided()}
	case StWaiting:
		return WaitingRow{Decided: r.decided(), N: k.N, Question: r.question()}
	case StAnswer:
		return AnswerRow{k.Op, k.N, Answer{Verb: r.text("verb"), Reason: r.text("reason"), Who: r.text("who"), Edit: r.fields("edit"), For: r.number("for"), Value: r.value("value")}}
	case StIntent:
		return IntentRow{r.decided(), State(r.text("state"))}
	case StRetry:
		return RetryRow{k.Op, k.N, r.text("why")}
	case StOutcome:
		return OutcomeRow{k.Op, k.N, r.value("value"), r.text("status"), r.value("evidence"), r.value("scope"), r.text("event"), r.text("who"), r.text("reason")}
	case StAfter:
		return AfterRow{k.Op, k.N, r.value("effective"), r.flag("stopped"), r.text("proceed"), r.text("by"), r.text("reason"), r.flag("unknown"), r.chained()}
	case StFailed:
		return FailedRow{k.Op, k.N, r.text("point"), r.text("by"), r.text("error"), r.value("given"), r.chained()}
	case StHook:
		return r.hook(k.N)
	case StHooked:
		return r.hooked(k.Op, k.N)
	case StEngine:
		return EngineRow{k.Op, k.N, r.text("who"), r.value("differences")}
	case StEffect:
		return EffectRow{r.decided(), r.flag("before"), r.number("depth")}
	}
	if r.err == nil {
		r.err = fmt.Errorf("the stage %q is unknown to this agentd", k.Stage)
	}
	return nil
}

// reader takes the members of a body apart.
type reader struct {
	op    string
	v     payload.Value
	fetch Fetch
	err   error
}

func (r *reader) text(name string) string { return r.v.Get(name).Text() }
func (r *reader) flag(name string) bool   { return r.v.Get(name).IsTrue() }
func (r *reader) number(name string) int {
	n, _ := r.v.Get(name).Int64()
	return int(n)
}

// time is zero if it isn't there.
func (r *reader) time(name string) (t time.Time) {
	if text := r.text(name); text != "" {
		var err error
		if t, err = time.Parse(time.RFC3339Nano, text); err != nil && r.err == nil {
			r.err = fmt.Errorf("member %q: %w", name, err)
		}
	}
	return t
}

func (r *reader) value(name string) payload.Value {
	packed := r.v.Get(name)
	if !packed.Exists() {
		return payload.Value{}
	}
	if r.fetch == nil {
		return packed.Get("v")
	}
	v, err := unpack(packed, r.fetch)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("member %q: %w", name, err)
	}
	return v
}

func (r *reader) any(name string, into any) {
	v := r.v.Get(name)
	if !v.Exists() {
		return
	}
	if err := json.Unmarshal(v.JSON(), into); err != nil && r.err == nil {
		r.err = fmt.Errorf("member %q: %w", name, err)
	}
}

func (r *reader) fields(name string) []payload.Field {
	v := r.value(name)
	if !v.Exists() {
		return nil
	}
	fs := make([]payload.Field, 0, v.Len())
	for k, kid := range v.Members() {
		fs = append(fs, payload.Field{Name: k, Value: kid})
	}
	return fs
}

func (r *reader) each(name string, read func(item *reader)) {
	for item := range r.v.Get(name).Items() {
		kid := &reader{v: item, fetch: r.fetch}
		read(kid)
		if kid.err != nil && r.err == nil {
			r.err = fmt.Errorf("member %q: %w", name, kid.err)
		}
	}
}

func (r *reader) question() Question {
	kid := &reader{v: r.v.Get("question"), fetch: r.fetch}
	q := Question{OpID: kid.text("id"), RunID: kid.text("run_id"), Tool: kid.text("tool"), Prompt: kid.text("prompt"), Preview: kid.text("preview"), Arguments: kid.value("input"),
		ID: kid.text("question_id"), SessionID: kid.text("session_id"), Agent: kid.text("agent"), Kind: kid.text("kind"), By: kid.text("by"), Again: kid.text("again"),
		AskedAt: kid.time("asked_at"), ExpiresAt: kid.time("expires_at")}
	if kid.err != nil && r.err == nil {
		r.err = fmt.Errorf("member %q: %w", "question", kid.err)
	}
	return q
}

func (r *reader) decided() (d Decided) {
	d.Head = Head{ID: r.op, Parent: r.text("parent"), Kind: r.text("kind"), RunID: r.text("run_id"), SessionID: r.text("session_id"), Instance: r.text("instance"),
		Client: r.text("client"), Agent: r.text("agent"), Tool: r.text("tool"), Foreign: r.flag("foreign"), Composite: r.flag("composite")}
	rev := r.v.Get("revisions")
	d.Head.Revisions = Triple{rev.Get("shipped").Text(), rev.Get("user").Text(), rev.Get("project").Text()}
	began, err := time.Parse(time.RFC3339Nano, r.text("began"))
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("member %q: %w", "began", err)
	}
	d.Head.Began = began
	d.Original, d.Final, d.Write, d.Response = r.value("original"), r.value("final"), r.value("write"), r.value("response")
	d.Outcome, d.By, d.Reason, d.Code, d.Clear = hookpoints.Outcome(r.text("outcome")), r.text("by"), r.text("reason"), r.text("code"), r.flag("clear")
	d.Scope, d.Policy, d.Alone = r.scope(&d.Head), r.text("policy"), r.flag("alone")
	r.each("prepared", func(p *reader) { d.Prepared = append(d.Prepared, p.value("write")) })
	d.Chained = r.chained()
	return d
}

func (r *reader) chained() (c Chained) {
	r.any("records", &c.Records)
	r.each("facts", func(f *reader) {
		c.Facts = append(c.Facts, hookpoints.Fact{Key: f.text("key"), Value: f.value("value"), Absent: f.text("absent"), Pass: f.text("pass"), Point: f.text("point"), Round: f.number("round")})
	})
	r.each("deltas", func(d *reader) {
		c.State = append(c.State, hookpoints.Delta{Cell: d.text("cell"), Read: d.text("read"), Set: d.fields("set")})
	})
	c.Effects = r.effects("effects")
	r.each("texts", func(t *reader) {
		c.Texts = append(c.Texts, hookpoints.Text{BindingID: t.text("binding_id"), Text: t.value("text").Text(), Pin: t.flag("pin")})
	})
	return c
}

func (r *reader) effects(name string) (list []hookpoints.EffectRequest) {
	r.each(name, func(e *reader) {
		list = append(list, hookpoints.EffectRequest{BindingID: e.text("binding_id"), Chain: e.text("chain"), Ordinal: e.number("ordinal"), Name: e.text("name"),
			Before: e.flag("before"), Arguments: e.value("arguments")})
	})
	return list
}
