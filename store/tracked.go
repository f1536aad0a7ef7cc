package store

import (
	"agentd/hookpoints/payload"
	"agentd/operation"
)

// trackedLimit is how many operations the writer keeps in mind between transactions.
const trackedLimit = 4096

// opColumns are the columns of an operation but its number, in the order of tracked.columns.
const opColumns = `id, parent, kind, run_id, session_id, instance, client, agent, tool, is_foreign, composite, shipped, user, project, began, state, status, attempts, updated, whole, done`

// tracked is an operation as far as the next row needs it.
type tracked struct {
	seq     int64
	id      string
	sum     operation.Summary // without values
	first   bool              // its first row is in the inserted columns already
	dirty   bool              // where it stands has changed
	newHead bool              // and also what it is
}

// newTracked is an operation with its first row.
func newTracked(id string, r operation.Row) *tracked {
	op := &tracked{id: id, first: true}
	op.step(r)
	return op
}

func (op *tracked) step(r operation.Row) {
	op.sum = op.sum.Advance(r)
	op.sum.Original, op.sum.Final, op.sum.Raw, op.sum.Output = payload.Value{}, payload.Value{}, payload.Value{}, payload.Value{}
}

// advance takes one more row, and reports whether the operation has to be saved and wasn't before.
func (op *tracked) advance(r operation.Row) bool {
	if op.first {
		op.first = false
		return false
	}
	was, head := op.dirty || op.newHead, op.sum.Head
	op.step(r)
	op.dirty = true
	op.newHead = op.newHead || !sameHead(head, op.sum.Head)
	return !was
}

func sameHead(a, b operation.Head) bool {
	if !a.Began.Equal(b.Began) {
		return false
	}
	a.Began = b.Began
	return a == b
}

func (op *tracked) columns(now string) []any {
	s := &op.sum
	h := &s.Head
	var began any // null as long as no row with a head came
	if h.ID != "" {
		began = stamp(h.Began)
	}
	return []any{op.id, h.Parent, h.Kind, h.RunID, h.SessionID, h.Instance, h.Client, h.Agent, h.Tool, h.Foreign, h.Composite,
		h.Revisions.Shipped, h.Revisions.User, h.Revisions.Project, began, string(s.State), s.Status, s.Attempts, now, s.Whole, s.Done()}
}

type scanner interface{ Scan(into ...any) error }

// load reads seq and opColumns.
func (op *tracked) load(row scanner) error {
	o, err := scanOperation(row)
	if err != nil {
		return err
	}
	op.seq = o.seq
	if !o.headed {
		o.Head = operation.Head{}
	}
	op.sum = operation.Summary{Head: o.Head, State: o.State, Status: o.Status, Attempts: o.Attempts, Whole: o.whole}
	return nil
}
