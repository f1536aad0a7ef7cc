package hookpoints

import (
	"strings"
	"unicode/utf8"

	"agentd/hookpoints/payload"
)

// Outcome of a chain.
type Outcome string

// The outcomes. Proceeded is turn.after's and loop.continue's.
const (
	Continued Outcome = "continue"
	Rejected  Outcome = "rejected"
	Responded Outcome = "responded"
	Stopped   Outcome = "stopped"
	Allowed   Outcome = "allowed"
	Denied    Outcome = "denied"
	Asked     Outcome = "ask"
	Proceeded Outcome = "proceed"
	Failed    Outcome = "failed"
)

// Result is what a part of a chain computed: data only, but for the calls of background hooks that are
// still to be made.
type Result struct {
	Outcome  Outcome
	Payload  payload.Value
	By       string   // the binding that ended it
	Halted   string   // the binding that kept later ones from running, by halt
	Decision Decision // with what; of a failure: nothing
	Error    string   // of a failure: the word of its record
	Records  []Record
	Facts    []Fact
	State    []Delta
	Effects  []EffectRequest
	Texts    []Text
	Nanos    int64 // hook time, which counts towards the chain's net
	TimedOut bool  // the wall-clock net fired: commit this before anything goes on
	Deferred []Deferred
}

// Record says what happened to one binding: it ran, or why it didn't.
type Record struct {
	BindingID   string        `json:"binding_id"`
	HookID      string        `json:"hook_id"`
	Version     string        `json:"version"`
	Point       string        `json:"point,omitempty"`
	Part        Part          `json:"part"`
	Ran         bool          `json:"ran"`
	Why         string        `json:"why,omitempty"`
	Decision    string        `json:"decision,omitempty"` // the verbs, joined by "+"
	Fields      []string      `json:"fields,omitempty"`
	Overrode    []string      `json:"overrode,omitempty"` // bindings whose value of a field was replaced
	Reason      string        `json:"reason,omitempty"`
	Annotations payload.Value `json:"annotations,omitzero"`
	Fuel        int64         `json:"fuel"`
	Bytes       int64         `json:"bytes"`
	Micros      int64         `json:"us"`
	Schedule    int           `json:"schedule,omitempty"`
	Error       string        `json:"error,omitempty"`
	StateRead   string        `json:"state_read,omitempty"` // the digest of the state that it saw, "" if there was none
}

// Delta replaces keys of one state cell, see Remembered. Read is the digest of what the hook saw.
type Delta struct {
	Cell, Read string
	Set        []payload.Field
}

// EffectRequest is an effect that a binding asked for. Operation, chain, binding and ordinal make
// its key, which is therefore the same when the chain is computed again.
type EffectRequest struct {
	BindingID string
	Chain     string // the point
	Ordinal   int
	Name      string
	Before    bool
	Arguments payload.Value
}

// Part is one of the two parts in which a chain runs.
type Part string

// The parts: guards see the final input, after the ordinary bindings and the preparation.
const (
	Ordinary Part = "ordinary"
	Guards   Part = "guards"
)

// Text is context for the model.
type Text struct {
	BindingID string
	Text      string
	Pin       bool
}

// Wrapped is the text as the model gets it: with its source, unable to close its own wrapper.
func (t Text) Wrapped() string {
	esc := strings.NewReplacer("<", "&lt;", ">", "&gt;")
	return `<hook_context source="` + esc.Replace(t.BindingID) + "\">\n" + esc.Replace(t.Text) + "\n</hook_context>"
}

// Cut shortens text to at most limit bytes at a character's edge, and says so.
func Cut(text string, limit int) string {
	const note = "\n[cut]"
	if len(text) <= limit {
		return text
	}
	text = text[:max(0, limit-len(note))]
	for len(text) > 0 {
		if r, size := utf8.DecodeLastRuneInString(text); r != utf8.RuneError || size != 1 {
			break
		}
		text = text[:len(text)-1]
	}
	return text + note
}
