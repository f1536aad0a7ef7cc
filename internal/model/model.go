// Package model talks to language models. A [Provider] gets a whole conversation and returns one
// assistant message, in the shape of the point model.chat.after; it keeps nothing between calls, so
// a process that starts again goes on where the journal says.
//
// [OpenAI] speaks to any server that knows streaming Chat Completions; [Scenario] plays turns that
// are written in a file.
package model

import (
	"context"

	"agentd/hookpoints/payload"
)

// Request is one question to a model.
type Request struct {
	// Model is the name that the server knows the model by.
	Model string

	// Messages is an array of objects in the form of Chat Completions: role and content, and
	// tool_calls, tool_call_id or name where they apply. Other keys aren't sent.
	Messages payload.Value

	// Tools is an array of {name, description, parameters}; absent or empty means no tools.
	Tools payload.Value

	// Temperature, TopP and MaxTokens are left to the server when nil.
	Temperature *float64
	TopP        *float64
	MaxTokens   *int64
}

// Provider is a way to a model.
type Provider interface {
	// Chat asks once and returns the reply: role, content (a string, or null beside tool_calls),
	// and, where the model gave them, tool_calls, reasoning_content, usage, finish_reason and
	// provider_request_id. It calls stream, if that isn't nil, with each piece of the text as it
	// comes, on the calling goroutine. Errors wrap exactly one of ErrNotSent, ErrRefused,
	// ErrUnknown and ErrMalformed.
	Chat(ctx context.Context, req Request, stream func(textDelta string)) (payload.Value, error)
}

// assistantTurns counts the replies that a conversation already holds.
func assistantTurns(messages payload.Value) int {
	n := 0
	for m := range messages.Items() {
		if m.Get("role").Text() == "assistant" {
			n++
		}
	}
	return n
}
