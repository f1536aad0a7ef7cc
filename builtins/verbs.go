package builtins

import (
	"fmt"
	"regexp"
	"unicode/utf8"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// Decider is one decision builtin: how its arguments become a Decision. A language wraps the
// Decision in an opaque value of its own, so that a script can pass it on but not make it.
type Decider struct {
	Name   string
	Doc    string
	Params []Param // named or in order
	Open   bool    // takes any further named arguments as fields
	make   func(args []payload.Value, fields []payload.Field) (hookpoints.Decision, error)
}

// Make checks the arguments and makes the decision; the language has charged for converting them.
func (d *Decider) Make(args []payload.Value, fields []payload.Field) (hookpoints.Decision, error) {
	if err := fit(d.Name, d.Params, args); err != nil {
		return hookpoints.Decision{}, err
	}
	out, err := d.make(args, fields)
	if err != nil {
		return out, fmt.Errorf("%s: %w", d.Name, err)
	}
	return out, nil
}

var rejectCode = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,80}$`)

// Deciders returns the decision builtins, sorted by name.
func Deciders() []*Decider { return deciders }

var deciders = []*Decider{
	{Name: "allow", Doc: "It may run.", Params: optional("reason"), make: reason(hookpoints.Allow)},
	{Name: "annotate", Doc: "Merges fields into the annotations of the record.", Open: true, make: fields(hookpoints.Annotate)},
	{Name: "ask", Doc: "A person has to decide.", Params: required("prompt"), make: reason(hookpoints.Ask)},
	{Name: "context", Doc: "Text for the model.", Params: []Param{{"text", payload.String, false}, {"pin", payload.Bool, true}}, make: func(a []payload.Value, _ []payload.Field) (hookpoints.Decision, error) {
		return hookpoints.Decision{Verb: hookpoints.Context, Text: a[0].Text(), Flag: a[1].IsTrue()}, nil
	}},
	{Name: "deny", Doc: "It may not run.", Params: required("reason"), make: reason(hookpoints.Deny)},
	{Name: "edit", Doc: "It may run, with these fields instead.", Open: true, make: fields(hookpoints.Edit)},
	{Name: "effect", Doc: "The host does it, after the operation is saved or (when = \"before\") before the action.", Open: true,
		Params: []Param{{"name", payload.String, false}, {"when", payload.String, true}}, make: makeEffect},
	{Name: "halt", Doc: "Later ordinary bindings of this chain don't run.", Params: []Param{}, make: func([]payload.Value, []payload.Field) (hookpoints.Decision, error) {
		return hookpoints.Decision{Verb: hookpoints.Halt}, nil
	}},
	{Name: "patch", Doc: "Replaces whole top-level writable fields.", Open: true, make: fields(hookpoints.Patch)},
	{Name: "proceed", Doc: "The agent goes on with this text as the next prompt.", Params: required("text"), make: func(a []payload.Value, _ []payload.Field) (hookpoints.Decision, error) {
		return hookpoints.Decision{Verb: hookpoints.Proceed, Text: a[0].Text()}, nil
	}},
	{Name: "reject", Doc: "The action doesn't happen.", Params: []Param{{"reason", payload.String, false}, {"code", payload.String, true}}, make: makeReject},
	{Name: "remember", Doc: "Replaces keys of the binding's state.", Open: true, make: fields(hookpoints.Remember)},
	{Name: "respond", Doc: "This is the result; the action is skipped.", Params: []Param{{"value", 0, false}}, make: func(a []payload.Value, _ []payload.Field) (hookpoints.Decision, error) {
		return hookpoints.Decision{Verb: hookpoints.Respond, Value: a[0]}, nil
	}},
	{Name: "stop", Doc: "The run ends.", Params: []Param{{"reason", payload.String, false}, {"clear", payload.Bool, true}}, make: func(a []payload.Value, _ []payload.Field) (hookpoints.Decision, error) {
		if err := checkReason(a[0].Text()); err != nil {
			return hookpoints.Decision{}, err
		}
		return hookpoints.Decision{Verb: hookpoints.Stop, Text: a[0].Text(), Flag: a[1].IsTrue()}, nil
	}},
}

func required(name string) []Param { return []Param{{name, payload.String, false}} }
func optional(name string) []Param { return []Param{{name, payload.String, true}} }

func fields(v hookpoints.Verb) func([]payload.Value, []payload.Field) (hookpoints.Decision, error) {
	return func(_ []payload.Value, f []payload.Field) (hookpoints.Decision, error) {
		return hookpoints.Decision{Verb: v, Fields: f}, nil
	}
}

func reason(v hookpoints.Verb) func([]payload.Value, []payload.Field) (hookpoints.Decision, error) {
	return func(a []payload.Value, _ []payload.Field) (hookpoints.Decision, error) {
		if a[0].Exists() {
			if err := checkReason(a[0].Text()); err != nil {
				return hookpoints.Decision{}, err
			}
		}
		return hookpoints.Decision{Verb: v, Text: a[0].Text()}, nil
	}
}

func makeReject(a []payload.Value, _ []payload.Field) (hookpoints.Decision, error) {
	d := hookpoints.Decision{Verb: hookpoints.Reject, Text: a[0].Text(), Name: "rejected"}
	if err := checkReason(d.Text); err != nil {
		return d, err
	}
	if a[1].Exists() {
		if d.Name = a[1].Text(); !rejectCode.MatchString(d.Name) {
			return d, fmt.Errorf("code %q is not 1 to 80 of A-Z a-z 0-9 _ . -", d.Name)
		}
	}
	return d, nil
}

func makeEffect(a []payload.Value, f []payload.Field) (hookpoints.Decision, error) {
	d := hookpoints.Decision{Verb: hookpoints.Effect, Name: a[0].Text(), Fields: f}
	switch when := a[1].Text(); when {
	case "before":
		d.Flag = true
	case "after", "":
	default:
		return d, fmt.Errorf("when is %q, want \"before\" or \"after\"", when)
	}
	return d, nil
}

func checkReason(s string) error {
	if n := utf8.RuneCountInString(s); n < 1 || n > hookpoints.MaxReason {
		return fmt.Errorf("the text has %d characters, want 1 to %d", n, hookpoints.MaxReason)
	}
	return nil
}
