package agent

import (
	"context"
	"errors"
	"fmt"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/internal/model"
	"agentd/operation"
)

var (
	// errModel: the model call failed, and nothing is unknown about it; a resume asks again.
	errModel = errors.New("the model call failed")
	// errRejected: a hook doesn't let the model be asked, and never will with this request.
	errRejected = errors.New("the model call was rejected")
)

// maxCallID bounds the ids of tool calls, which models and their servers make, in bytes.
const maxCallID = 512

const system = "You are an agent that works in a folder of the user's. Use the tools to look and to act; when you are done, answer in plain text."

// ask is one model call. A call that failed stays in the journal; a resume makes another one beside it.
func (r *run) ask(ctx context.Context, step operation.Head) (operation.Done, error) {
	for n := 1; ; n++ {
		head := r.head(fmt.Sprintf("%s/m%d", step.ID[len(r.task.RunID)+1:], n), "model.chat")
		head.Parent, head.Tool = step.ID, r.config.Model.Name
		sum, _ := r.s.Saved(head.ID)
		l := r.live(head)
		done, err := r.s.Do(ctx, r.chat(head, l))
		if err = errors.Join(err, l.failed); err != nil {
			return done, err
		}
		if done.State == operation.Finished && done.Status == operation.Failed {
			if sum.State == operation.Finished { // it failed before this process began
				continue
			}
			return done, fmt.Errorf("%w: %s", errModel, done.Effective.Get("error").Text())
		}
		if done.State == operation.Rejected {
			return done, fmt.Errorf("%w by %s: %s", errRejected, done.By, done.Reason)
		}
		if done.State == operation.Stopped { // it wasn't asked
			return done, nil
		}
		r.leave("model.completed", field("content", done.Effective.Get("content")), field("tool_calls", done.Effective.Get("tool_calls")), field("operation_id", text(head.ID)))
		return done, nil
	}
}

func (r *run) chat(head operation.Head, l *live) operation.Action {
	messages := r.talk.request(system)
	target := field("target", text(r.config.Model.Name))
	around := r.around(head, []payload.Field{target})
	id := text(r.config.Model.Name)
	if r.config.Model.Name == "" {
		id = payload.NewNull()
	}
	input := object(field("messages", messages), field("tools", r.offered()), field("model_id", id), field("purpose", text("action")),
		field("temperature", payload.NewNull()), field("top_p", payload.NewNull()), field("max_tokens", payload.NewNull()))
	a := chatShape(r.o.Runtime.Points(), input)
	a.Head, a.Around, a.Input, a.Do = head, around, input, r.chatDo(l)
	return a
}

// afterChat: what failed is no reply, so no hook looks at it.
func afterChat(raw payload.Value, status string) payload.Value {
	if status != operation.Succeeded {
		return payload.Value{}
	}
	return raw
}

// chatDo sends the request. A lost answer leaves no outcome: nobody knows whether the model worked.
func (r *run) chatDo(l *live) func(context.Context, payload.Value, payload.Value) (payload.Value, string, error) {
	return func(ctx context.Context, in, _ payload.Value) (payload.Value, string, error) {
		req := model.Request{Model: r.config.Model.Name, Messages: in.Get("messages"), Tools: in.Get("tools")}
		if f, ok := in.Get("temperature").Float64(); ok {
			req.Temperature = &f
		}
		if f, ok := in.Get("top_p").Float64(); ok {
			req.TopP = &f
		}
		answer, err := r.provider.Chat(ctx, req, l.stream(ctx))
		var failure *model.Error
		if errors.Is(l.failed, operation.ErrPersistence) {
			return payload.Value{}, "", l.failed
		}
		if err != nil && (ctx.Err() != nil || errors.Is(err, model.ErrUnknown)) {
			if err := l.cut(ctx); err != nil {
				return payload.Value{}, "", err
			}
		}
		switch {
		case err == nil:
			if err := validReply(r.o.Runtime.Points(), answer); err != nil { // a result that no chain could take, whenever the run is resumed
				return object(field("error", text("the model's reply can't be used: "+err.Error())), field("invalid_response", text(answer.String()))), operation.Failed, nil
			}
			return answer, operation.Succeeded, nil
		case ctx.Err() != nil:
			return payload.Value{}, "", ctx.Err()
		case errors.Is(err, model.ErrUnknown):
			return payload.Value{}, "", fmt.Errorf("%w: %w", operation.ErrUnknownModel, err)
		case errors.As(err, &failure) && errors.Is(err, model.ErrMalformed):
			return object(field("error", text(err.Error())), field("invalid_response", text(failure.Raw))), operation.Failed, nil
		}
		return object(field("error", text(err.Error()))), operation.Failed, nil
	}
}

// offered is the tools as the model is told of them.
func (r *run) offered() payload.Value {
	out := []payload.Value{}
	for _, t := range r.tools.Tools() {
		spec := t.Spec()
		out = append(out, object(field("name", text(spec.Name)), field("description", text(spec.Description)), field("parameters", spec.Parameters)))
	}
	return payload.NewArray(out)
}

// onlyAppended holds hooks to what the base contract lets them do to a request: append user messages.
func onlyAppended(original, in payload.Value) error {
	got := in.Get("messages")
	if got.Len() < original.Len() {
		return errors.New("messages of the conversation are missing; hooks may only append user messages")
	}
	for i := range got.Len() {
		m := got.At(i)
		if i < original.Len() {
			if m.String() != original.At(i).String() {
				return fmt.Errorf("message %d of the conversation was changed; hooks may only append user messages", i)
			}
			continue
		}
		if m.Len() != 2 || m.Get("role").Text() != "user" || m.Get("content").Kind() != payload.String {
			return fmt.Errorf("message %d was appended and isn't {role: user, content: TEXT}", i)
		}
	}
	if in.Get("max_tokens").Kind() == payload.Number {
		return errors.New("max_tokens can't be set, as the agent's model has no limit for it")
	}
	return nil
}

// validReply holds a model, and a hook that answers in its place, to what a model may say.
func validReply(points *hookpoints.Catalogue, v payload.Value) error {
	if err := points.Point("model.chat.after").Check(v); err != nil {
		return err
	}
	seen := map[string]bool{}
	for c := range v.Get("tool_calls").Items() {
		id := c.Get("id").Text()
		if id == "" || len(id) > maxCallID || seen[id] || c.Get("function").Get("name").Text() == "" || c.Get("function").Get("arguments").Kind() != payload.String {
			return fmt.Errorf("a tool call needs an id of its own with at most %d bytes, function.name and function.arguments as a text", maxCallID)
		}
		seen[id] = true
	}
	return nil
}
