package elicit

import (
	"fmt"
	"strings"
)

// Outline says in a line, and a line more for each field of a form, what an answer by JSON looks like. It is
// for lists, where nobody is led through the question as by a [Dialog].
func (q Question) Outline() string {
	if q.Kind != Form {
		return Plain(Field{Kind: q.Kind, Options: q.Options, Schema: q.Schema}.outline())
	}
	var b strings.Builder
	b.WriteString("an object with")
	for _, f := range q.Fields {
		fmt.Fprintf(&b, "\n  %s: %s", f.Name, f.outline())
		if f.Label() != f.Name {
			fmt.Fprintf(&b, " (%s)", f.Label())
		}
		if !f.Required {
			b.WriteString(", or nothing")
		}
	}
	return Plain(b.String())
}

func (f Field) outline() string {
	switch f.Kind {
	case Choice:
		return "one of " + quoted(f.Options)
	case Multi:
		return "a list of " + quoted(f.Options)
	case Secret:
		return "a secret, on a terminal or on standard input"
	case Confirmation:
		return "true or false"
	case Validated:
		return "a value that fits " + brief(f.Schema.String())
	}
	return "a text"
}
