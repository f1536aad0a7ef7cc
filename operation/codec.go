package operation

import (
	"encoding/json"
	"fmt"
	"time"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// Encoded is a row as a store keeps it: JSON text, and the large values that it refers to.
type Encoded struct {
	Key   Key
	Body  []byte
	Blobs []Blob
}

// usualBody is the size in bytes that most bodies stay below.
const usualBody = 2048

// EncodeRow writes a row. Payload values keep their text to the byte.
func EncodeRow(r Row) (Encoded, error) {
	w := &writer{}
	switch r := r.(type) {
	case PointRow:
		w.decided(r.Decided)
		w.text("point", r.Point)
	case ReadyRow:
		w.decided(r.Decided)
	case WaitingRow:
		w.decided(r.Decided)
		w.question(r.Question)
	case AnswerRow:
		w.text("verb", r.Answer.Verb)
		w.text("reason", r.Answer.Reason)
		w.text("who", r.Answer.Who)
		w.fields("edit", r.Answer.Edit)
	case IntentRow:
		w.decided(r.Decided)
		w.text("state", string(r.State))
	case RetryRow:
		w.text("why", r.Why)
	case OutcomeRow:
		w.text("status", r.Status)
		w.value("value", r.Value)
	case AfterRow:
		w.value("effective", r.Effective)
		w.flag("stopped", r.Stopped)
		w.flag("unknown", r.Unknown)
		w.text("proceed", r.Proceed)
		w.text("by", r.By)
		w.text("reason", r.Reason)
		w.chained(r.Chained)
	case FailedRow:
		w.text("point", r.Point)
		w.text("by", r.By)
		w.text("error", r.Error)
		w.chained(r.Chained)
	case EffectRow:
		w.effects("request", []hookpoints.EffectRequest{r.Request})
	default:
		return Encoded{}, fmt.Errorf("operation: no encoding for %T", r)
	}
	if w.err != nil {
		k := r.Key()
		return Encoded{}, fmt.Errorf("row %s/%s/%d: %w", k.Op, k.Stage, k.N, w.err)
	}
	return Encoded{r.Key(), payload.NewObject(w.out...).AppendJSON(make([]byte, 0, usualBody)), w.blobs}, nil
}

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
		return AnswerRow{k.Op, k.N, Answer{r.text("verb"), r.text("reason"), r.text("who"), r.fields("edit")}}
	case StIntent:
		return IntentRow{r.decided(), State(r.text("state"))}
	case StRetry:
		return RetryRow{k.Op, k.N, r.text("why")}
	case StOutcome:
		return OutcomeRow{k.Op, k.N, r.value("value"), r.text("status")}
	case StAfter:
		return AfterRow{k.Op, k.N, r.value("effective"), r.flag("stopped"), r.text("proceed"), r.text("by"), r.text("reason"), r.flag("unknown"), r.chained()}
	case StFailed:
		return FailedRow{k.Op, k.N, r.text("point"), r.text("by"), r.text("error"), r.chained()}
	case StEffect:
		if list := r.effects("request"); len(list) == 1 {
			return EffectRow{k.Op, k.N, list[0]}
		}
	}
	if r.err == nil {
		r.err = fmt.Errorf("the stage %q is unknown to this agentd", k.Stage)
	}
	return nil
}

// writer gathers the members of a body. Empty members are left out.
type writer struct {
	out   []payload.Field
	blobs []Blob
	err   error
}

func (w *writer) add(name string, v payload.Value) {
	w.out = append(w.out, payload.Field{Name: name, Value: v})
}
func (w *writer) text(name, s string) {
	if s != "" {
		w.add(name, payload.NewString(s))
	}
}
func (w *writer) flag(name string, b bool) {
	if b {
		w.add(name, payload.NewBool(true))
	}
}
func (w *writer) value(name string, v payload.Value) {
	if v.Exists() {
		p, err := pack(v, &w.blobs)
		if err != nil && w.err == nil {
			w.err = fmt.Errorf("member %q: %w", name, err)
		}
		w.add(name, p)
	}
}

// any is for small structs of plain data.
func (w *writer) any(name string, x any) {
	v, err := payload.From(x)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.add(name, v)
}

func (w *writer) fields(name string, fs []payload.Field) {
	if fs != nil {
		w.value(name, payload.NewObject(fs...))
	}
}

// object makes an object of the members that it writes.
func (w *writer) object(members func()) payload.Value {
	outer := w.out
	w.out = nil
	members()
	v := payload.NewObject(w.out...)
	w.out = outer
	return v
}

