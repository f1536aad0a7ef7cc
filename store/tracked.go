package store

import (
	"database/sql"
	"time"

	"agentd/hookpoints/payload"
	"agentd/operation"
)

// tracked is an operation as far as its next row needs it.
type tracked struct {
	seq     int64 // its place among operations
	id      string
	last    int64 // its last row
	updated int64 // when that was committed, in microseconds
	sum     operation.Summary
	places  map[place]int64 // its rows; nil: not asked for yet

	stored  bool // it is in the table of operations
	changed bool // and the table is behind
	newHead bool // also in what the operation is

	shown *tracked // a copy that readers have, as long as it is right
}

// place is where a row stands in its operation.
type place struct {
	stage operation.Stage
	n     int
}

// step takes one more row.
func (op *tracked) step(r operation.Row, seq, at int64) {
	head := op.sum.Head
	op.sum = op.sum.Advance(r)
	// Large values must not stay in memory, and the next row doesn't need them.
	op.sum.Original, op.sum.Final, op.sum.Raw, op.sum.Output = payload.Value{}, payload.Value{}, payload.Value{}, payload.Value{}
	op.last, op.updated, op.changed, op.shown = seq, at, true, nil
	op.newHead = op.newHead || !sameHead(head, op.sum.Head)
	if op.places != nil {
		k := r.Key()
		op.places[place{k.Stage, k.N}] = seq
	}
}

// show is the operation as it is now, for readers: nothing changes it.
func (op *tracked) show() *tracked {
	if op.shown == nil {
		c := *op
		c.places = nil
		op.shown = &c
	}
	return op.shown
}

func sameHead(a, b operation.Head) bool {
	if !a.Began.Equal(b.Began) {
		return false
	}
	a.Began = b.Began
	return a == b
}

// opColumns are the columns of operations, in the order of tracked.columns and tracked.scan.
const opColumns = `seq, id, last, updated, state, status, attempts, whole, done,
	parent, kind, run_id, session_id, instance, client, agent, tool, is_foreign, composite, shipped, user, project, began`

func (op *tracked) columns() []any {
	s, h := &op.sum, &op.sum.Head
	var began any
	if h.ID != "" {
		began = h.Began.UTC().Format(time.RFC3339Nano)
	}
	return []any{op.seq, op.id, op.last, op.updated, string(s.State), s.Status, int64(s.Attempts), s.Whole, s.Done(),
		h.Parent, h.Kind, h.RunID, h.SessionID, h.Instance, h.Client, h.Agent, h.Tool, h.Foreign, h.Composite,
		h.Revisions.Shipped, h.Revisions.User, h.Revisions.Project, began}
}

type scanner interface{ Scan(into ...any) error }

// scan reads opColumns.
func (op *tracked) scan(row scanner) error {
	var began sql.NullString
	var done bool // follows from the rest
	s, h := &op.sum, &op.sum.Head
	if err := row.Scan(&op.seq, &op.id, &op.last, &op.updated, &s.State, &s.Status, &s.Attempts, &s.Whole, &done,
		&h.Parent, &h.Kind, &h.RunID, &h.SessionID, &h.Instance, &h.Client, &h.Agent, &h.Tool, &h.Foreign, &h.Composite,
		&h.Revisions.Shipped, &h.Revisions.User, &h.Revisions.Project, &began); err != nil {
		return err
	}
	op.stored = true
	if !began.Valid {
		return nil
	}
	h.ID = op.id
	var err error
	h.Began, err = parseTime(began.String)
	return err
}

// head is what is known of the operation: at least its id.
func (op *tracked) head() operation.Head {
	h := op.sum.Head
	h.ID = op.id
	return h
}
