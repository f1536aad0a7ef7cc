package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"agentd/hookpoints/payload"
	"agentd/internal/tool"
	"agentd/operation"
)

// call runs the tool calls of one reply. Every call id gets a result.
func (r *run) call(ctx context.Context, step operation.Head, calls payload.Value) (stop *operation.Done, err error) {
	var actions []operation.Action
	i := 0
	for c := range calls.Items() {
		i++
		head := r.head(fmt.Sprintf("%s/c%d", step.ID[len(r.task.RunID)+1:], i), "tool")
		head.Parent = step.ID
		actions = append(actions, r.toolAction(head, c))
	}
	done, err := r.s.Batch(ctx, actions)
	if err != nil && (!errors.Is(err, operation.ErrNotSaved) || done == nil) {
		return nil, err
	}
	// Else it is a history whose run was cut off here: also then every call id gets a result.
	var texts []payload.Value
	i = 0
	for c := range calls.Items() {
		d := done[i]
		i++
		r.talk.add(toolMessage(c.Get("id").Text(), d))
		texts = append(texts, contextMessage(d.Texts)...)
		r.told(c, d)
		if d.Stop && stop == nil {
			stop = &d
		}
	}
	r.talk.add(texts...)
	return stop, err
}

// told emits how a call came out.
func (r *run) told(c payload.Value, d operation.Done) {
	fields := []payload.Field{field("name", c.Get("function").Get("name")), field("call_id", c.Get("id")), field("operation_id", text(d.Head.ID)),
		field("state", text(string(d.State))), field("status", text(d.Status))}
	switch d.State {
	case operation.Rejected, operation.Stopped:
		r.leave("tool.rejected", append(fields, field("reason", text(d.Reason)), field("by", text(d.By)), field("code", text(d.Code)))...)
	case operation.Unknown:
		r.leave("tool.uncertain", append(fields, field("value", d.Effective))...)
	default:
		r.leave("tool.completed", append(fields, field("value", d.Effective))...)
	}
}

// toolAction is one call as an operation. What can't be called (no such tool, arguments that are no
// object or don't fit) is an operation that fails without firing a hook.
func (r *run) toolAction(head operation.Head, c payload.Value) operation.Action {
	name := c.Get("function").Get("name").Text()
	head.Tool = name
	args, err := payload.ParseString(c.Get("function").Get("arguments").Text())
	if strings.TrimSpace(c.Get("function").Get("arguments").Text()) == "" {
		args, err = object(), nil
	}
	if err != nil {
		return r.uncallable(head, args, fmt.Errorf("the arguments are no JSON object: %w", err))
	}
	t, _ := r.tools.Tool(name)
	validate := func(args payload.Value) error { return r.tools.Validate(name, args) }
	asker, asks := t.(tool.Asker)
	if asks {
		validate = withQuestion(validate)
	}
	if err := validate(args); err != nil {
		if a, was := r.lost(head, err); was {
			return a
		}
		return r.uncallable(head, args, err)
	}
	spec := t.Spec()
	head.Tool = spec.ID
	around := r.around(head, []payload.Field{field("target", text(spec.ID)), field("tool_id", text(spec.ID)), field("call_id", c.Get("id")), field("kind", text(string(spec.Kind)))})
	a := toolShape(spec.Kind, validate)
	head.Composite = asks
	a.Head, a.Around, a.Policy = head, around, r.policy(spec)
	a.Overlaps, a.Idempotent = spec.Kind.Overlaps(), spec.Idempotent
	a.Input = object(field("name", text(spec.Name)), field("tool_id", text(spec.ID)), field("implementation_id", payload.NewNull()),
		field("parameters", spec.Parameters), field("arguments", args))
	a.Do = func(ctx context.Context, in, write payload.Value) (payload.Value, string, error) {
		r.emit("tool.started", field("name", text(spec.Name)), field("call_id", c.Get("id")), field("operation_id", text(head.ID)), field("arguments", in.Get("arguments")))
		if asks {
			return r.elicit(ctx, head, asker, in.Get("arguments"))
		}
		res := r.do(ctx, t, in.Get("arguments"), write, head.ID)
		if ctx.Err() != nil && res.Status != tool.Succeeded && res.Status != tool.Failed {
			return payload.Value{}, "", ctx.Err() // nobody knows how far it got
		}
		return res.Value, string(res.Status), nil
	}
	a.Preview = func(in, write payload.Value) string { return r.shown(in.Get("arguments"), write) }
	a.UnknownText = unknownText()
	if w, ok := t.(tool.Writer); ok {
		a.Prepare = func(ctx context.Context, in payload.Value) (payload.Value, error) {
			write, err := w.Prepare(ctx, in.Get("arguments"))
			return write.Value(), err
		}
	}
	return a
}

// policy: tools that change nothing need no question.
func (r *run) policy(spec tool.Spec) string {
	if spec.ReadOnly && r.config.Confirm == "ask" {
		return "allow"
	}
	return r.config.Confirm
}

func (r *run) do(ctx context.Context, t tool.Tool, args, write payload.Value, key string) tool.Result {
	w, ok := t.(tool.Writer)
	if !ok || !write.Exists() {
		return t.Call(ctx, tool.Invocation{Arguments: args, Key: key})
	}
	prepared, err := tool.WriteFrom(write)
	if err != nil {
		return tool.Errorf("%w", err)
	}
	return w.Commit(ctx, prepared)
}

func (r *run) uncallable(head operation.Head, args payload.Value, err error) operation.Action {
	if !args.Exists() {
		args = object()
	}
	return operation.Action{Head: head, Around: r.around(head, nil), Input: args, Idempotent: true, // it does nothing
		Do: func(context.Context, payload.Value, payload.Value) (payload.Value, string, error) {
			return object(field("error", text(err.Error()))), operation.Failed, nil
		}}
}
