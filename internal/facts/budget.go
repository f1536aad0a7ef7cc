package facts

import (
	"context"
	"strconv"

	"agentd/hookpoints/payload"
)

// budget is {limit, used, left, share}: the tokens that configuration grants to the session, those that
// it has used, and the share of them as a decimal with four digits, above 1 where it was overdrawn. It
// is absent where nobody can say how many were used, as a rule must not take that for none.
func (s *source) budget(ctx context.Context, _ string) (payload.Value, error) {
	if s.head.Foreign {
		return payload.Value{}, absent("agentd doesn't see what a client's model uses")
	}
	limit := int64(0)
	if s.opts.Budget != nil {
		limit = s.opts.Budget(s.head)
	}
	switch {
	case limit <= 0:
		return payload.Value{}, absent("configuration sets no budget for this agent")
	case s.opts.History == nil:
		return payload.Value{}, absent("there is no journal to read")
	case s.head.SessionID == "":
		return payload.Value{}, absent("this belongs to no session")
	}
	_, used, err := s.opts.History.Usage(ctx, s.head.SessionID, s.head.RunID)
	if err != nil {
		return payload.Value{}, err
	}
	if used.Uncounted > 0 {
		return payload.Value{}, absent("the model's server didn't count the tokens of %d of %d calls", used.Uncounted, used.ModelCalls)
	}
	return payload.NewObject(field("limit", number(limit)), field("used", number(used.Total)), field("left", number(max(0, limit-used.Total))),
		field("share", payload.NewNumber(strconv.FormatFloat(float64(used.Total)/float64(limit), 'f', 4, 64)))), nil
}
