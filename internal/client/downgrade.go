package client

import (
	"slices"
	"strconv"
	"strings"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// Downgrade is a row of the table of what clients can't be told. What has no row can be told.
type Downgrade struct {
	Client   string
	Versions Versions
	Event    string // the client's name of it
	Dialect  string // "" is all of the client's
	Verb     hookpoints.Verb
	Field    string // patch: which field of the payload; "" is all of them
	Except   string // a normal tool kind that it doesn't hold for, "" if it holds for all
	Instead  Instead
	Patch    []payload.Field // AsPatch: what is changed instead
	Why      string          // for people: what the client does, one sentence
}

// Instead is what is sent for a verb that a client doesn't know.
type Instead string

// What can be sent instead.
const (
	AsNothing Instead = "nothing" // it is dropped
	AsDeny    Instead = "deny"    // the action is refused, and the reason says what was wanted
	AsStop    Instead = "stop"    // the agent's loop ends
	AsAllow   Instead = "allow"   // the client goes on without asking
	AsLater   Instead = "later"   // context: with a denial, else at the next event that can carry it
	AsNote    Instead = "note"    // the person is told, the model isn't
	AsContext Instead = "context" // patch of a value: the model is shown both
	AsPatch   Instead = "patch"   // another change
)

// Versions is a range of versions; the empty one is all of them.
type Versions struct {
	From  string // the first that it holds for
	Below string // the first that it doesn't hold for any more
}

// Has reports whether a version is in the range. One that isn't known is in every range, as a row means
// that the client can do less.
func (r Versions) Has(version string) bool {
	return version == "" || (r.From == "" || !older(version, r.From)) && (r.Below == "" || older(version, r.Below))
}

// String says which versions these are, as in "1.2 to below 2.0".
func (r Versions) String() string {
	switch {
	case r.From != "" && r.Below != "":
		return r.From + " to below " + r.Below
	case r.From != "":
		return "from " + r.From
	case r.Below != "":
		return "below " + r.Below
	}
	return "all"
}

// older compares versions number by number; what follows the numbers doesn't count.
func older(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(x), len(y)) {
		m, n := number(x, i), number(y, i)
		if m != n {
			return m < n
		}
	}
	return false
}

func number(parts []string, i int) int {
	if i >= len(parts) {
		return 0
	}
	digits := parts[i]
	if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		digits = digits[:end]
	}
	n, _ := strconv.Atoi(digits)
	return n
}

// rows say the same of several events.
func rows(verb hookpoints.Verb, field string, instead Instead, why string, events ...string) []Downgrade {
	out := make([]Downgrade, len(events))
	for i, event := range events {
		out[i] = Downgrade{Event: event, Verb: verb, Field: field, Instead: instead, Why: why}
	}
	return out
}

// never are the rows that hold wherever an event can't be refused or told anything.
func never(why string, instead Instead, events ...string) []Downgrade {
	return append(rows(hookpoints.Reject, "", instead, why, events...), rows(hookpoints.Context, "", AsLater, "it takes no context here", events...)...)
}

// Table is all rows, by client and event.
func Table() (rows []Downgrade) {
	for _, name := range Names() {
		for _, row := range codecs[name].Downgrades() {
			row.Client = name
			rows = append(rows, row)
		}
	}
	return rows
}

// find is the row for a verb at an event; nil if the client can be told. A row about one field comes
// before one about all.
func find(rows []Downgrade, e Event, verb hookpoints.Verb, field string) *Downgrade {
	var all *Downgrade
	for i := range rows {
		r := &rows[i]
		if r.Event != e.Name || r.Verb != verb || !r.Versions.Has(e.Version) || r.Except != "" && r.Except == e.Kind || r.Dialect != "" && e.Dialect != "" && r.Dialect != e.Dialect {
			continue
		}
		if r.Field == field {
			return r
		}
		if r.Field == "" && all == nil {
			all = r
		}
	}
	return all
}

// RowFor is the row that says what an event's client is told for a verb; nil if it can be told.
func RowFor(c Codec, e Event, verb hookpoints.Verb) *Downgrade {
	return rowFor(c.Downgrades(), e, verb, "")
}

// rowFor is find, and the same for events that no client is known to have: all that they are told is a refusal, as
// nobody knows which other words count there.
func rowFor(rows []Downgrade, e Event, verb hookpoints.Verb, field string) *Downgrade {
	if _, known := KnownEvent(e.Client, e.Name); known {
		return find(rows, e, verb, field)
	}
	r := &Downgrade{Event: e.Name, Verb: verb, Instead: AsDeny, Why: "nobody knows what else it takes"}
	switch verb {
	case hookpoints.Reject, hookpoints.Deny:
		return nil
	case hookpoints.Context:
		r.Instead = AsLater
	case hookpoints.Allow:
		r.Instead = AsNothing
	}
	return r
}

