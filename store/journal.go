package store

import (
	"context"

	"agentd/hookpoints/payload"
	"agentd/operation"
)

// Rows implements operation.Journal.
func (r *Reader) Rows(ctx context.Context, op string) (rows []operation.Row, err error) {
	err = r.view(ctx, func(v *snapshot) error {
		rows, err = v.rows(`WHERE o.id = ?`, op)
		return err
	})
	return rows, err
}

// RunRows implements operation.Journal.
func (r *Reader) RunRows(ctx context.Context, run string) (rows []operation.Row, err error) {
	if run == "" { // what belongs to no run isn't one
		return nil, ctx.Err()
	}
	err = r.view(ctx, func(v *snapshot) error {
		rows, err = v.rows(`WHERE o.run_id = ? AND o.run_id <> ''`, run)
		return err
	})
	return rows, err
}

type storedRow struct {
	key  operation.Key
	form int
	body []byte
}

func (v *snapshot) rows(where string, args ...any) ([]operation.Row, error) {
	var stored []storedRow
	err := v.all(func(row scanner) error {
		var s storedRow
		err := row.Scan(&s.key.Op, &s.key.Stage, &s.key.N, &s.form, &s.body)
		stored = append(stored, s)
		return err
	}, `SELECT o.id, r.stage, r.n, r.packed, r.body FROM operations o JOIN rows r ON r.op = o.seq `+where+` ORDER BY r.seq`, args...)
	if err != nil {
		return nil, err
	}
	rows := make([]operation.Row, len(stored))
	for i, s := range stored {
		if rows[i], err = v.row(s); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func (v *snapshot) row(s storedRow) (operation.Row, error) {
	text, err := v.unpack(s.body, s.form)
	if err != nil {
		return nil, err
	}
	return operation.DecodeRow(s.key, text, v.fetch)
}

// Open implements operation.Journal.
func (r *Reader) Open(ctx context.Context) (heads []operation.Head, err error) {
	err = r.view(ctx, func(v *snapshot) error {
		return v.all(func(row scanner) error {
			o, err := scanOperation(row)
			heads = append(heads, o.Head)
			return err
		}, `SELECT seq, `+opColumns+` FROM operations WHERE done = 0 ORDER BY seq`)
	})
	return heads, err
}

// Cells implements operation.Journal.
func (r *Reader) Cells(ctx context.Context, session string) (map[string]payload.Value, error) {
	cells := map[string]payload.Value{}
	err := r.view(ctx, func(v *snapshot) error {
		return v.all(func(row scanner) error {
			var name string
			var form int
			var body []byte
			if err := row.Scan(&name, &form, &body); err != nil {
				return err
			}
			text, err := v.unpack(body, form)
			if err != nil {
				return err
			}
			cells[name], err = payload.Parse(text)
			return err
		}, `SELECT name, packed, value FROM cells WHERE session IN ('', ?) ORDER BY session`, session)
	})
	return cells, err
}
