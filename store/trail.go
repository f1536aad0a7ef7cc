package store

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/operation"
)

// TrailRow is one action of a session: what it was, what was decided, how far it got.
type TrailRow struct {
	OperationRow
	Outcome   hookpoints.Outcome // of the chains before the action
	By        string             // the binding that ended them, or who answered
	Reason    string
	Arguments payload.Value // as dispatched, absent if it has none
}

// TrailOf is the trail's row of an operation whose rows aren't in a store yet.
func TrailOf(rows []operation.Row) TrailRow {
	sum := operation.Summarise(rows)
	out := TrailRow{OperationRow: OperationRow{Head: sum.Head, State: sum.State, Status: sum.Status, Attempts: sum.Attempts, Done: sum.Done()}}
	for _, r := range rows {
		if d, ok := decidedOf(r); ok {
			out.decide(d)
			out.Arguments = d.Final.Get("arguments")
		}
	}
	return out
}

func (t *TrailRow) decide(d operation.Decided) {
	t.Outcome, t.By, t.Reason = d.Outcome, d.By, d.Reason
}

func decidedOf(r operation.Row) (operation.Decided, bool) {
	if e, ok := r.(operation.EffectRow); ok {
		return e.Decided, true
	}
	return operation.DecidedIn(r)
}

// Trail returns the last n actions of a session, oldest first: model calls, tool calls, effects, also
// those that were rejected or wait. Composite operations and chains without an action aren't among
// them. Of large values only arguments are read.
func (r *Reader) Trail(ctx context.Context, session string, n int) (list []TrailRow, err error) {
	if session == "" || n <= 0 {
		return nil, nil
	}
	err = r.view(ctx, func(v *snapshot) error {
		ops, err := v.actions(session, n)
		if err != nil || len(ops) == 0 {
			return err
		}
		list = make([]TrailRow, len(ops))
		at := make(map[int64]int, len(ops))
		for i, op := range ops {
			list[i].OperationRow, at[op.seq] = op.row(), i
		}
		return v.bodies(ops, []operation.Stage{operation.StEffect, operation.StReady, operation.StWaiting, operation.StIntent}, func(op *tracked, k operation.Key, body []byte) error {
			row, err := operation.DecodeRow(k, body, nil)
			if err != nil {
				return err
			}
			d, _ := decidedOf(row)
			t := &list[at[op.seq]]
			t.decide(d)
			t.Arguments, err = operation.Peek(body, "final", "arguments", v.fetch)
			return err
		})
	})
	return list, err
}

// isAction and the query in actions say the same: what only journals a chain is finished without
// having been started.
func isAction(op *tracked) bool {
	s := &op.sum
	return !s.Head.Composite && s.Head.ID != "" && (s.State != operation.Finished || s.Status != operation.NotRun)
}

func (v *snapshot) actions(session string, n int) ([]*tracked, error) {
	late, err := v.tail()
	if err != nil {
		return nil, err
	}
	var list []*tracked
	fixed := map[int64]bool{}
	for _, op := range late.ops {
		if fixed[op.seq] = true; op.sum.Head.SessionID == session && isAction(op) {
			list = append(list, op)
		}
	}
	err = v.all(func(row scanner) error {
		op := &tracked{}
		err := op.scan(row)
		if !fixed[op.seq] {
			list = append(list, op)
		}
		return err
	}, `SELECT `+opColumns+` FROM operations WHERE session_id = ? AND composite = 0 AND began IS NOT NULL
		AND NOT (state = ? AND status = ?) ORDER BY seq DESC LIMIT ?`, session, string(operation.Finished), operation.NotRun, n+len(late.ops))
	slices.SortFunc(list, func(a, b *tracked) int { return cmp.Compare(a.seq, b.seq) })
	if len(list) > n {
		list = list[len(list)-n:]
	}
	return list, err
}

// bodies calls f with the rows of some stages, in commit order, as they are stored.
func (v *snapshot) bodies(ops []*tracked, stages []operation.Stage, f func(op *tracked, k operation.Key, body []byte) error) error {
	lasts, bySeq := make([]int64, len(ops)), make(map[int64]*tracked, len(ops))
	for i, op := range ops {
		lasts[i], bySeq[op.seq] = op.last, op
	}
	roots, err := json.Marshal(lasts)
	if err != nil {
		return err
	}
	wanted, err := json.Marshal(stages)
	if err != nil {
		return err
	}
	var rows []storedRow
	err = v.all(func(row scanner) error {
		var s storedRow
		err := row.Scan(&s.op, &s.key.Stage, &s.key.N, &s.form, &s.body)
		rows = append(rows, s)
		return err
	}, `SELECT op, stage, n, packed, body FROM rows WHERE seq IN `+chains+` AND stage IN (SELECT value FROM json_each(?)) ORDER BY seq`, string(roots), string(wanted))
	if err != nil {
		return err
	}
	for _, s := range rows { // not while the rows are read: f may read blobs on the same connection
		op := bySeq[s.op]
		s.key.Op = op.id
		body, err := v.unpack(originOfRow(s.key), s.body, s.form)
		if err != nil {
			return err
		}
		if err := f(op, s.key, body); err != nil {
			return err
		}
	}
	return nil
}
