package operation

import (
	"context"
	"fmt"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// The verbs of a settlement, beside Retry.
const (
	SettleSucceeded = "succeeded"
	SettleFailed    = "failed"
)

// Settlement is what a person says about something of which nobody knows how it ended.
type Settlement struct {
	Verb   string        // Retry, SettleSucceeded or SettleFailed
	Value  payload.Value // of SettleSucceeded, see [Runner.Reconcile]
	Reason string
	Who    string
}

// Reconcile settles one operation. First comes what stopped it with [ErrRecovery]: the last hook that
// was started, or that failed, and isn't replay-safe. Retry lets it be called again. Succeeded says
// what it decided: null, or a list of objects {"decision": "patch", "fields": {...}, "text", "name",
// "value", "flag"} as in the journal. Failed lets its chain fail.
//
// Otherwise it is about the action of an operation that is unknown. Retry is [Runner.AllowRetry];
// Succeeded gives its result, and Failed says why there is none, as if it had just ended. Where that
// it is unknown has been told already, that stays told, and the outcome is for the record.
func (r *Runner) Reconcile(ctx context.Context, op string, s Settlement) error {
	rows, err := r.Journal.Rows(ctx, op)
	if err != nil {
		return fmt.Errorf("operation %s: %w", op, err)
	}
	if s.Who == "" {
		s.Who = "a person"
	}
	hooks := hooksOf(rows)
	var row Row
	if last := hooks.unsettled(); last != nil {
		row, err = last.settle(hooks.ended, s)
	} else if s.Verb == Retry {
		return r.AllowRetry(ctx, op, s.Reason)
	} else {
		row, err = settled(op, rows, s)
	}
	if err != nil {
		return err
	}
	if err := r.Journal.Commit(ctx, Commit{Rows: []Row{row}}); err != nil {
		return fmt.Errorf("%w: %w", ErrPersistence, err)
	}
	return nil
}

// settled is what a person says about an action.
func settled(op string, rows []Row, s Settlement) (Row, error) {
	if len(rows) == 0 {
		return nil, fmt.Errorf("there is no operation %s", op)
	}
	if sum := Summarise(rows); sum.State != Unknown {
		return nil, fmt.Errorf("operation %s is %s, only one that is unknown can be settled", op, sum.State)
	}
	row := OutcomeRow{Op: op, Who: s.Who, Reason: s.Reason}
	for _, r := range rows { // the outcome of the last start, unless it has one
		switch r := r.(type) {
		case RetryRow:
			row.N = max(row.N, r.N+1)
		case OutcomeRow:
			row.N = max(row.N, r.N+1)
		}
	}
	switch s.Verb {
	case SettleSucceeded:
		if row.Value, row.Status = s.Value, Succeeded; !s.Value.Exists() {
			row.Value = payload.NewNull()
		}
		if row.Reason == "" {
			row.Reason = "said to have succeeded"
		}
	case SettleFailed:
		row.Value, row.Status = payload.NewObject(payload.Field{Name: "error", Value: payload.NewString(s.Reason)}), Failed
	default:
		return nil, s.unknownVerb()
	}
	return row, nil
}

func (s Settlement) unknownVerb() error {
	return fmt.Errorf("%q settles nothing, want %s, %s or %s", s.Verb, Retry, SettleSucceeded, SettleFailed)
}

// settle is what a person says about a hook; n is the number of such rows before.
func (h *startedHook) settle(n int, s Settlement) (row HookedRow, err error) {
	row = HookedRow{Op: h.row.Head.ID, N: n, Of: h.row.N, Reason: s.Reason, Who: s.Who}
	switch s.Verb {
	case Retry:
		row.Again = true
	case SettleFailed:
		row.Error = hookpoints.ErrHookFailed.Error()
	case SettleSucceeded:
		row.Decisions, err = decisionsOf(s.Value)
	default:
		err = s.unknownVerb()
	}
	return row, err
}

// unsettled is the last call of a hook that needs a person; nil if the last one doesn't.
func (h hooks) unsettled() *startedHook {
	if len(h.started) == 0 {
		return nil
	}
	last := h.started[len(h.started)-1]
	if last.settled() || last.again() {
		return nil
	}
	return last
}

// decisionsOf reads decisions as a person writes them.
func decisionsOf(v payload.Value) (out []hookpoints.Decision, err error) {
	if !v.Exists() || v.Kind() == payload.Null {
		return nil, nil
	}
	if v.Kind() != payload.Array {
		return nil, fmt.Errorf("the decisions are %s, want null or a list of objects like {\"decision\": \"patch\", \"fields\": {...}}", v.Kind())
	}
	for item := range v.Items() {
		verb, ok := hookpoints.ParseVerb(item.Get("decision").Text())
		if !ok {
			return nil, fmt.Errorf("%s names no decision", item)
		}
		d := hookpoints.Decision{Verb: verb, Text: item.Get("text").Text(), Name: item.Get("name").Text(), Value: item.Get("value"), Flag: item.Get("flag").IsTrue()}
		for name, kid := range item.Get("fields").Members() {
			d.Fields = append(d.Fields, payload.Field{Name: name, Value: kid})
		}
		out = append(out, d)
	}
	return out, nil
}
