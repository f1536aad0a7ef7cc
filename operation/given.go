package operation

import (
	"encoding/json"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// given is what a chain was given that comes before an action, for the row of its failure: there may
// never be another row of the operation.
func (d *Decided) given() payload.Value {
	head, err := payload.From(d.Head)
	if err != nil { // it is plain
		return payload.Value{}
	}
	fields := []payload.Field{{Name: "head", Value: head}, {Name: "original", Value: d.Original}}
	if d.Scope.Exists() {
		fields = append(fields, payload.Field{Name: "scope", Value: d.Scope})
	}
	return payload.NewObject(append(fields, payload.Field{Name: "policy", Value: payload.NewString(d.Policy)}, payload.Field{Name: "alone", Value: payload.NewBool(d.Alone)})...)
}

// Decided is what the failed chain was given; ok is false if the row doesn't say.
func (r FailedRow) Decided() (d Decided, ok bool) {
	if !r.Given.Exists() || json.Unmarshal(r.Given.Get("head").JSON(), &d.Head) != nil {
		return d, false
	}
	d.Original, d.Scope, d.Outcome = r.Given.Get("original"), r.Given.Get("scope"), hookpoints.Continued
	d.Policy, d.Alone = r.Given.Get("policy").Text(), r.Given.Get("alone").IsTrue()
	d.Head.ID = r.Op
	return d, true
}
