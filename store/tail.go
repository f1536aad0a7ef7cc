package store

import (
	"context"
	"database/sql"
	"fmt"

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

// tail is the operations that have rows behind meta.indexed, as they are after these.
type tail struct {
	rows int        // how many there are
	ops  []*tracked // by their first row there
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

// readTail folds the rows that the table of operations doesn't know yet. There are never many, and
// their large values aren't read.
func readTail(ctx context.Context, q querier, p packing) (*tail, error) {
	var rows []tailRow
	err := each(ctx, q, func(row scanner) error {
		var r tailRow
		err := row.Scan(&r.seq, &r.op, &r.key.Stage, &r.key.N, &r.prev, &r.id, &r.at, &r.form, &r.body)
		rows = append(rows, r)
		return err
	}, `SELECT seq, op, stage, n, prev, id, at, packed, body FROM rows WHERE seq > (SELECT value FROM meta WHERE name = 'indexed') ORDER BY seq`)
	if err != nil {
		return nil, err
	}
	t, here := &tail{rows: len(rows)}, map[int64]*tracked{}
	for _, r := range rows {
		op := here[r.op]
		if op == nil {
			if op, err = r.operation(ctx, q); err != nil {
				return nil, err
			}
			here[r.op], t.ops = op, append(t.ops, op)
		}
		text, err := p.unpack(r.body, r.form)
		if err != nil {
			return nil, err
		}
		r.key.Op = op.id
		row, err := operation.DecodeRow(r.key, text, nil)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		op.step(row, r.seq, r.at)
	}
	return t, nil
}

// operation is the row's operation before it.
func (r *tailRow) operation(ctx context.Context, q querier) (*tracked, error) {
	if r.prev == 0 {
		return &tracked{seq: r.op, id: r.id.String, places: map[place]int64{}}, nil
	}
	op := &tracked{}
	err := op.scan(q.QueryRowContext(ctx, `SELECT `+opColumns+` FROM operations WHERE seq = ?`, r.op))
	if err != nil {
		return nil, fmt.Errorf("%w: the operation of row %d: %w", ErrDamaged, r.seq, err)
	}
	return op, nil
}