// Carries reports whether an event can carry context for the model.
func Carries(c Codec, e Event) bool {
	p := points.Point(e.Point)
	return p != nil && p.Allows.Has(hookpoints.Context) && !e.Cannot.Has(hookpoints.Context) && RowFor(c, e, hookpoints.Context) == nil
}

// downgraded makes a verdict one that the client can be told.
func downgraded(rows []Downgrade, e Event, v Verdict) (out Verdict, later []Text, applied []Downgrade) {
	use := func(verb hookpoints.Verb, field string) *Downgrade {
		r := rowFor(rows, e, verb, field)
		if r == nil && e.Cannot.Has(verb) {
			r = &Downgrade{Event: e.Name, Verb: verb, Field: field, Instead: AsLater}
			if verb != hookpoints.Context {
				r.Instead = AsDeny
			}
		}
		if r != nil && !slices.ContainsFunc(applied, func(a Downgrade) bool { return a.Verb == r.Verb && a.Field == r.Field }) {
			applied = append(applied, *r)
		}
		return r
	}
	v.Patch = slices.Clone(v.Patch)
	if v.Kind == Deny && e.Point == "turn.after" { // where many clients take a denial for a reason to go on
		v.Kind = Stop
	}
	if verb, ok := verbs[v.Kind]; ok {
		if r := use(verb, ""); r != nil {
			v = instead(v, r)
		}
	}
	if v.Kind == Deny { // and what became one
		v.Patch = nil
		if r := use(hookpoints.Reject, ""); r != nil {
			v = instead(v, r)
		}
	}
	if v.Clear && v.Kind == Stop {
		if r := use(hookpoints.Stop, "clear"); r != nil && r.Field == "clear" {
			v.Clear = false
		}
	}
	for _, f := range slices.Clone(v.Patch) {
		if r := use(hookpoints.Patch, f.Name); r != nil {
			v.Patch = slices.DeleteFunc(v.Patch, func(p payload.Field) bool { return p.Name == f.Name })
			switch r.Instead {
			case AsDeny:
				v.Kind, v.Reason = Deny, because(v.Reason, "a hook wants "+f.Name+" to be "+plain(f.Value))
			case AsStop:
				v.Kind, v.Reason = Stop, because(v.Reason, "a hook changed "+f.Name)
			case AsContext:
				v.Context = append(v.Context, Text{Text: "instead of " + f.Name + ": " + plain(f.Value)})
			case AsNote:
				v.Note = because(v.Note, "a hook wants "+f.Name+" to be "+plain(f.Value))
			case AsPatch:
				v.Patch = append(v.Patch, r.Patch...)
			}
		}
	}
	if v.Kind == Deny {
		v.Patch = nil
	}
	if len(v.Context) > 0 {
		if r := use(hookpoints.Context, ""); r != nil {
			switch {
			case v.Kind == Deny: // the model is told why, and this with it
				v.Reason = withContext(v.Reason, v.Texts())
			case r.Instead == AsLater:
				later = v.Context
			case r.Instead == AsNote:
				v.Note = because(v.Note, strings.Join(v.Texts(), "\n"))
			}
			v.Context = nil
		}
	}
	if v.Kind == Deny && strings.TrimSpace(v.Reason) == "" {
		v.Reason = "a hook refused this"
	}
	return v, later, applied
}

// instead is a verdict that a row replaces as a whole.
func instead(v Verdict, r *Downgrade) Verdict {
	switch r.Instead {
	case AsDeny:
		if v.Kind == Respond {
			v.Reason = "a hook answered instead: " + plain(v.Value)
		}
		if v.Kind == Proceed {
			v.Reason, v.Text = "a hook wants the agent to go on: "+v.Text, ""
		}
		v.Kind, v.Patch = Deny, nil
	case AsStop:
		v.Kind, v.Patch = Stop, nil
	case AsAllow:
		v.Kind = Allow
	case AsPatch:
		v.Kind, v.Patch = NoOpinion, slices.Clone(r.Patch)
	case AsNote:
		v.Kind, v.Note = NoOpinion, because(v.Note, because(v.Reason, v.Text))
	case AsContext:
		v.Context = append(slices.Clone(v.Context), Text{Text: because(v.Reason, v.Text)})
		v.Kind = NoOpinion
	default:
		v.Kind = NoOpinion
	}
	return v
}

func because(first, then string) string {
	switch {
	case first == "":
		return then
	case then == "":
		return first
	}
	return first + "\n" + then
}

// withContext puts what hooks had to say where the model will read it.
func withContext(reason string, context []string) string {
	parts := context
	if reason != "" {
		parts = append([]string{reason}, context...)
	}
	return strings.Join(parts, "\n\n")
}
