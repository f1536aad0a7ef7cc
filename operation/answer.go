package operation

import (
	"context"
	"fmt"
	"strings"
	"time"

	"agentd/hookpoints/payload"
)

// Retry is the verb of an answer that lets an unknown operation run again, once.
const Retry = "retry"

// The verbs of an answer: to "may this run?", and to a question that asks for a value, which can be
// denied too.
const (
	Allow   = "allow"
	Deny    = "deny"
	Respond = "respond"
)

// Always is a For without an end.
const Always = -1

// Answer is what a person said. Verb is Allow or Deny, or Respond or Deny; in the journal also Retry.
type Answer struct {
	Verb, Reason string
	Who          string
	Edit         []payload.Field // allow with these fields of the input instead
	For          int             // allow the next so many questions of the session too, or Always
	Value        payload.Value   // of Respond; a secret is a handle in it
}

// words is an answer for those who come too late.
func (a Answer) words() string {
	said := a.Verb
	if a.Edit != nil {
		said += " with an edit"
	}
	if a.Who != "" {
		said += " by " + a.Who
	}
	if a.Reason != "" {
		said += ": " + a.Reason
	}
	return said
}

// Answer commits what a person said to an open question; the operation goes on when its run is
// resumed. Of two answers the first one holds and the other gets ErrAnswered. An answer that doesn't
// fit gets ErrAnswer, and one to a question that isn't open ErrNoQuestion; both change nothing.
func (r *Runner) Answer(ctx context.Context, id string, a Answer) (Question, error) {
	w, err := r.waiting(ctx, id)
	if err != nil {
		return Question{}, err
	}
	if _, late := r.expired(w.Question); late {
		return w.Question, fmt.Errorf("%w: %s expired at %s", ErrNoQuestion, id, w.Question.ExpiresAt.UTC().Format(time.RFC3339))
	}
	return w.Question, r.answer(ctx, w, a)
}

// Expire commits the denial of a question that waited too long, and returns it. It isn't late if there
// is time left.
func (r *Runner) Expire(ctx context.Context, id string) (a Answer, late bool, err error) {
	w, err := r.waiting(ctx, id)
	if err != nil {
		return a, false, err
	}
	if a, late = r.expired(w.Question); !late {
		return a, false, nil
	}
	return a, true, r.answer(ctx, w, a)
}

func (r *Runner) answer(ctx context.Context, w WaitingRow, a Answer) error {
	yes := Allow
	if w.Question.Kind != Confirm {
		yes = Respond
	}
	if a.Verb != yes && a.Verb != Deny {
		return fmt.Errorf("%w: the verb is %q, want %s or %s", ErrAnswer, a.Verb, yes, Deny)
	}
	if w.Question.Kind == Confirm && a.Value.Exists() {
		return fmt.Errorf("%w: it takes no value, only whether %s may run", ErrAnswer, w.Question.Tool)
	}
	if a.Verb != Deny && r.CheckAnswer != nil {
		if err := r.CheckAnswer(w, a); err != nil {
			return fmt.Errorf("%w: %w", ErrAnswer, err)
		}
	}
	_, err := r.settle(ctx, AnswerRow{w.Question.OpID, w.N, a}, w, false)
	return err
}

// waiting finds the row of an open question. One that was never asked or that is over isn't open, nor
// one whose run has ended.
func (r *Runner) waiting(ctx context.Context, id string) (w WaitingRow, err error) {
	op, n, ok := ParseQuestionID(id)
	if !ok {
		return w, fmt.Errorf("%w: there is none with the name %q; see agentd answer", ErrNoQuestion, id)
	}
	rows, err := r.Journal.Rows(ctx, op)
	if err != nil {
		return w, fmt.Errorf("operation %s: %w", op, err)
	}
	found, over := false, false
	for _, row := range rows {
		switch row := row.(type) {
		case WaitingRow:
			if row.N == n {
				w, found = row, true
			}
		case AnswerRow:
			if row.N == n && row.Answer.Verb != Retry {
				return w, fmt.Errorf("%w: %s was answered with %s", ErrAnswered, id, row.Answer.words())
			}
		case IntentRow:
			over = true
		}
	}
	switch {
	case !found:
		return w, fmt.Errorf("%w: there is none with the name %q; see agentd answer", ErrNoQuestion, id)
	case over:
		return w, fmt.Errorf("%w: %s was settled without an answer", ErrNoQuestion, id)
	}
	return w, r.runGoesOn(ctx, w.Question)
}

// runGoesOn tells the questions of a run that was cancelled from those of one that waits.
func (r *Runner) runGoesOn(ctx context.Context, q Question) error {
	if q.RunID == "" {
		return nil
	}
	rows, err := r.Journal.Rows(ctx, q.RunID)
	if err != nil {
		return fmt.Errorf("run %s: %w", q.RunID, err)
	}
	if sum := Summarise(rows); len(rows) > 0 && sum.Done() {
		return fmt.Errorf("%w: its run %s has ended (%s)", ErrNoQuestion, q.RunID, sum.Status)
	}
	return nil
}

// settle commits an answer if it is the first. Where there is one already it returns that one, or, for
// those who don't take what others said, ErrAnswered.
func (r *Runner) settle(ctx context.Context, row AnswerRow, w WaitingRow, takes bool) (AnswerRow, error) {
	ctx = context.WithoutCancel(ctx) // what a person said is saved
	r.answering.Lock()
	defer r.answering.Unlock()
	rows, err := r.Journal.Rows(ctx, row.Op)
	if err != nil {
		return row, fmt.Errorf("%w: %w", ErrPersistence, err)
	}
	for _, is := range rows {
		if is, ok := is.(AnswerRow); ok && is.N == row.N {
			if takes {
				return is, nil
			}
			return is, fmt.Errorf("%w: %s was answered with %s", ErrAnswered, w.Question.ID, is.Answer.words())
		}
	}
	if err := r.Journal.Commit(ctx, Commit{Rows: []Row{row}}); err != nil {
		return row, fmt.Errorf("%w: %w", ErrPersistence, err)
	}
	if r.At != nil {
		r.At("answer." + w.Head.Kind)
	}
	return row, nil
}

// expired is the answer to a question that nobody answered in time.
func (r *Runner) expired(q Question) (Answer, bool) {
	if q.ExpiresAt.IsZero() || r.Clock.Now().Before(q.ExpiresAt) {
		return Answer{}, false
	}
	return Answer{Verb: Deny, Reason: "nobody answered in " + plain(q.ExpiresAt.Sub(q.AskedAt)), Who: "questions.timeout"}, true
}

// plain is a duration without its zeros: 24h, not 24h0m0s.
func plain(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
