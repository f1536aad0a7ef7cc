package agent

import (
	"context"
	"errors"

	"agentd"
	"agentd/hookpoints/payload"
	"agentd/internal/elicit"
	"agentd/internal/tool"
	"agentd/operation"
)

// elicit is what a call of a tool that asks does. The question is an operation of its own, a part of
// the call, so one that waits parks the call too.
func (r *run) elicit(ctx context.Context, call operation.Head, t tool.Asker, arguments payload.Value) (payload.Value, string, error) {
	q, err := t.Question(arguments)
	if err != nil {
		return object(field("error", text(err.Error()))), operation.Failed, nil
	}
	reply, err := r.o.Runtime.Elicit(ctx, r.s, call, q)
	switch {
	case err == nil:
		return replyValue(reply), operation.Succeeded, nil
	case errors.Is(err, agentd.ErrNoVault):
		return object(field("error", text(err.Error()))), operation.Failed, nil
	}
	return payload.Value{}, "", err
}

// replyValue is an answer as the model is told: that nobody gives one is no error.
func replyValue(r agentd.Reply) payload.Value {
	if r.Declined {
		return object(field("declined", payload.NewBool(true)), field("reason", text(r.Reason)))
	}
	return object(field("answer", r.Answer))
}

// withQuestion also holds arguments to what a person can be asked.
func withQuestion(validate func(payload.Value) error) func(payload.Value) error {
	return func(arguments payload.Value) error {
		if err := validate(arguments); err != nil {
			return err
		}
		_, err := elicit.Parse(arguments)
		return err
	}
}
