package client

import (
	"fmt"
	"strings"

	"agentd/hookpoints/payload"
)

// knows reports whether a client has an event of this name, in this spelling.
func knows(client, event string) bool {
	_, ok := KnownEvent(client, event)
	return ok || client == "copilot" && copilotNames[event] != ""
}

// spelled is an event's name as the client's manual has it, where only case and the marks between words
// differ: an event that is taken for an unknown one is held back by nobody. Other names stay as they are.
func spelled(client, event string) string {
	c := codecs[client]
	if c == nil || event == "" || knows(client, event) {
		return event
	}
	for _, k := range c.Events() {
		if folded(k.Name) == folded(event) {
			return k.Name
		}
	}
	return event
}

func folded(name string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-. ", r) {
			return -1
		}
		return r
	}, name))
}

// respelled is a message with its event's name as the manual has it.
func respelled(client string, m Message) Message {
	for _, name := range eventFields {
		was := said(m.Value, name)
		if now := spelled(client, was); now != was {
			m.Value = m.Value.With(field(name, text(now)))
		}
	}
	return m
}

// oneName fails where a message has two names that are both events of its client.
func oneName(client string, v payload.Value) error {
	found := ""
	for _, f := range eventFields {
		name := spelled(client, said(v, f))
		if name == "" || !knows(client, name) {
			continue
		}
		if found != "" && name != found {
			return fmt.Errorf("%w: it is called %s and %s", errTwice, found, name)
		}
		found = name
	}
	return nil
}

// oneSpelling fails where a field that says what would run is there in two spellings with two values.
func oneSpelling(v payload.Value) error {
	for _, name := range []string{"hook_event_name", "tool_name", "tool_input"} {
		if _, err := pick(v, snake(name)...); err != nil {
			return err
		}
	}
	return nil
}
