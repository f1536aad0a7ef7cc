package model

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"agentd/hookpoints/payload"
)

//go:embed default.yaml
var defaultScenario []byte

// Scenario is a [Provider] that plays written turns. It keeps no place: which turn comes is how many
// assistant messages the request already holds, so a run that goes on in another process gets the
// turn that it was waiting for, and asking again for the same turn gives the same reply.
type Scenario struct {
	name   string
	turns  []turn
	repeat bool // the last turn answers whatever comes after it
}

// DefaultScenario answers everything with a few words about how to configure a model.
func DefaultScenario() *Scenario {
	s, err := ParseScenario("default.yaml", defaultScenario)
	if err != nil {
		panic(err) // the embedded file is part of the program
	}
	s.repeat = true
	return s
}

// Turns is the number of turns written.
func (s *Scenario) Turns() int { return len(s.turns) }

// Chat implements [Provider]. Past the last turn it fails with ErrRefused. Call ids are
// call_TURN_N, both counted from 0.
func (s *Scenario) Chat(ctx context.Context, req Request, stream func(string)) (payload.Value, error) {
	at := assistantTurns(req.Messages)
	if err := ctx.Err(); err != nil {
		return payload.Value{}, &Error{Kind: ErrNotSent, Err: err, Message: "the scripted model wasn't asked: " + err.Error()}
	}
	next := at
	if s.repeat {
		next = min(at, len(s.turns)-1)
	}
	if next >= len(s.turns) {
		return payload.Value{}, &Error{Kind: ErrRefused, Message: fmt.Sprintf(
			"the scenario %s has %d turns and the conversation asks for turn %d: add one to the file", s.name, len(s.turns), at+1)}
	}
	t := s.turns[next]
	content, finish := payload.NewString(t.text), "stop"
	var calls payload.Value
	if len(t.calls) > 0 {
		finish = "tool_calls"
		if t.text == "" {
			content = payload.NewNull()
		}
		list := make([]payload.Value, len(t.calls))
		for n, c := range t.calls {
			list[n] = functionCall(callID(at, n), c.name, c.arguments)
		}
		calls = payload.NewArray(list)
	}
	if stream != nil {
		for piece := range strings.SplitAfterSeq(t.text, " ") {
			if piece != "" {
				stream(piece)
			}
		}
	}
	return payload.NewObject(
		field("role", payload.NewString("assistant")),
		field("content", content),
		field("tool_calls", calls),
		field("usage", t.usage),
		field("finish_reason", payload.NewString(finish))), nil
}

var (
	_ Provider = (*Scenario)(nil)
	_ Provider = (*OpenAI)(nil)
)
