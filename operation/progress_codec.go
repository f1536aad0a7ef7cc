package operation

import (
	"fmt"

	"agentd/hookpoints"
)

func (w *writer) hook(r *HookRow) {
	w.decided(&Decided{Head: r.Head, Original: r.Original})
	w.text("point", r.Call.Point)
	w.text("part", string(r.Call.Part))
	w.text("binding_id", r.Call.BindingID)
	w.number("attempt", int64(r.Call.Attempt))
	w.number("pass", int64(r.Call.Pass))
	w.text("input", r.Call.Input)
}

func (r *reader) hook(n int) HookRow {
	d := r.decided()
	return HookRow{d.Head, d.Original, n, HookCall{r.text("point"), r.text("binding_id"), hookpoints.Part(r.text("part")), r.number("attempt"), r.number("pass"), r.text("input")}}
}

func (w *writer) hooked(r *HookedRow) {
	w.number("of", int64(r.Of))
	w.list("decisions", len(r.Decisions), func(i int) {
		d := r.Decisions[i]
		w.text("decision", d.Verb.String())
		w.fields("fields", d.Fields)
		w.text("text", d.Text)
		w.text("name", d.Name)
		w.value("value", d.Value)
		w.flag("flag", d.Flag)
	})
	w.number("fuel", r.Fuel)
	w.number("bytes", r.Bytes)
	w.text("error", r.Error)
	w.flag("again", r.Again)
	w.text("who", r.Who)
	w.text("reason", r.Reason)
}

func (r *reader) hooked(op string, n int) HookedRow {
	row := HookedRow{Op: op, N: n, Of: r.number("of"), Fuel: int64(r.number("fuel")), Bytes: int64(r.number("bytes")), Error: r.text("error"), Again: r.flag("again"),
		Who: r.text("who"), Reason: r.text("reason")}
	r.each("decisions", func(d *reader) {
		verb, ok := hookpoints.ParseVerb(d.text("decision"))
		if !ok {
			d.err = fmt.Errorf("%q is no decision", d.text("decision"))
		}
		row.Decisions = append(row.Decisions, hookpoints.Decision{Verb: verb, Fields: d.fields("fields"), Text: d.text("text"), Name: d.text("name"), Value: d.value("value"), Flag: d.flag("flag")})
	})
	return row
}
