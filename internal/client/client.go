// Package client speaks the protocols of other agents: one codec each, between the bytes of that
// client's hook and one neutral event. It knows nothing of our own agent.
//
// An event comes in through Understand: the text is read, the real client detected, its codec decodes.
// A verdict goes out through Say: what the client can't express is downgraded by the table, then its
// codec encodes what is left.
package client

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"agentd/hookpoints/payload"
)

// Codec is one client.
type Codec interface {
	// Events lists what the client can send, in the order of its manual.
	Events() []Known
	// Downgrades lists what it can't be told, and what is sent instead.
	Downgrades() []Downgrade
	// Decode understands what the client wrote; event is what the command line says it is, for clients
	// that don't say it themselves ("" if it doesn't). Unknown events and fields are no errors. With an
	// error the event still has what is known of it, its name above all.
	Decode(m Message, event string) (Event, error)
	// Encode says a verdict in the client's words. It is total: for an event of any name, also "", there
	// is an answer, and what the client has no words for becomes its strictest.
	Encode(e Event, v Verdict) Answer
}

// Known is an event that a client has.
type Known struct {
	Name  string
	Point string // where it fires
	// Limit is how long the client waits for an answer unless it is configured otherwise; 0 means that
	// the manual says nothing.
	Limit time.Duration
	// Longest is the longest limit that can be configured, 0 if that isn't known.
	Longest time.Duration
	// Proceeds is how often in a row the client lets a hook send the agent on, 0 if it doesn't count.
	Proceeds int
	Seen     Evidence
}

// Evidence says what our knowledge of an event rests on.
type Evidence string

// The sorts of evidence.
const (
	Real        Evidence = "real client" // the tests run the real client
	Recorded    Evidence = "recorded"    // its input was recorded from the real client
	Schema      Evidence = "schema"      // what we say is checked against the client's published schema
	Constructed Evidence = "constructed" // made from the manual
)

// Answer is what a client's hook prints and how it ends.
type Answer struct {
	Stdout []byte
	Exit   int
}

var codecs = map[string]Codec{"gemini": gemini{}, "claude": claude, "codex": codex{}, "cursor": cursor{}, "copilot": copilot{}, "goose": goose{},
	"factory": factory, "qwen": qwen, "continue": continueCLI, "crush": crush{}, "opencode": opencode{}}

// For finds a client's codec.
func For(name string) (Codec, error) {
	c, ok := codecs[name]
	if !ok {
		return nil, fmt.Errorf("the client %q is unknown; agentd speaks %s", name, strings.Join(Names(), ", "))
	}
	return c, nil
}

// Names lists the clients, sorted.
func Names() []string { return slices.Sorted(maps.Keys(codecs)) }

// KnownEvent finds an event of a client by its name.
func KnownEvent(name, event string) (k Known, ok bool) {
	c := codecs[name]
	if c == nil {
		return Known{}, false
	}
	for _, k := range c.Events() {
		if k.Name == event {
			return k, true
		}
	}
	return Known{}, false
}

// Understand reads what a client's hook was given: name is the client that the command line says, and
// event the event. The codec is that of the client that really sent it. With an error the event has what
// is known all the same, so that it can be refused in the client's words.
func Understand(name, event string, stdin []byte) (Codec, Event, error) {
	c, err := For(name)
	if err != nil {
		return nil, Event{}, err
	}
	called := broken(name, spelled(name, event)) // what the client was told to call for
	m, err := Read(stdin)
	if err == nil {
		if real := Detect(name, m); real != name {
			name, c = real, codecs[real]
		}
		if err = oneSpelling(m.Value); err == nil {
			err = oneName(name, m.Value)
		}
	}
	if own := broken(name, spelled(name, event)); knows(name, own.Name) && (!knows(called.Client, called.Name) || guarding(own.registered()) > guarding(called.registered())) {
		called = own // the name is the real client's
	}
	if err != nil {
		e := called.orSaid(name, m)
		return codecs[e.Client], e, fmt.Errorf("%s's event: %w", name, err)
	}
	event = spelled(name, event)
	e, err := c.Decode(respelled(name, m), event)
	e.Client, e.Raw = name, m.Value
	e, err = settleName(c, m, e, called, err)
	name, c = e.Client, codecs[e.Client]
	if e.Name == "" {
		e.Name = event
	}
	e.settle()
	if err != nil {
		return c, e, fmt.Errorf("%s's event: %w", name, err)
	}
	if m.Repaired && (e.Point == "tool.before" || e.Point == "tool.confirm") {
		return c, e, fmt.Errorf("%s's event: %w: it has half a character, and nobody knows what would run", name, payload.ErrNotJSON)
	}
	return c, e, nil
}

// Say encodes a verdict, after what the client can't express was downgraded. Later is what the event
// couldn't carry and another one of the session may; applied are the downgrades that were made.
func Say(c Codec, e Event, v Verdict) (a Answer, later []Text, applied []Downgrade) {
	v, later, applied = downgraded(c.Downgrades(), e, v)
	return c.Encode(e, v), later, applied
}

func field(name string, v payload.Value) payload.Field { return payload.Field{Name: name, Value: v} }
func text(s string) payload.Value                      { return payload.NewString(s) }
