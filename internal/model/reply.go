package model

import (
	"errors"
	"fmt"
	"strings"

	"agentd/hookpoints/payload"
)

// maxReply bounds the text and arguments of one reply, in bytes; a payload holds no more.
const maxReply = 8 << 20

// reply gathers the pieces of a streamed answer. Servers differ in how they cut tool calls, so the
// rules for where a piece belongs are lenient; see [reply.slot].
type reply struct {
	text, reasoning, refusal strings.Builder
	calls                    []*toolCall
	usage                    payload.Value
	finish, id               string
	answered                 bool // a choice came
	size                     int
}

type toolCall struct {
	index     int64
	id, name  string
	arguments strings.Builder
}

// add takes one chunk and returns the text that it brought.
func (r *reply) add(chunk payload.Value) (string, error) {
	if u := chunk.Get("usage"); u.Kind() == payload.Object {
		r.usage = u
	}
	if r.id == "" {
		r.id = chunk.Get("id").Text()
	}
	text := ""
	for choice := range chunk.Get("choices").Items() {
		if i, ok := choice.Get("index").Int64(); ok && i != 0 {
			continue
		}
		r.answered = true
		if f := choice.Get("finish_reason"); f.Kind() == payload.String && f.Text() != "" {
			r.finish = f.Text()
		}
		delta := choice.Get("delta")
		if !delta.Exists() {
			delta = choice.Get("message") // the server doesn't stream
		}
		piece := stringOf(delta.Get("content"))
		text += piece
		r.text.WriteString(piece)
		r.refusal.WriteString(stringOf(delta.Get("refusal")))
		thought := stringOf(delta.Get("reasoning_content"))
		if thought == "" {
			thought = stringOf(delta.Get("reasoning"))
		}
		r.reasoning.WriteString(thought)
		for call := range delta.Get("tool_calls").Items() {
			r.addCall(call)
		}
	}
	if r.size += chunk.Size(); r.size > 8*maxReply || r.text.Len() > maxReply {
		return text, fmt.Errorf("it is longer than %d MiB", maxReply>>20)
	}
	return text, nil
}

func (r *reply) addCall(piece payload.Value) {
	id, function := stringOf(piece.Get("id")), piece.Get("function")
	name := stringOf(function.Get("name"))
	index, ok := piece.Get("index").Int64()
	if !ok {
		index = -1
	}
	call := r.slot(index, id, name)
	if call == nil {
		call = &toolCall{index: index}
		r.calls = append(r.calls, call)
	}
	if call.id == "" {
		call.id = id
	}
	if call.name != name {
		call.name += name
	}
	switch args := function.Get("arguments"); args.Kind() {
	case payload.String:
		call.arguments.WriteString(args.Text())
	case payload.Object:
		call.arguments.Reset()
		call.arguments.WriteString(args.String())
	}
}

// slot finds the call that a piece continues, or nil if it begins one. OpenAI numbers the calls and
// gives id and name in the first piece; others send every call whole under index 0, or leave index
// or id out.
func (r *reply) slot(index int64, id, name string) *toolCall {
	for i := len(r.calls) - 1; i >= 0; i-- {
		call := r.calls[i]
		switch {
		case id != "" && call.id == id && (index < 0 || call.index == index):
			return call
		case id != "" && call.id != "", index >= 0 && call.index != index:
			continue
		case index < 0 && (id != "" || name != ""):
			continue
		case name != "" && call.name != "" && isJSON(call.arguments.String()):
			continue
		}
		return call
	}
	return nil
}

func isJSON(text string) bool {
	_, err := payload.ParseString(text)
	return err == nil
}

func stringOf(v payload.Value) string {
	if v.Kind() != payload.String {
		return ""
	}
	return v.Text()
}

// message builds the reply once the stream has ended; done says that the server said so itself.
// Call ids that the server left out or gave twice are made from turn, so that asking again after a
// crash makes the same ones.
func (r *reply) message(requestID string, turn int, done bool) (payload.Value, error) {
	switch {
	case !r.answered:
		return payload.Value{}, errors.New("it holds no choices")
	case r.finish == "" && !done:
		return payload.Value{}, errors.New("it ends in the middle")
	}
	text := r.text.String()
	if text == "" {
		text = r.refusal.String()
	}
	content := payload.NewString(text)
	if text == "" && len(r.calls) > 0 {
		content = payload.NewNull()
	}
	fields := []payload.Field{field("role", payload.NewString("assistant")), field("content", content)}
	if len(r.calls) > 0 {
		calls, err := r.toolCalls(turn)
		if err != nil {
			return payload.Value{}, err
		}
		fields = append(fields, field("tool_calls", calls))
	}
	if r.reasoning.Len() > 0 {
		fields = append(fields, field("reasoning_content", payload.NewString(r.reasoning.String())))
	}
	fields = append(fields, field("usage", r.usage))
	if r.finish != "" {
		fields = append(fields, field("finish_reason", payload.NewString(r.finish)))
	}
	if requestID == "" {
		requestID = r.id
	}
	if requestID != "" {
		fields = append(fields, field("provider_request_id", payload.NewString(requestID)))
	}
	return payload.NewObject(fields...), nil
}

func (r *reply) toolCalls(turn int) (payload.Value, error) {
	seen := map[string]bool{}
	out := make([]payload.Value, 0, len(r.calls))
	for n, call := range r.calls {
		if call.name == "" {
			return payload.Value{}, fmt.Errorf("its tool call %d has no name", n+1)
		}
		if call.id == "" || seen[call.id] {
			call.id = callID(turn, n)
		}
		seen[call.id] = true
		arguments := call.arguments.String()
		if strings.TrimSpace(arguments) == "" {
			arguments = "{}" // how many servers say that a tool takes nothing
		}
		out = append(out, functionCall(call.id, call.name, arguments))
	}
	return payload.NewArray(out), nil
}

func functionCall(id, name, arguments string) payload.Value {
	return payload.NewObject(
		field("id", payload.NewString(id)),
		field("type", payload.NewString("function")),
		field("function", payload.NewObject(
			field("name", payload.NewString(name)),
			field("arguments", payload.NewString(arguments)))))
}

func callID(turn, n int) string { return fmt.Sprintf("call_%d_%d", turn, n) }
