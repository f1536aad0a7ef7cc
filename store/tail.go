package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"agentd/operation"
)

// querier is a connection or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// each calls f for every row of a query.
func each(ctx context.Context, q querier, f func(scanner) error, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// tail is the operations that have rows which the table of operations doesn't know, as they are
// after these. It isn't changed once it is made.
type tail struct {
	indexed, upTo int64 // the rows after the first and up to the second
	rows          int   // how many these are
	ops           []*tracked
}

type tailRow struct {
	op   int64
	key  operation.Key
	prev int64
	id   sql.NullString
	seq  int64
	at   int64
	form int
	body []byte
}

// more folds the rows that the table of operations doesn't know, there are never many, and reads no
// large values. What t knows of them already, which may be nothing, it doesn't read again.
func (t *tail) more(ctx context.Context, q querier, p packing) (*tail, error) {
	var indexed, newest int64
	if err := q.QueryRowContext(ctx, `SELECT (SELECT value FROM meta WHERE name = 'indexed'), (SELECT coalesce(max(seq), 0) FROM rows)`).Scan(&indexed, &newest); err != nil {
		return nil, err
	}
	if t == nil || t.indexed != indexed || t.upTo > newest { // newer than what is looked at
		t = &tail{indexed: indexed, upTo: indexed}
	}
	if t.upTo >= newest {
		return t, nil
	}
	rows, err := readTail(ctx, q, t.upTo)
	if err != nil {
		return nil, err
	}
	out := &tail{indexed: indexed, upTo: newest, rows: t.rows + len(rows), ops: slices.Clone(t.ops)}
	mine := map[int64]*tracked{} // that aren't t's any more
	for i := range rows {
		op, err := out.operation(ctx, q, &rows[i], mine)
		if err != nil {
			return nil, err
		}
		if err := rows[i].step(op, p); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func readTail(ctx context.Context, q querier, after int64) (rows []tailRow, err error) {
	err = each(ctx, q, func(row scanner) error {
		var r tailRow
		err := row.Scan(&r.seq, &r.op, &r.key.Stage, &r.key.N, &r.prev, &r.id, &r.at, &r.form, &r.body)
		rows = append(rows, r)
		return err
	}, `SELECT seq, op, stage, n, prev, id, at, packed, body FROM rows WHERE seq > ? ORDER BY seq`, after)
	return rows, err
}

// step has the operation take the row.
func (r *tailRow) step(op *tracked, p packing) error {
	r.key.Op = op.id
	text, err := p.unpack(originOfRow(r.key), r.body, r.form)
	if err != nil {
		return err
	}
	row, err := operation.DecodeRow(r.key, text, nil)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	op.step(row, r.seq, r.at)
	return nil
}

// operation finds the operation of a row, as one that may be changed.
func (t *tail) operation(ctx context.Context, q querier, r *tailRow, mine map[int64]*tracked) (*tracked, error) {
	if op := mine[r.op]; op != nil {
		return op, nil
	}
	i := slices.IndexFunc(t.ops, func(op *tracked) bool { return op.seq == r.op })
	if i < 0 {
		op, err := r.before(ctx, q)
		if err != nil {
			return nil, err
		}
		i, t.ops = len(t.ops), append(t.ops, op)
	} else {
		op := *t.ops[i]
		t.ops[i] = &op
	}
	mine[r.op] = t.ops[i]
	return t.ops[i], nil
}

// before is the row's operation before it, as it is in the table.
func (r *tailRow) before(ctx context.Context, q querier) (*tracked, error) {
	if r.prev == 0 {
		return &tracked{seq: r.op, id: r.id.String}, nil
	}
	op := &tracked{}
	err := op.scan(q.QueryRowContext(ctx, `SELECT `+opColumns+` FROM operations WHERE seq = ?`, r.op))
	if err != nil {
		return nil, fmt.Errorf("%w: the operation of row %d: %w", ErrDamaged, r.seq, err)
	}
	return op, nil
}
