package agent

import (
	"context"
	"errors"
	"fmt"

	"agentd/hookpoints/payload"
	"agentd/operation"
)

// maxContinuations bounds how often hooks may send a turn on.
const maxContinuations = 16

// errSteps: the model was asked as often as the agent allows.
var errSteps = errors.New("max_steps")

// turn is one prompt and all that follows.
func (r *run) turn(ctx context.Context, prompt string) (Result, error) {
	head := r.head("t1", "turn")
	around := r.around(head, []payload.Field{field("turn", payload.NewInt(1))})
	began, err := r.s.Point(ctx, head, 0, "turn.before", around, object(field("prompt", text(prompt))))
	if err != nil {
		return Result{}, err
	}
	if began.State == operation.Rejected {
		return Result{Status: Rejected, Reason: began.Reason}, nil
	}
	r.talk.add(message("user", prompt))
	r.talk.add(contextMessage(began.Texts)...)
	if began.Stop {
		return Result{Status: Stopped, Reason: began.Reason}, nil
	}
	for step, continuation := 1, 0; ; continuation++ {
		var answer string
		var stop *operation.Done
		if answer, stop, err = r.steps(ctx, head.ID, &step); err != nil {
			return Result{}, err
		}
		if stop != nil {
			return Result{Status: Stopped, Answer: answer, Reason: stop.Reason}, nil
		}
		after, err := r.s.Point(ctx, head, 1+continuation, "turn.after", around, object(
			field("prompt", text(prompt)), field("response", text(answer)), field("continuation", payload.NewInt(int64(continuation)))))
		if err != nil {
			return Result{}, err
		}
		r.talk.add(contextMessage(after.Texts)...)
		switch {
		case after.Stop && after.Clear:
			r.talk.clear()
			fallthrough
		case after.Stop:
			return Result{Status: Stopped, Answer: answer, Reason: after.Reason}, nil
		case after.Proceed == "":
			return Result{Status: Completed, Answer: answer}, nil
		case continuation >= maxContinuations:
			return Result{Status: Failed, Answer: answer, Reason: fmt.Sprintf("%s sent the turn on more than %d times", after.By, maxContinuations)}, nil
		}
		r.talk.add(message("user", after.Proceed))
	}
}

// steps asks the model and runs its tool calls until it answers; stop says who ended the run.
func (r *run) steps(ctx context.Context, turn string, next *int) (answer string, stop *operation.Done, err error) {
	for ; ; *next++ {
		if *next > r.config.MaxSteps {
			return "", nil, fmt.Errorf("%w: the model was asked %d times without an answer; raise max_steps of the agent, or split the task", errSteps, r.config.MaxSteps)
		}
		head := r.head(fmt.Sprintf("t1/s%d", *next), "step")
		head.Parent = turn
		around := r.around(head, []payload.Field{field("turn", payload.NewInt(1)), field("step", payload.NewInt(int64(*next)))})
		number := field("step", payload.NewInt(int64(*next)))
		began, err := r.s.Point(ctx, head, 0, "step.before", around, object(number))
		if err != nil {
			return "", nil, err
		}
		r.talk.add(contextMessage(began.Texts)...)
		if began.Stop {
			return "", &began, nil
		}
		said, err := r.ask(ctx, head)
		if err != nil {
			return "", nil, err
		}
		if said.Stop && said.State == operation.Stopped {
			return "", &said, nil
		}
		r.talk.add(reply(said.Effective))
		answer = said.Effective.Get("content").Text()
		calls := said.Effective.Get("tool_calls")
		if said.Stop {
			r.notExecuted(calls)
			return answer, &said, nil
		}
		if calls.Len() == 0 {
			*next++
			return answer, nil, nil
		}
		if stop, err = r.call(ctx, head, calls); err != nil || stop != nil {
			return answer, stop, err
		}
		after, err := r.s.Point(ctx, head, 1, "step.after", around, object(number, field("calls", callList(calls))))
		if err != nil {
			return "", nil, err
		}
		r.talk.add(contextMessage(after.Texts)...)
		if after.Stop {
			return answer, &after, nil
		}
	}
}

// notExecuted gives every call a result, as models demand.
func (r *run) notExecuted(calls payload.Value) {
	for c := range calls.Items() {
		r.talk.add(toolMessage(c.Get("id").Text(), operation.Done{State: operation.Stopped}))
	}
}

func callList(calls payload.Value) payload.Value {
	var out []payload.Value
	for c := range calls.Items() {
		out = append(out, object(field("id", c.Get("id")), field("name", c.Get("function").Get("name"))))
	}
	return payload.NewArray(out)
}
