package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agentd"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/internal/tool"
	"agentd/operation"
)

// Shape is a recorded action without what acts: the points that it fires, what they are given and how
// what comes out of them is held to its bounds. It is made of what the journal keeps, by the same
// functions that shape an action of a run, so that replay computes the same.
func Shape(points *hookpoints.Catalogue, d operation.Decided) (operation.Action, error) {
	var a operation.Action
	switch d.Head.Kind {
	case "run":
		a = runShape()
	case "model.chat":
		a = chatShape(points, d.Original)
	case "tool":
		if !d.Scope.Get("tool_id").Exists() { // it couldn't be called
			break
		}
		schema, err := tool.NewSchema(d.Original.Get("name").Text(), d.Original.Get("parameters"))
		if err != nil {
			return a, err
		}
		validate := schema.Validate
		if d.Head.Composite {
			validate = withQuestion(validate)
		}
		a = toolShape(tool.Kind(d.Scope.Get("kind").Text()), validate)
	case "elicit":
		var err error
		if a, err = agentd.QuestionShape(d.Original); err != nil {
			return a, err
		}
	case operation.KindEffect:
		return operation.EffectShape(d), nil
	default:
		return a, fmt.Errorf("operations of the kind %s can't be replayed", d.Head.Kind)
	}
	a.Head, a.Input, a.Policy = d.Head, d.Original, d.Policy
	return a, nil
}

func runShape() operation.Action {
	return operation.Action{
		Points: operation.Points{Before: "run.before", After: "run.after"},
		After: func(_, raw payload.Value, status string) payload.Value {
			outcome := payload.NewNull()
			if status == operation.Succeeded {
				outcome = text("complete")
			} else if status == operation.Blocked {
				outcome = text("blocked")
			}
			return object(field("output", raw.Get("answer")), field("status", text(status)), field("outcome", outcome))
		},
		Effective: func(after payload.Value) payload.Value { return after.Get("output") },
	}
}

// chatShape is that of a model call with this input.
func chatShape(points *hookpoints.Catalogue, input payload.Value) operation.Action {
	messages := input.Get("messages")
	return operation.Action{
		Points: operation.Points{Before: "model.chat.before", After: "model.chat.after"},
		Validate: func(_ context.Context, in payload.Value) (payload.Value, error) {
			return in, onlyAppended(messages, in)
		},
		Answer: func(v payload.Value) error { return validReply(points, v) },
		Insert: func(in payload.Value, texts []hookpoints.Text) payload.Value {
			grown := append(slices.Collect(in.Get("messages").Items()), contextMessage(texts)...)
			return in.With(field("messages", payload.NewArray(grown)))
		},
		After: func(_, raw payload.Value, status string) payload.Value { return afterChat(raw, status) },
		ValidateAfter: func(_ context.Context, v payload.Value) (payload.Value, error) {
			if strings.TrimSpace(v.Get("content").Text()) == "" && v.Get("tool_calls").Len() == 0 {
				return v, errors.New("the reply would say nothing and call nothing")
			}
			return v, nil
		},
	}
}

// toolShape is that of a tool call; validate checks its arguments.
func toolShape(kind tool.Kind, validate func(arguments payload.Value) error) operation.Action {
	return operation.Action{
		Points: operation.Points{Before: "tool.before", Confirm: "tool.confirm", After: "tool.after"},
		Validate: func(_ context.Context, in payload.Value) (payload.Value, error) {
			return in, validate(in.Get("arguments"))
		},
		Confirm: func(in, write payload.Value) payload.Value {
			return object(field("name", in.Get("name")), field("tool_id", in.Get("tool_id")), field("kind", text(string(kind))),
				field("arguments", in.Get("arguments")), field("preview", text(preview(in.Get("arguments"), write))))
		},
		After: func(in, raw payload.Value, status string) payload.Value {
			return object(field("value", raw), field("status", text(status)), field("evidence_arguments", in.Get("arguments")))
		},
		Effective: func(after payload.Value) payload.Value { return after.Get("value") },
	}
}
