package operation

import (
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// Encoded is a row as a store keeps it: JSON text, and the large values that it refers to.
type Encoded struct {
	Key   Key
	Body  []byte
	Blobs []Blob
}

// usualBody is a size in bytes that few bodies outgrow twice.
const usualBody = 1024

// EncodeRow writes a row. Payload values keep their text to the byte.
func EncodeRow(r Row) (Encoded, error) {
	w := &writer{buf: append(make([]byte, 0, usualBody), '{')}
	switch r := r.(type) {
	case PointRow:
		w.decided(&r.Decided)
		w.text("point", r.Point)
	case ReadyRow:
		w.decided(&r.Decided)
	case WaitingRow:
		w.decided(&r.Decided)
		w.question(&r.Question)
	case AnswerRow:
		w.text("verb", r.Answer.Verb)
		w.text("reason", r.Answer.Reason)
		w.text("who", r.Answer.Who)
		w.fields("edit", r.Answer.Edit)
		w.number("for", int64(r.Answer.For))
		w.value("value", r.Answer.Value)
	case IntentRow:
		w.decided(&r.Decided)
		w.text("state", string(r.State))
	case RetryRow:
		w.text("why", r.Why)
	case OutcomeRow:
		w.text("status", r.Status)
		w.value("value", r.Value)
		w.value("evidence", r.Evidence)
		w.value("scope", r.Scope)
		w.text("event", r.Event)
		w.text("who", r.Who)
		w.text("reason", r.Reason)
	case AfterRow:
		w.value("effective", r.Effective)
		w.flag("stopped", r.Stopped)
		w.flag("unknown", r.Unknown)
		w.text("proceed", r.Proceed)
		w.text("by", r.By)
		w.text("reason", r.Reason)
		w.chained(&r.Chained)
	case FailedRow:
		w.text("point", r.Point)
		w.text("by", r.By)
		w.text("error", r.Error)
		w.value("given", r.Given)
		w.chained(&r.Chained)
	case EngineRow:
		w.text("who", r.Who)
		w.value("differences", r.Differences)
	case EffectRow:
		w.decided(&r.Decided)
		w.flag("before", r.Before)
		w.number("depth", int64(r.Depth))
	case HookRow:
		w.hook(&r)
	case HookedRow:
		w.hooked(&r)
	default:
		return Encoded{}, fmt.Errorf("operation: no encoding for %T", r)
	}
	if w.err != nil {
		k := r.Key()
		return Encoded{}, fmt.Errorf("row %s/%s/%d: %w", k.Op, k.Stage, k.N, w.err)
	}
	return Encoded{r.Key(), append(w.buf, '}'), w.blobs}, nil
}

// writer writes the members of a body. Empty members are left out.
type writer struct {
	buf   []byte
	blobs []Blob
	err   error
}

// name begins a member. Names are plain words.
func (w *writer) name(name string) {
	w.next()
	w.buf = append(w.buf, '"')
	w.buf = append(w.buf, name...)
	w.buf = append(w.buf, '"', ':')
}

// next separates what comes from what was before it in the same object or array.
func (w *writer) next() {
	if last := w.buf[len(w.buf)-1]; last != '{' && last != '[' {
		w.buf = append(w.buf, ',')
	}
}

// quote writes a string; bytes that are no UTF-8 become U+FFFD.
func (w *writer) quote(s string) { w.buf, _ = jsontext.AppendQuote(w.buf, s) }

func (w *writer) text(name, s string) {
	if s != "" {
		w.name(name)
		w.quote(s)
	}
}

func (w *writer) time(name string, t time.Time) {
	if !t.IsZero() {
		w.text(name, t.UTC().Format(time.RFC3339Nano))
	}
}

func (w *writer) texts(name string, list []string) {
	if len(list) == 0 {
		return
	}
	w.name(name)
	w.buf = append(w.buf, '[')
	for _, s := range list {
		w.next()
		w.quote(s)
	}
	w.buf = append(w.buf, ']')
}

func (w *writer) flag(name string, b bool) {
	if b {
		w.name(name)
		w.buf = append(w.buf, "true"...)
	}
}

func (w *writer) number(name string, i int64) {
	if i != 0 {
		w.name(name)
		w.buf = strconv.AppendInt(w.buf, i, 10)
	}
}

// value writes a payload value packed.
func (w *writer) value(name string, v payload.Value) {
	if !v.Exists() {
		return
	}
	w.name(name)
	var err error
	if w.buf, err = appendPacked(w.buf, v, &w.blobs); err != nil && w.err == nil {
		w.err = fmt.Errorf("member %q: %w", name, err)
	}
}

func (w *writer) fields(name string, fs []payload.Field) {
	if fs != nil {
		w.value(name, payload.NewObject(fs...))
	}
}

// object writes an object of the members that members writes.
func (w *writer) object(name string, members func()) {
	w.name(name)
	w.buf = append(w.buf, '{')
	members()
	w.buf = append(w.buf, '}')
}

// list writes n objects; item writes the members of one.
func (w *writer) list(name string, n int, item func(i int)) {
	if n == 0 {
		return
	}
	w.name(name)
	w.buf = append(w.buf, '[')
	for i := range n {
		w.next()
		w.buf = append(w.buf, '{')
		item(i)
		w.buf = append(w.buf, '}')
	}
	w.buf = append(w.buf, ']')
}

func (w *writer) question(q *Question) {
	w.object("question", func() {
		w.text("id", q.OpID)
		w.text("run_id", q.RunID)
		w.text("tool", q.Tool)
		w.text("prompt", q.Prompt)
		w.text("preview", q.Preview)
		w.value("input", q.Arguments)
		w.text("question_id", q.ID)
		w.text("session_id", q.SessionID)
		w.text("agent", q.Agent)
		w.text("kind", q.Kind)
		w.text("by", q.By)
		w.text("again", q.Again)
		w.time("asked_at", q.AskedAt)
		w.time("expires_at", q.ExpiresAt)
	})
}

func (w *writer) decided(d *Decided) {
	h := &d.Head
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
	w.object("revisions", func() {
		w.text("shipped", h.Revisions.Shipped)
		w.text("user", h.Revisions.User)
		w.text("project", h.Revisions.Project)
	})
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
	w.scope(h, d.Scope)
	w.text("policy", d.Policy)
	w.flag("alone", d.Alone)
	w.list("prepared", len(d.Prepared), func(i int) { w.value("write", d.Prepared[i]) })
	w.chained(&d.Chained)
}

func (w *writer) chained(c *Chained) {
	w.list("records", len(c.Records), func(i int) { w.record(&c.Records[i]) })
	w.list("facts", len(c.Facts), func(i int) {
		f := c.Facts[i]
		w.text("key", f.Key)
		w.text("absent", f.Absent)
		w.text("pass", f.Pass)
		w.text("point", f.Point)
		w.number("round", int64(f.Round))
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
		w.number("ordinal", int64(e.Ordinal))
		w.text("name", e.Name)
		w.flag("before", e.Before)
		w.value("arguments", e.Arguments)
	})
}

// record writes the members under the names that they have in JSON everywhere.
func (w *writer) record(r *hookpoints.Record) {
	w.text("binding_id", r.BindingID)
	w.text("hook_id", r.HookID)
	w.text("version", r.Version)
	w.text("point", r.Point)
	w.text("part", string(r.Part))
	w.flag("ran", r.Ran)
	w.text("why", r.Why)
	w.text("decision", r.Decision)
	w.texts("fields", r.Fields)
	w.texts("overrode", r.Overrode)
	w.text("reason", r.Reason)
	if r.Annotations.Exists() {
		if r.Annotations.Depth(inlineDepth) > inlineDepth && w.err == nil {
			w.err = fmt.Errorf("the annotations of %s are nested deeper than %d levels", r.BindingID, inlineDepth)
		}
		w.name("annotations")
		w.buf = r.Annotations.AppendJSON(w.buf)
	}
	w.number("fuel", r.Fuel)
	w.number("bytes", r.Bytes)
	w.number("us", r.Micros)
	w.number("schedule", int64(r.Schedule))
	w.text("error", r.Error)
	w.text("state_read", r.StateRead)
}
