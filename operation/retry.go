package operation

import (
	"context"
	"fmt"
)

// AllowRetry lets an operation whose outcome is unknown run again, once: if that is cut off too, it
// is unknown again. It is for a person to say, one operation at a time, and never for an operation
// that has an outcome.
func (r *Runner) AllowRetry(ctx context.Context, op, why string) error {
	rows, err := r.Journal.Rows(ctx, op)
	if err != nil {
		return fmt.Errorf("operation %s: %w", op, err)
	}
	if len(rows) == 0 {
		return fmt.Errorf("there is no operation %s", op)
	}
	sum := Summarise(rows)
	if sum.State != Unknown {
		return fmt.Errorf("operation %s is %s, only one that is unknown can be allowed to run again", op, sum.State)
	}
	n := 0
	for _, r := range rows {
		if _, ok := r.(AnswerRow); ok {
			n++
		}
	}
	if a, ok := rows[len(rows)-1].(AnswerRow); ok && a.Answer.Verb == Retry {
		return nil // and it hasn't run since
	}
	row := AnswerRow{Op: op, N: n, Answer: Answer{Verb: Retry, Reason: why}}
	if err := r.Journal.Commit(ctx, Commit{Rows: []Row{row}}); err != nil {
		return fmt.Errorf("%w: %w", ErrPersistence, err)
	}
	return nil
}

// mayRunAgain holds an action that would run again to what holds now. One that may not stays unknown.
func (o *open) mayRunAgain(ctx context.Context) error {
	if o.a.Validate == nil {
		return nil
	}
	_, err := o.a.Validate(ctx, o.d.Final)
	switch {
	case err == nil:
	case o.a.UnknownText.Exists():
		o.state, o.stage, o.retry = Unknown, toTell, ""
	default:
		return fmt.Errorf("%w: operation %s, which can't run again: %w", ErrUnknownModel, o.d.Head.ID, err)
	}
	return nil
}
