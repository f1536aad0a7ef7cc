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

// Reconcile settles what stopped an operation with [ErrRecovery]: the last hook that was started, or
// that failed, and isn't replay-safe. Retry lets it be called again. Succeeded says what it decided:
// null, or a list of objects {"decision": "patch", "fields": {...}, "text", "name", "value", "flag"}
// as in the journal. Failed lets its chain fail. Without such a hook, Retry is [Runner.AllowRetry].
func (r *Runner) Reconcile(ctx context.Context, op string, s Settlement) error {
	rows, err := r.Journal.Rows(ctx, op)
	if err != nil {
		return fmt.Errorf("operation %s: %w", op, err)
	}
	hooks := hooksOf(rows)
	last := hooks.unsettled()
	if last == nil {
		if s.Verb == Retry {
			return r.AllowRetry(ctx, op, s.Reason)
		}
		return fmt.Errorf("operation %s has no hook of which nobody knows what it did", op)
	}
	row := HookedRow{Op: op, N: hooks.ended, Of: last.row.N, Reason: s.Reason, Who: s.Who}
	if row.Who == "" {
		row.Who = "a person"
	}
	switch s.Verb {
	case Retry:
		row.Again = true
	case SettleFailed:
		row.Error = hookpoints.ErrHookFailed.Error()
	case SettleSucceeded:
		if row.Decisions, err = decisionsOf(s.Value); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%q settles nothing, want %s, %s or %s", s.Verb, Retry, SettleSucceeded, SettleFailed)
	}
	if err := r.Journal.Commit(ctx, Commit{Rows: []Row{row}}); err != nil {
		return fmt.Errorf("%w: %w", ErrPersistence, err)
	}
	return nil
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
