package client

import (
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// Verdict is what was decided about an event.
type Verdict struct {
	Kind   VerdictKind
	Reason string // Deny, Ask, Stop and Allow: why; never empty at Deny once Say has seen it
	// Patch is the whole new value of each payload field that differs from what the client sent. It goes
	// with NoOpinion, Ask and Allow (edit).
	Patch   []payload.Field
	Value   payload.Value // Respond: the answer, as the after point would have it
	Text    string        // Proceed: the next prompt
	Context []Text        // in order
	Clear   bool          // Stop: the conversation is dropped for what comes next
	Note    string        // for the person only, where the client can show it
}

// Text is context for the model.
type Text struct {
	Text string
	From string // the binding's id
	Pin  bool   // to be given again after a compaction
}

// VerdictKind is the sort of a verdict.
type VerdictKind uint8

// The kinds. The zero value denies, so that a forgotten verdict lets nobody in. Deny is reject too:
// the action doesn't happen.
const (
	Deny VerdictKind = iota
	NoOpinion
	Ask
	Stop
	Respond
	Allow
	Proceed
)

// verbs is how decisions of hooks name a kind.
var verbs = map[VerdictKind]hookpoints.Verb{Ask: hookpoints.Ask, Stop: hookpoints.Stop, Respond: hookpoints.Respond, Allow: hookpoints.Allow, Proceed: hookpoints.Proceed}

// Patched is the new value of a field, absent if it is unchanged.
func (v Verdict) Patched(name string) payload.Value {
	for _, f := range v.Patch {
		if f.Name == name {
			return f.Value
		}
	}
	return payload.Value{}
}

// Texts are the context's texts, without where they come from.
func (v Verdict) Texts() []string {
	out := make([]string, len(v.Context))
	for i, t := range v.Context {
		out[i] = t.Text
	}
	return out
}
