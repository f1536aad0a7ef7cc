package operation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// Confirm is the kind of the question "may this run?".
const Confirm = "confirm"

// Question is what a person is asked, with all that they need to decide. It is saved with the
// operation that waits, so it is the same for whoever asks when.
type Question struct {
	ID        string        `json:"id"`           // see [QuestionID]
	OpID      string        `json:"operation_id"` // what waits
	RunID     string        `json:"run_id,omitempty"`
	SessionID string        `json:"session_id,omitempty"`
	Agent     string        `json:"agent,omitempty"`
	Tool      string        `json:"tool,omitempty"`
	Kind      string        `json:"kind"`         // Confirm, or a kind of elicit
	By        string        `json:"by,omitempty"` // the binding that asks; "" is the agent's confirm
	Prompt    string        `json:"prompt"`
	Again     string        `json:"again,omitempty"` // why it is asked once more
	Preview   string        `json:"preview,omitempty"`
	Arguments payload.Value `json:"arguments,omitzero"`
	AskedAt   time.Time     `json:"asked_at,omitzero"`
	ExpiresAt time.Time     `json:"expires_at,omitzero"` // then the answer is a denial
}

// QuestionID names the question of a waiting row: the operation, "/q" and the number, counted from 1.
func QuestionID(op string, n int) string { return op + "/q" + strconv.Itoa(n+1) }

// ParseQuestionID takes the name of a question apart.
func ParseQuestionID(id string) (op string, n int, ok bool) {
	i := strings.LastIndex(id, "/q")
	if i <= 0 {
		return "", 0, false
	}
	n, err := strconv.Atoi(id[i+2:])
	return id[:i], n - 1, err == nil && n > 0 && QuestionID(id[:i], n-1) == id
}

// Gate asks. It is called only after the question is committed; a gate that can't ask now returns
// ErrWaiting, and the operation stays parked until [Runner.Answer] and a resume. What it returns is
// committed unless somebody else has answered, so a gate may also wait for them and return what they
// said.
type Gate interface {
	Ask(ctx context.Context, q Question) (Answer, error)
}

// defaultTimeout is how long a question waits where nobody says otherwise.
const defaultTimeout = 24 * time.Hour

// question parks an action with a question, in one commit with what is decided of its batch, and puts
// it. Where nobody can answer now the error is ErrWaiting.
func (s *Session) question(ctx context.Context, o *open, earlier []*open, res *hookpoints.Result) error {
	h := &o.d.Head
	q := Question{ID: QuestionID(h.ID, o.asked), OpID: h.ID, RunID: h.RunID, SessionID: h.SessionID, Agent: h.Agent, Tool: h.Tool, Kind: Confirm,
		By: res.By, Prompt: res.Decision.Text, Again: o.why, Arguments: o.d.Final.Get("arguments")}
	if res.Outcome != hookpoints.Asked { // the policy asks
		q.By, q.Prompt = "", ""
	}
	if o.a.Preview != nil {
		q.Preview = o.a.Preview(o.d.Final, o.d.Write)
	} else {
		q.Preview = o.a.Confirm(o.d.Final, o.d.Write).Get("preview").Text()
	}
	q.Prompt = cmp.Or(q.Prompt, "May "+h.Tool+" run?")
	if s.allowed(o, &q) {
		return nil
	}
	if err := s.park(ctx, o, earlier, q); err != nil {
		return err
	}
	return s.ask(ctx, o, earlier)
}

// park makes a question durable.
func (s *Session) park(ctx context.Context, o *open, earlier []*open, q Question) error {
	q.AskedAt = s.runner.Clock.Now().UTC()
	wait := defaultTimeout
	if s.runner.QuestionTimeout != nil {
		wait = s.runner.QuestionTimeout()
	}
	q.ExpiresAt = q.AskedAt.Add(wait)
	row := WaitingRow{o.d, q, o.asked}
	s.keep(earlier)
	s.pending = append(s.pending, row)
	if err := s.Flush(ctx); err != nil { // asking is leaving: the question is durable first
		return err
	}
	s.saved[q.OpID] = append(s.saved[q.OpID], row)
	o.was = s.mark()
	o.parked(row)
	s.at("waiting." + o.d.Head.Kind)
	return nil
}

