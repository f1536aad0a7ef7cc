package operation

import (
	"fmt"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// AllowanceCell is the cell of a session that holds what "allow for N" left: {"of": N, "left": n,
// "by": who said it, "question": where}. No hook can name it.
const AllowanceCell = "agentd/allowed"

// allow grants what an answer gave for the questions to come. The cell becomes durable with the
// operation's next row; until then the answer's row stands for it, and a resume grants it again.
func (s *Session) allow(o *open) {
	if o.answer.Verb != Allow || o.answer.For == 0 {
		return
	}
	s.setAllowance(payload.NewObject(
		payload.Field{Name: "of", Value: payload.NewInt(int64(o.answer.For))},
		payload.Field{Name: "left", Value: payload.NewInt(int64(o.answer.For))},
		payload.Field{Name: "by", Value: payload.NewString(o.answer.Who)},
		payload.Field{Name: "question", Value: payload.NewString(QuestionID(o.d.Head.ID, o.asked-1))}))
}

// allowed answers a question with what a person allowed before. It is asked only where the answer is to
// ask, so it lifts no denial and no rejection. What is used becomes durable with the decision.
func (s *Session) allowed(o *open, q *Question) bool {
	have := s.cells[AllowanceCell]
	left, _ := have.Get("left").Int64()
	of, _ := have.Get("of").Int64()
	if q.Kind != Confirm || left == 0 {
		return false
	}
	who := "allowed always"
	if left > 0 {
		who = fmt.Sprintf("allowed for %d", of)
		s.setAllowance(have.With(payload.Field{Name: "left", Value: payload.NewInt(left - 1)}))
	}
	o.allowance = who
	o.d.Outcome, o.d.By, o.d.Reason = hookpoints.Allowed, who, "with the answer to "+have.Get("question").Text()
	return true
}

func (s *Session) setAllowance(v payload.Value) {
	s.cells[AllowanceCell] = v
	s.dirty[AllowanceCell] = true
}
