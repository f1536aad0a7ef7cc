package replay

import (
	"bytes"
	"slices"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/operation"
)

// compare says how an operation comes out otherwise, nil if it doesn't.
func (p *player) compare(o *op, was, now operation.Row) *Change {
	before, after := p.told(was), p.told(now)
	var x, y []payload.Field
	ended := !same(find(before, "outcome"), find(after, "outcome"))
	skip := func(name string, other payload.Value) bool { // what only one side has, as the other ended earlier
		return ended && !other.Exists() && (name == "payload" || name == "value" || name == "write")
	}
	for _, f := range before {
		if g := find(after, f.Name); !same(f.Value, g) && !skip(f.Name, g) {
			x, y = differ(x, y, f.Name, f.Value, g)
		}
	}
	for _, f := range after {
		if !find(before, f.Name).Exists() && !skip(f.Name, payload.Value{}) {
			x, y = differ(x, y, f.Name, payload.Value{}, f.Value)
		}
	}
	if len(x) == 0 && len(y) == 0 && p.o.Pinned && !sameRow(was, now) {
		x, y = []payload.Field{{Name: "row", Value: whole(was)}}, []payload.Field{{Name: "row", Value: whole(now)}}
	}
	if len(x) == 0 && len(y) == 0 {
		return nil
	}
	return &Change{ID: o.id, Point: pointOf(o, was, now), Before: entry(before, was, x), After: entry(after, now, y)}
}

func field(name string, v payload.Value) payload.Field { return payload.Field{Name: name, Value: v} }
func text(s string) payload.Value                      { return payload.NewString(s) }
func same(a, b payload.Value) bool {
	return a == b || a.Exists() == b.Exists() && bytes.Equal(a.JSON(), b.JSON())
}

func find(list []payload.Field, name string) (v payload.Value) {
	for _, f := range list {
		if f.Name == name {
			v = f.Value
		}
	}
	return v
}

// differ adds a difference; of two objects only the members that differ.
func differ(x, y []payload.Field, name string, a, b payload.Value) ([]payload.Field, []payload.Field) {
	if name == "payload" && a.Kind() == payload.Object && b.Kind() == payload.Object {
		var l, r []payload.Field
		for k, v := range a.Members() {
			if !same(v, b.Get(k)) {
				l = append(l, field(k, v))
			}
		}
		for k, v := range b.Members() {
			if !same(v, a.Get(k)) {
				r = append(r, field(k, v))
			}
		}
		a, b = payload.NewObject(l...), payload.NewObject(r...)
	}
	if a.Exists() {
		x = append(x, field(name, a))
	}
	if b.Exists() {
		y = append(y, field(name, b))
	}
	return x, y
}

// entry is one side of a change: the outcome, who decided it, and what differs.
func entry(all []payload.Field, r operation.Row, diff []payload.Field) payload.Value {
	out := []payload.Field{field("outcome", find(all, "outcome"))}
	if _, by := operation.ChainsIn(r); by != "" {
		out = append(out, field("by", text(by)))
	}
	for _, f := range diff {
		if f.Name != "outcome" {
			out = append(out, f)
		}
	}
	return payload.NewObject(out...)
}

// told is what a chain came to, in what counts: whether the action happens, with what, what everybody
// is told, what is asked for. Annotations, state, and which hook it was, don't.
func (p *player) told(r operation.Row) []payload.Field {
	var out []payload.Field
	add := func(name string, v payload.Value) { out = append(out, field(name, v)) }
	switch r := r.(type) {
	case operation.PointRow:
		add("outcome", text(string(r.Outcome)))
		if r.Outcome != hookpoints.Continued {
			add("reason", text(r.Reason))
		}
		add("payload", r.Final)
		if r.Response.Exists() {
			add("answer", r.Response)
		}
		if r.Clear {
			add("clear", payload.NewBool(true))
		}
		return append(out, told(r.Chained)...)
	case operation.WaitingRow:
		add("outcome", text(string(hookpoints.Asked)))
		add("prompt", text(r.Question.Prompt))
		add("payload", r.Final)
		return append(out, told(r.Chained)...)
	case operation.ReadyRow:
		return before(r.Decided, operation.Running)
	case operation.IntentRow:
		return before(r.Decided, r.State)
	case operation.AfterRow:
		add("outcome", text(outcomeAfter(r)))
		if r.Stopped {
			add("reason", text(r.Reason))
		}
		if r.Proceed != "" {
			add("proceed", text(r.Proceed))
		}
		// The value that new hooks leave may be one that the old ones hid.
		add("value", text(r.Effective.Digest()))
		return append(out, told(r.Chained)...)
	case operation.FailedRow:
		add("outcome", text(string(hookpoints.Failed)))
		add("reason", text(r.Error))
	}
	return out
}

