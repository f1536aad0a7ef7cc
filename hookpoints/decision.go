package hookpoints

import "agentd/hookpoints/payload"

// Verb names a decision.
type Verb uint8

// The verbs.
const (
	None Verb = iota
	Patch
	Reject
	Context
	Annotate
	Halt
	Stop
	Proceed
	Respond
	Allow
	Deny
	Ask
	Edit
	Effect
	Remember
	verbCount
)

var verbNames = [verbCount]string{"none", "patch", "reject", "context", "annotate", "halt", "stop", "proceed", "respond", "allow", "deny", "ask", "edit", "effect", "remember"}

// String is the name of the builtin that makes such a decision.
func (v Verb) String() string {
	if v >= verbCount {
		return "unknown"
	}
	return verbNames[v]
}

// Verbs is a set of verbs.
type Verbs uint32

// SetOf makes a set.
func SetOf(verbs ...Verb) (s Verbs) {
	for _, v := range verbs {
		s |= 1 << v
	}
	return s
}

// Has reports whether v is in the set.
func (s Verbs) Has(v Verb) bool { return v < verbCount && s&(1<<v) != 0 }

// Names lists the set in the order of the verbs.
func (s Verbs) Names() []string {
	var out []string
	for v := range verbCount {
		if s.Has(v) {
			out = append(out, v.String())
		}
	}
	return out
}

// What a hook may return by what it is; the point's own set limits it further, but for everywhere.
var (
	everywhere  = SetOf(None, Annotate, Remember)
	byGuards    = SetOf(None, Reject, Stop, Deny, Ask)
	byObservers = SetOf(None, Annotate, Remember, Effect)
	byUntrusted = SetOf(None, Context)
	onlyOne     = SetOf(Reject, Stop, Respond, Allow, Deny, Ask, Edit, Halt, Proceed) // at most one of these in a list
	outcomeOf   = map[Verb]Outcome{Reject: Rejected, Stop: Stopped, Respond: Responded, Allow: Allowed, Edit: Allowed, Deny: Denied, Ask: Asked, Proceed: Proceeded}
)

// Decision is one thing that a hook said. Adapters make it from opaque values of their own, which a
// script can't forge; it is plain data, so that it can cross to the worker and back, and is checked
// against the point again.
type Decision struct {
	Verb   Verb
	Fields []payload.Field // patch, edit, annotate, remember; effect: its arguments
	Text   string          // reject, stop, deny, allow: the reason; ask: the prompt; context, proceed: the text
	Name   string          // reject: the code; effect: its name
	Value  payload.Value   // respond
	Flag   bool            // context: pin; stop: clear; effect: when = "before"
}
