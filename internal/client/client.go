// Package client speaks the protocols of other agents: one codec each, between the bytes of that
// client's hook and one neutral event. It knows nothing of our own agent.
package client

import (
	"fmt"
	"slices"
	"strings"

	"agentd/hookpoints/payload"
)

// Event is a client's event in our words.
type Event struct {
	Client    string
	Name      string // the client's own name of it
	SessionID string
	CallID    string // "" if the client has none
	Cwd       string
	Point     string // where it fires; "" means that it fires nowhere and is answered with no opinion
	Tool      string // the client's name of the tool
	ToolID    string // what bindings name as target
	Kind      string // the normal tool kind
	Payload   payload.Value
	Absent    []string      // fields of the payload that this client doesn't send
	Input     payload.Value // the tool's arguments as sent
	Status    string        // of an after event: succeeded or failed
	Ends      bool          // the client's session is over: no more after events come
}

// Verdict is what was decided about an event.
type Verdict struct {
	Kind    VerdictKind
	Reason  string
	Input   payload.Value // NoOpinion at tool.before: the whole changed input; absent if unchanged
	Value   payload.Value // NoOpinion at tool.after: the whole changed value; absent if unchanged. Respond: the answer
	Context []string
}

// VerdictKind is the sort of a verdict.
type VerdictKind uint8

// The kinds. The zero value denies, so that a forgotten verdict lets nobody in.
const (
	Deny VerdictKind = iota
	NoOpinion
	Ask
	Stop
	Respond
)

// Codec is one client.
type Codec interface {
	// Decode understands what the client wrote. Unknown events and fields are no errors.
	Decode(stdin []byte) (Event, error)
	// Encode says a verdict in the client's words, with the exit code that goes with it.
	Encode(e Event, v Verdict) (stdout []byte, exit int)
}

var codecs = map[string]Codec{"gemini": gemini{}}

// For finds a client's codec.
func For(name string) (Codec, error) {
	c, ok := codecs[name]
	if !ok {
		return nil, fmt.Errorf("the client %q is unknown; agentd speaks %s", name, strings.Join(Names(), ", "))
	}
	return c, nil
}

// Names lists the clients, sorted.
func Names() []string {
	var out []string
	for name := range codecs {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func field(name string, v payload.Value) payload.Field { return payload.Field{Name: name, Value: v} }
func text(s string) payload.Value                      { return payload.NewString(s) }
