package client

import (
	"fmt"
	"slices"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// An event has up to two names: the one that the client writes, and the one that its hook was registered for
// (--event). Neither may switch a guard off: a name that nobody knows doesn't, nor does one that says less than
// the other.

// settleName makes one event of what a client's codec understood and what its hook was called for. called is
// that event in the words of the client that the command line names.
func settleName(c Codec, m Message, e, called Event, err error) (Event, error) {
	known := knows(e.Client, e.Name)
	if !known && e.Name != "" && err == nil {
		e, err = callToBe(c, m, e)
	}
	if !knows(called.Client, called.Name) {
		return e, err
	}
	was := called.registered()
	is := e.registered()
	switch {
	case e.Name == "", known && is == was:
	case guarding(is) < guarding(was), !known && guarding(is) == guarding(was):
		why := fmt.Errorf("it says that it is %s, where %s was to come", e.Name, called.Name)
		if !known {
			why = fmt.Errorf("it is called %q, which nobody knows, where %s was to come", e.Name, called.Name)
		}
		return called.inWordsOf(e.Client), why
	case !known:
		return e, fmt.Errorf("it is called %q, which nobody knows, where %s was to come", e.Name, called.Name)
	case guarding(is) > 0:
		e.Called = called.Name
	}
	return e, err
}

// broken is an event of which only the name is known.
func broken(client, name string) Event {
	e := Event{Client: client, Name: name}
	if camel := copilotNames[name]; client == "copilot" && camel != "" {
		e.Name = camel
	}
	return e
}

// orSaid is an event that can't be read: as it was called for, or as what can be made out of it says, whichever
// guards more. If nobody knows either name it may have been about a call.
func (e Event) orSaid(client string, m Message) Event {
	says := broken(client, spelled(client, m.Event))
	for _, f := range eventFields {
		if too := broken(client, spelled(client, said(m.Value, f))); guarding(too.registered()) > guarding(says.registered()) {
			says = too
		}
	}
	switch {
	case !knows(e.Client, e.Name) && says.Name != "", guarding(says.registered()) > guarding(e.registered()):
		e = says
	case knows(e.Client, e.Name):
		e = e.inWordsOf(client)
	default:
		e.Client = client
	}
	if e.Name != "" && !knows(e.Client, e.Name) {
		e.Point = "tool.before"
	}
	e.settle()
	return e
}

// registered is the point that an event's name stands for, else where it was put.
func (e Event) registered() string {
	if k, ok := KnownEvent(e.Client, e.Name); ok {
		return k.Point
	}
	return e.Point
}

// PointOf is where a client's event of this name fires, in any of its spellings; "" if the client has none.
func PointOf(client, name string) string {
	e := broken(client, spelled(client, name))
	return e.registered()
}

// guarding is how much depends on what is answered at a point: 2 where it is asked whether a tool may run, 1 where
// something else can be held back, 0 where nothing can or where an answer would send an agent on.
func guarding(point string) int {
	p := points.Point(point)
	switch {
	case p == nil, p.Observation:
		return 0
	case point == "tool.before", point == "tool.confirm":
		return 2
	case slices.Contains([]string{"client.event", "context.compact.before", "context.compact.after", "turn.after", "subagent.after"}, point),
		p.Allows&hookpoints.SetOf(hookpoints.Reject, hookpoints.Deny, hookpoints.Patch) == 0:
		return 0
	}
	return 1
}

// inWordsOf is an event of which only the name is known as another client would have it that sent it in this one's
// place: the event of that name, else its first at the same point, else as it was.
func (e Event) inWordsOf(client string) Event {
	c := codecs[client]
	if c == nil || client == e.Client {
		return e
	}
	point := e.registered()
	name := ""
	for _, k := range c.Events() {
		if k.Point == point && (name == "" || k.Name == spelled(client, e.Name)) {
			name = k.Name
		}
	}
	if name == "" {
		return e
	}
	return broken(client, name)
}

// callToBe understands a message as what it looks like where nobody knows its event's name: with a tool, an input
// for it and no result it asks about a call. The event keeps its name. It has no point if it looks like none; with
// an error it does, and what would run isn't known.
func callToBe(c Codec, m Message, e Event) (Event, error) {
	var broken error
	for _, gate := range c.Events() {
		if gate.Point != "tool.before" || !looksLikeCall(m.Value, gate.Name) {
			continue
		}
		call, err := c.Decode(named(m, gate.Name), gate.Name)
		call.Client, call.Name, call.Raw = e.Client, e.Name, m.Value
		if err == nil {
			return call, nil
		}
		if broken == nil {
			broken = fmt.Errorf("it is called %q, which nobody knows, and looks like a call: %w", e.Name, err)
		}
	}
	if broken != nil {
		e.Point = "tool.before"
	}
	return e, broken
}

// What a call has, and what it hasn't yet.
var (
	callTools   = []string{"tool_name", "toolName", "tool"}
	callInputs  = []string{"tool_input", "toolInput", "tool_args", "toolArgs", "arguments"}
	callResults = []string{"tool_response", "toolResponse", "tool_result", "toolResult", "tool_output", "toolOutput", "result_json", "resultJson", "result", "output",
		"error", "error_message", "errorMessage"}
)

// looksLikeCall reports whether a message could be this gate's. Cursor's for commands has nothing but the command.
func looksLikeCall(v payload.Value, gate string) bool {
	there := func(names []string) bool {
		return slices.ContainsFunc(names, func(name string) bool { f := v.Get(name); return f.Exists() && f.Kind() != payload.Null })
	}
	switch {
	case there(callResults):
		return false
	case gate == "beforeShellExecution":
		return !there(callTools) && said(v, "command") != ""
	case gate == "beforeReadFile", gate == "beforeTabFileRead": // events of all kinds name a file
		return false
	}
	return there(callTools) && there(callInputs)
}

// named is a message whose event has another name.
func named(m Message, name string) Message {
	for _, f := range eventFields {
		if m.Value.Get(f).Kind() == payload.String {
			m.Value = m.Value.With(field(f, text(name)))
		}
	}
	return m
}
