package store

import (
	"context"

	"agentd/hookpoints/payload"
	"agentd/operation"
)

// Usage is what operations used of a model, as its servers counted, and how many actions there were.
type Usage struct {
	Input, Output, Total  int64 // tokens
	ModelCalls, ToolCalls int64 // that were started
	Uncounted             int64 // model calls that were answered by a server that didn't count
}

func (u *Usage) add(o Usage) {
	u.Input, u.Output, u.Total = u.Input+o.Input, u.Output+o.Output, u.Total+o.Total
	u.ModelCalls, u.ToolCalls = u.ModelCalls+o.ModelCalls, u.ToolCalls+o.ToolCalls
	u.Uncounted += o.Uncounted
}

// Usage sums up a session, and of it one run.
func (r *Reader) Usage(ctx context.Context, session, run string) (ofRun, ofSession Usage, err error) {
	if session == "" {
		return ofRun, ofSession, nil
	}
	count := func(op *tracked, u Usage) {
		ofSession.add(u)
		if run != "" && op.sum.Head.RunID == run {
			ofRun.add(u)
		}
	}
	err = r.view(ctx, func(v *snapshot) error {
		tools, err := v.list(Filter{Session: session, Kind: "tool"})
		if err != nil {
			return err
		}
		for _, op := range tools {
			if op.sum.Attempts > 0 {
				count(op, Usage{ToolCalls: 1})
			}
		}
		models, err := v.list(Filter{Session: session, Kind: "model.chat"})
		if err != nil {
			return err
		}
		for _, op := range models {
			if op.sum.Attempts > 0 {
				count(op, Usage{ModelCalls: 1})
			}
		}
		return v.bodies(models, []operation.Stage{operation.StOutcome}, func(op *tracked, _ operation.Key, body []byte) error {
			used, err := operation.Peek(body, "value", "usage", v.fetch)
			u := tokens(used)
			if u.Total == 0 && op.sum.Status == operation.Succeeded {
				u.Uncounted = 1
			}
			count(op, u)
			return err
		})
	})
	return ofRun, ofSession, err
}

// tokens reads a usage object in either of the two forms that servers write.
func tokens(v payload.Value) (u Usage) {
	if v.Kind() != payload.Object {
		return u
	}
	number := func(names ...string) int64 {
		for _, name := range names {
			if n, ok := v.Get(name).Int64(); ok && n > 0 {
				return n
			}
		}
		return 0
	}
	u.Input, u.Output = number("input_tokens", "prompt_tokens"), number("output_tokens", "completion_tokens")
	if u.Total = number("total_tokens"); u.Total == 0 {
		u.Total = u.Input + u.Output
	}
	return u
}