// list writes n objects; item writes the members of one.
func (w *writer) list(name string, n int, item func(i int)) {
	if n == 0 {
		return
	}
	list := make([]payload.Value, n)
	for i := range n {
		list[i] = w.object(func() { item(i) })
	}
	w.add(name, payload.NewArray(list))
}

func (w *writer) question(q Question) {
	w.add("question", w.object(func() {
		w.text("id", q.OpID)
		w.text("run_id", q.RunID)
		w.text("tool", q.Tool)
		w.text("prompt", q.Prompt)
		w.text("preview", q.Preview)
		w.value("input", q.Input)
	}))
}

func (w *writer) decided(d Decided) {
	h := d.Head
	w.text("parent", h.Parent)
	w.text("kind", h.Kind)
	w.text("run_id", h.RunID)
	w.text("session_id", h.SessionID)
	w.text("instance", h.Instance)
	w.text("client", h.Client)
	w.text("agent", h.Agent)
	w.text("tool", h.Tool)
	w.flag("foreign", h.Foreign)
	w.flag("composite", h.Composite)
	w.add("revisions", w.object(func() {
		w.text("shipped", h.Revisions.Shipped)
		w.text("user", h.Revisions.User)
		w.text("project", h.Revisions.Project)
	}))
	w.text("began", h.Began.UTC().Format(time.RFC3339Nano))
	w.value("original", d.Original)
	w.value("final", d.Final)
	w.value("write", d.Write)
	w.text("outcome", string(d.Outcome))
	w.text("by", d.By)
	w.text("reason", d.Reason)
	w.text("code", d.Code)
	w.value("response", d.Response)
	w.flag("clear", d.Clear)
	w.chained(d.Chained)
}

func (w *writer) chained(c Chained) {
	if len(c.Records) > 0 {
		w.any("records", c.Records)
	}
	w.list("facts", len(c.Facts), func(i int) {
		f := c.Facts[i]
		w.text("key", f.Key)
		w.text("absent", f.Absent)
		w.text("pass", f.Pass)
		w.value("value", f.Value)
	})
	w.list("deltas", len(c.State), func(i int) {
		d := c.State[i]
		w.text("cell", d.Cell)
		w.text("read", d.Read)
		w.fields("set", d.Set)
	})
	w.effects("effects", c.Effects)
	w.list("texts", len(c.Texts), func(i int) {
		t := c.Texts[i]
		w.text("binding_id", t.BindingID)
		w.value("text", payload.NewString(t.Text))
		w.flag("pin", t.Pin)
	})
}

func (w *writer) effects(name string, list []hookpoints.EffectRequest) {
	w.list(name, len(list), func(i int) {
		e := list[i]
		w.text("binding_id", e.BindingID)
		w.text("chain", e.Chain)
		w.add("ordinal", payload.NewInt(int64(e.Ordinal)))
		w.text("name", e.Name)
		w.flag("before", e.Before)
		w.value("arguments", e.Arguments)
	})
}

// reader is the inverse.
type reader struct {
	op    string
	v     payload.Value
	fetch Fetch
	err   error
}

func (r *reader) text(name string) string { return r.v.Get(name).Text() }
func (r *reader) flag(name string) bool   { return r.v.Get(name).IsTrue() }
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
	q := Question{OpID: kid.text("id"), RunID: kid.text("run_id"), Tool: kid.text("tool"), Prompt: kid.text("prompt"), Preview: kid.text("preview"), Input: kid.value("input")}
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
		r.err = err
	}
	d.Head.Began = began
	d.Original, d.Final, d.Write, d.Response = r.value("original"), r.value("final"), r.value("write"), r.value("response")
	d.Outcome, d.By, d.Reason, d.Code, d.Clear = hookpoints.Outcome(r.text("outcome")), r.text("by"), r.text("reason"), r.text("code"), r.flag("clear")
	d.Chained = r.chained()
	return d
}

func (r *reader) chained() (c Chained) {
	r.any("records", &c.Records)
	r.each("facts", func(f *reader) {
		c.Facts = append(c.Facts, hookpoints.Fact{Key: f.text("key"), Value: f.value("value"), Absent: f.text("absent"), Pass: f.text("pass")})
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
		n, _ := e.v.Get("ordinal").Int64()
		list = append(list, hookpoints.EffectRequest{BindingID: e.text("binding_id"), Chain: e.text("chain"), Ordinal: int(n), Name: e.text("name"),
			Before: e.flag("before"), Arguments: e.value("arguments")})
	})
	return list
}