func outcomeAfter(r operation.AfterRow) string {
	switch {
	case r.Stopped:
		return string(hookpoints.Stopped)
	case r.Proceed != "":
		return string(hookpoints.Proceeded)
	}
	return string(hookpoints.Continued)
}

// before is what was decided before an action.
func before(d operation.Decided, state operation.State) (out []payload.Field) {
	add := func(name string, v payload.Value) { out = append(out, field(name, v)) }
	switch state {
	case operation.Running:
		outcome := hookpoints.Continued
		if d.Head.Foreign && d.Outcome == hookpoints.Asked { // its client asks
			outcome = hookpoints.Asked
		}
		add("outcome", text(string(outcome)))
		add("payload", d.Final)
		if d.Write.Exists() {
			add("write", text(d.Write.Digest()))
		}
	case operation.Responded:
		add("outcome", text(string(hookpoints.Responded)))
		add("answer", d.Response)
	default:
		add("outcome", text(string(d.Outcome)))
		add("reason", text(d.Reason))
		add("code", text(d.Code))
	}
	return append(out, told(d.Chained)...)
}

// told is what chains said beside their outcome.
func told(c operation.Chained) (out []payload.Field) {
	if len(c.Texts) > 0 {
		var texts []payload.Value
		for _, t := range c.Texts {
			texts = append(texts, payload.NewObject(field("text", text(t.Text)), field("pin", payload.NewBool(t.Pin))))
		}
		out = append(out, field("context", payload.NewArray(texts)))
	}
	if len(c.Effects) > 0 {
		var effects []payload.Value
		for _, e := range c.Effects {
			effects = append(effects, payload.NewObject(field("name", text(e.Name)), field("before", payload.NewBool(e.Before)), field("arguments", e.Arguments)))
		}
		out = append(out, field("effects", payload.NewArray(effects)))
	}
	return out
}

// pointOf is where a change was decided: the first binding that did otherwise says so.
func pointOf(o *op, was, now operation.Row) string {
	if p, ok := was.(operation.PointRow); ok {
		return p.Point
	}
	if p, ok := now.(operation.PointRow); ok { // it failed once
		return p.Point
	}
	a, b := decisions(was), decisions(now)
	if r, ok := only(b, a); ok {
		return r.Point
	}
	if r, ok := only(a, b); ok {
		return r.Point
	}
	if _, ok := was.(operation.AfterRow); ok {
		return o.points.After
	}
	return o.points.Before
}

// only is the first record that has no like in others.
func only(list, others []hookpoints.Record) (hookpoints.Record, bool) {
	for _, r := range list {
		if !slices.ContainsFunc(others, func(o hookpoints.Record) bool { return alike(o, r) }) {
			return r, true
		}
	}
	return hookpoints.Record{}, false
}

func alike(a, b hookpoints.Record) bool {
	return a.BindingID == b.BindingID && a.Point == b.Point && a.Part == b.Part && a.Decision == b.Decision && a.Error == b.Error && a.Reason == b.Reason
}

// decisions are the records of those that said something.
func decisions(r operation.Row) (out []hookpoints.Record) {
	chains, _ := operation.ChainsIn(r)
	for _, rec := range chains.Records {
		if rec.Decision != "" && rec.Decision != "annotate" && rec.Decision != "remember" || rec.Error != "" {
			out = append(out, rec)
		}
	}
	return out
}

// sameRow compares all that two rows hold but how long it took, and what only says where they stand.
func sameRow(was, now operation.Row) bool { return same(whole(was), whole(now)) }

func whole(r operation.Row) payload.Value {
	e, err := operation.EncodeRow(plain(r))
	if err != nil {
		return text(err.Error())
	}
	v, err := payload.Parse(e.Body)
	if err != nil {
		return text(err.Error())
	}
	return v
}

// plain is a row without what may differ between two computations of the same.
func plain(r operation.Row) operation.Row {
	timeless := func(c *operation.Chained) {
		c.Records = slices.Clone(c.Records)
		for i := range c.Records {
			c.Records[i].Micros = 0
		}
	}
	switch r := r.(type) {
	case operation.PointRow:
		timeless(&r.Chained)
		return r
	case operation.ReadyRow:
		timeless(&r.Chained)
		return operation.IntentRow{Decided: r.Decided, State: operation.Running}
	case operation.WaitingRow:
		timeless(&r.Chained)
		r.Question = operation.Question{Prompt: r.Question.Prompt, Preview: r.Question.Preview}
		return r
	case operation.IntentRow:
		timeless(&r.Chained)
		return r
	case operation.AfterRow:
		timeless(&r.Chained)
		return r
	case operation.FailedRow:
		timeless(&r.Chained)
		return r
	}
	return r
}