// parked is where an action is with a question.
func (o *open) parked(r WaitingRow) {
	o.d, o.stage, o.asked = r.Decided, toAsk, r.N
	o.q, o.shown = r.Question, r.Decided
}

// ask puts the committed question to a person and takes the answer that is durable.
func (s *Session) ask(ctx context.Context, o *open, earlier []*open) error {
	if err := ctx.Err(); err != nil { // ended while it waited
		return err
	}
	if s.keep(earlier); len(s.pending) > 0 { // the answer is a commit of its own, and what was decided before stays so
		if err := s.Flush(ctx); err != nil {
			return err
		}
	}
	ans, late := s.runner.expired(o.q)
	if !late {
		if s.runner.Gate == nil {
			return fmt.Errorf("%w: %s", ErrWaiting, o.q.ID)
		}
		var err error
		if ans, err = s.runner.Gate.Ask(ctx, o.q); errors.Is(err, ErrWaiting) {
			return fmt.Errorf("%w: %s", ErrWaiting, o.q.ID)
		} else if err != nil {
			return err
		}
	}
	if err := o.misfit(ans); err != nil {
		return err
	}
	row, err := s.runner.settle(ctx, AnswerRow{o.q.OpID, o.asked, ans}, WaitingRow{Decided: o.shown, Question: o.q, N: o.asked}, true)
	if err != nil {
		return err
	}
	s.saved[o.q.OpID] = append(s.saved[o.q.OpID], row)
	o.was = s.mark()
	o.answered(row)
	s.allow(o)
	return nil
}

// answered applies what a person said; a denial closes the action.
func (o *open) answered(r AnswerRow) {
	o.asked, o.again, o.answer = r.N+1, true, r.Answer
	o.d.By, o.stage = r.Answer.Who, toRun
	if r.Answer.Verb == Respond && o.a.Elicits != "" {
		o.d.Response, o.d.Outcome = r.Answer.Value, hookpoints.Responded
		return
	}
	if r.Answer.Verb != Allow {
		o.state, o.stage = Rejected, closed
		o.d.Reason, o.d.Code, o.d.Outcome = cmp.Or(r.Answer.Reason, "a person said no"), "denied", hookpoints.Denied
		return
	}
	if r.Answer.Edit != nil {
		o.d.Final = o.d.Final.With(r.Answer.Edit...)
	}
	o.d.Outcome = hookpoints.Allowed
}

// lastLook prepares and lets the guards look again after a person's time, asks once more if what they
// saw isn't what would run, then validates on what holds now.
func (s *Session) lastLook(ctx context.Context, o *open, earlier []*open, again bool) error {
	for again {
		res, over, err := s.lookAgain(ctx, o)
		if over || err != nil {
			return err
		}
		if o.why = o.unapproved(&res); o.why == "" {
			break
		}
		if err := s.question(ctx, o, earlier, &res); err != nil || o.state != NotStarted {
			return err
		}
	}
	if o.a.Elicits != "" {
		o.elicited()
		return nil
	}
	if o.a.Validate != nil {
		v, err := o.a.Validate(ctx, o.d.Final)
		if err != nil {
			res := hookpoints.Result{Outcome: hookpoints.Rejected, Decision: hookpoints.Decision{Text: err.Error(), Name: "invalid"}}
			o.closes(Rejected, &res)
			return nil
		}
		o.d.Final = v
	}
	o.stage, o.state = toRun, Running
	return nil
}

// unapproved says why an allow doesn't hold for what would run now, "" if it does. What was approved is
// exactly what runs: the write that was shown, or the arguments that the person wrote themselves.
func (o *open) unapproved(res *hookpoints.Result) string {
	was, is := o.shown.Write, o.d.Write
	edited := o.answer.Edit != nil
	asks := res.Outcome == hookpoints.Asked
	switch {
	case o.allowance != "": // nobody looked at it
		return ""
	case !edited && was.String() != is.String(),
		edited && was.Get("path").String() == is.Get("path").String() && was.Get("base_hash").String() != is.Get("base_hash").String():
		if !asks { // the same question
			res.Outcome, res.By, res.Decision.Text = hookpoints.Asked, o.q.By, o.q.Prompt
		}
		return "what it would write changed since this was asked"
	case asks && edited:
		return "a guard asks about the edit"
	case asks && (res.By != o.q.By || res.Decision.Text != o.q.Prompt):
		return "another question came up since"
	}
	return ""
}
