package store

import (
	"context"
	"database/sql"
	"errors"
)

const (
	// indexAfter is after how many rows the table of operations is brought up to date: often enough
	// that the rest is folded in a moment, seldom enough that most operations are written once.
	indexAfter = 64
	// trackedLimit is how many operations the writer keeps in mind.
	trackedLimit = 4096
)

// operation finds or makes an operation, with the places of its rows.
func (w *writer) operation(id string) (*tracked, error) {
	op := w.ops[id]
	if op == nil {
		var seq int64
		switch err := w.findOp.QueryRowContext(context.Background(), id).Scan(&seq); {
		case errors.Is(err, sql.ErrNoRows):
			op = &tracked{seq: w.nextOp, id: id, places: map[place]int64{}}
			w.nextOp++
		case err != nil:
			return nil, err
		default:
			op = &tracked{}
			if err := op.scan(w.oneOp.QueryRowContext(context.Background(), seq)); err != nil {
				return nil, err
			}
		}
		w.ops[id] = op
	}
	if op.places == nil {
		places := map[place]int64{}
		err := each(context.Background(), w.conn, func(row scanner) error {
			var p place
			var seq int64
			err := row.Scan(&seq, &p.stage, &p.n)
			places[p] = seq
			return err
		}, `SELECT seq, stage, n FROM rows WHERE seq IN `+chain, op.last)
		if err != nil {
			return nil, err
		}
		op.places = places
	}
	return op, nil
}

// chain selects the rows of an operation, given the last.
const chain = `(WITH RECURSIVE chain (seq) AS (VALUES (?) UNION ALL SELECT r.prev FROM chain c JOIN rows r ON r.seq = c.seq WHERE r.prev > 0) SELECT seq FROM chain)`

// index brings the table of operations up to date with the rows.
func (w *writer) index() error {
	for _, op := range w.behind {
		if err := w.store(op); err != nil {
			return err
		}
	}
	if _, err := w.do(w.setIndexed); err != nil {
		return err
	}
	w.indexed = true
	return nil
}

func (w *writer) store(op *tracked) error {
	s := &op.sum
	var err error
	switch {
	case !op.stored:
		_, err = w.do(w.insertOp, op.columns()...)
	case op.newHead:
		_, err = w.do(w.replaceOp, append(op.columns(), op.seq)...)
	default:
		_, err = w.do(w.updateOp, op.last, op.updated, string(s.State), s.Status, s.Attempts, s.Whole, s.Done(), op.seq)
	}
	op.stored, op.changed, op.newHead = true, false, false
	return err
}

// recall makes the writer know what the database says, at the start and after a transaction that
// came to nothing.
func (w *writer) recall(ctx context.Context) error {
	clear(w.ops)
	w.behind, w.blobs, w.stale = nil, nil, true
	t, err := (*tail)(nil).more(ctx, w.conn, w.packing)
	if err != nil {
		return err
	}
	if err := w.conn.QueryRowContext(ctx, `SELECT coalesce(max(seq), 0) + 1 FROM operations`).Scan(&w.nextOp); err != nil {
		return err
	}
	for _, op := range t.ops {
		w.ops[op.id] = op
		w.nextOp = max(w.nextOp, op.seq+1)
	}
	w.behind, w.fresh, w.last, w.upTo, w.stale = t.ops, t.rows, t.upTo, t.indexed, false
	return nil
}
