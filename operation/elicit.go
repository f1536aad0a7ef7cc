package operation

import (
	"context"
	"fmt"

	"agentd/hookpoints"
)

// elicit puts the question that an action is; the answer is its result. Where nobody can ever be asked
// it is declined.
func (s *Session) elicit(ctx context.Context, o *open, earlier []*open) error {
	if o.d.Alone = s.runner.Gate == nil; o.d.Alone {
		o.closes(Rejected, &hookpoints.Result{Outcome: hookpoints.Denied, Decision: hookpoints.Decision{Text: "nobody can be asked", Name: "denied"}})
		return nil
	}
	h := &o.d.Head
	q := Question{ID: QuestionID(h.ID, o.asked), OpID: h.ID, RunID: h.RunID, SessionID: h.SessionID, Agent: h.Agent, Tool: h.Tool, Kind: o.a.Elicits,
		Prompt: o.d.Final.Get("prompt").Text(), Arguments: o.d.Final}
	if err := s.park(ctx, o, earlier, q); err != nil {
		return err
	}
	if err := s.ask(ctx, o, earlier); err != nil || o.state != NotStarted {
		return err
	}
	return s.lastLook(ctx, o, earlier, true)
}

// misfit says why what a gate returns is no answer to a question; nothing is saved of it then.
func (o *open) misfit(a Answer) error {
	if o.a.Elicits == "" || a.Verb == Deny {
		return nil
	}
	if a.Verb != Respond {
		return fmt.Errorf("%w: the verb is %q, want %s or %s", ErrAnswer, a.Verb, Respond, Deny)
	}
	if o.a.Answer != nil {
		if err := o.a.Answer(a.Value); err != nil {
			return fmt.Errorf("%w: %w", ErrAnswer, err)
		}
	}
	return nil
}

// elicited is the end of a question that was answered and that no guard minds.
func (o *open) elicited() {
	o.state, o.stage, o.raw, o.status = Responded, toFinish, o.d.Response, Succeeded
}
