package daemon

import (
	"context"
	"errors"
	"fmt"

	"agentd"
	"agentd/hookpoints/payload"
	"agentd/internal/api"
	"agentd/internal/elicit"
	"agentd/operation"
)

// seal checks a value that answers a question and puts handles in the place of its secrets, before
// anything of it is saved or told. Kept are those handles, to be forgotten if the answer isn't taken.
func (d *Daemon) seal(ctx context.Context, id string, ans *operation.Answer) (kept []string, err error) {
	value := ans.Value
	ans.Value = payload.Value{} // nothing of it goes on unless it is known what it answers
	if ans.Verb != operation.Respond {
		if value.Exists() {
			return nil, api.Errorf(api.ErrInvalid, "a value comes with %q: it takes %s", ans.Verb, operation.Respond)
		}
		return nil, nil
	}
	w, found, err := d.waiting(ctx, id)
	if err != nil || !found || w.Question.Kind == operation.Confirm {
		return nil, err // the runner says what is wrong
	}
	q, err := agentd.ParseQuestion(w.Final)
	if err != nil {
		return nil, fmt.Errorf("question %s: %w", id, err)
	}
	if q.Sensitive() && d.o.owner != "" && !d.active(w.Question.RunID) {
		return nil, api.Errorf(api.ErrConflict, "a secret would be lost with this command: run agentd serve, or answer where the run goes on with agentd runs resume %s", w.Question.RunID)
	}
	sealed, err := d.rt.SealAnswer(w.Head.SessionID, q, value)
	if errors.Is(err, operation.ErrAnswer) {
		return nil, api.Errorf(api.ErrInvalid, "%w", err)
	} else if err != nil {
		return nil, err
	}
	ans.Value = sealed
	return q.Secrets(sealed), nil
}

// waiting is the row of a question, whether it is still open or not.
func (d *Daemon) waiting(ctx context.Context, id string) (w operation.WaitingRow, found bool, err error) {
	op, n, ok := operation.ParseQuestionID(id)
	if !ok {
		return w, false, nil
	}
	rows, err := d.store.Rows(ctx, op)
	if err != nil {
		return w, false, err
	}
	for _, row := range rows {
		if row, ok := row.(operation.WaitingRow); ok && row.N == n {
			return row, true, nil
		}
	}
	return w, false, nil
}

// fits holds the value of an answer to its question.
func (d *Daemon) fits(w operation.WaitingRow, a operation.Answer) error {
	q, err := agentd.ParseQuestion(w.Final)
	if err != nil {
		return err
	}
	return d.rt.CheckAnswer(w.Head.SessionID, q, a.Value)
}

// yes is what --yes answers: it lets run what is asked about, and says yes to a yes or no.
func yes(q operation.Question) (operation.Answer, bool) {
	switch q.Kind {
	case operation.Confirm:
		return operation.Answer{Verb: operation.Allow, Who: "--yes"}, true
	case string(elicit.Confirmation):
		return operation.Answer{Verb: operation.Respond, Value: payload.NewBool(true), Who: "--yes"}, true
	}
	return operation.Answer{}, false
}
