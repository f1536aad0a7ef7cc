package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"

	"agentd/hookpoints/payload"
	"agentd/operation"
)

// Rows implements operation.Journal.
func (r *Reader) Rows(ctx context.Context, op string) (rows []operation.Row, err error) {
	err = r.glance(ctx, func(v *snapshot) error {
		rows, err = v.rowsOf(op)
		return err
	})
	return rows, err
}

// RunRows implements operation.Journal.
func (r *Reader) RunRows(ctx context.Context, run string) (rows []operation.Row, err error) {
	err = r.view(ctx, func(v *snapshot) error {
		ops, err := v.list(Filter{Run: run})
		if err != nil || run == "" { // what belongs to no run isn't one
			return err
		}
		rows, err = v.rows(ops)
		return err
	})
	return rows, err
}

// Open implements operation.Journal.
func (r *Reader) Open(ctx context.Context) (heads []operation.Head, err error) {
	err = r.view(ctx, func(v *snapshot) error {
		ops, err := v.list(Filter{open: true})
		for _, op := range ops {
			heads = append(heads, op.head())
		}
		return err
	})
	return heads, err
}

// Cells implements operation.Journal.
func (r *Reader) Cells(ctx context.Context, session string) (map[string]operation.Cell, error) {
	cells := map[string]operation.Cell{}
	err := r.glance(ctx, func(v *snapshot) error {
		return v.cells(func(c operation.Cell) { cells[c.Name] = c }, ` WHERE session IN ('', ?) ORDER BY session`, session)
	})
	return cells, err
}

// AllCells lists the state of all sessions, by session and name; the project's comes first.
func (r *Reader) AllCells(ctx context.Context) (list []operation.Cell, err error) {
	err = r.view(ctx, func(v *snapshot) error {
		return v.cells(func(c operation.Cell) { list = append(list, c) }, ` ORDER BY session, name`)
	})
	return list, err
}

func (v *snapshot) cells(each func(operation.Cell), which string, args ...any) error {
	return v.all(func(row scanner) error {
		var c operation.Cell
		var form int
		var body []byte
		if err := row.Scan(&c.Session, &c.Name, &c.Version, &form, &body); err != nil {
			return err
		}
		text, err := v.unpack(originOfCell(c.Session, c.Name), body, form)
		if err != nil {
			return err
		}
		if c.Value, err = payload.Parse(text); err == nil {
			each(c)
		}
		return err
	}, `SELECT session, name, version, packed, value FROM cells`+which, args...)
}

// rowsOf returns the rows of one operation, none if there is no such operation.
func (v *snapshot) rowsOf(id string) ([]operation.Row, error) {
	op, err := v.find(id)
	if err != nil || op == nil {
		return nil, err
	}
	return v.rows([]*tracked{op})
}

// find returns nil if there is no such operation.
func (v *snapshot) find(id string) (*tracked, error) {
	late, err := v.tail()
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(late.ops, func(op *tracked) bool { return op.id == id }); i >= 0 {
		return late.ops[i], nil
	}
	op := &tracked{}
	err = op.scan(v.tx.QueryRowContext(v.ctx, `SELECT `+opColumns+` FROM operations WHERE id = ?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return op, nil
}

type storedRow struct {
	op   int64
	key  operation.Key
	form int
	body []byte
}

// chains selects the rows of operations, given a JSON array of the last of each.
const chains = `(WITH RECURSIVE chain (seq) AS (SELECT value FROM json_each(?) UNION ALL SELECT r.prev FROM chain c JOIN rows r ON r.seq = c.seq WHERE r.prev > 0) SELECT seq FROM chain)`

// rows returns the rows of operations in commit order.
func (v *snapshot) rows(ops []*tracked) ([]operation.Row, error) {
	lasts, ids := make([]int64, len(ops)), map[int64]string{}
	for i, op := range ops {
		lasts[i], ids[op.seq] = op.last, op.id
	}
	roots, err := json.Marshal(lasts)
	if err != nil {
		return nil, err
	}
	var stored []storedRow
	err = v.all(func(row scanner) error {
		var s storedRow
		err := row.Scan(&s.op, &s.key.Stage, &s.key.N, &s.form, &s.body)
		stored = append(stored, s)
		return err
	}, `SELECT op, stage, n, packed, body FROM rows WHERE seq IN `+chains+` ORDER BY seq`, string(roots))
	if err != nil {
		return nil, err
	}
	var rows []operation.Row
	for _, s := range stored {
		s.key.Op = ids[s.op]
		text, err := v.unpack(originOfRow(s.key), s.body, s.form)
		if err != nil {
			return nil, err
		}
		row, err := operation.DecodeRow(s.key, text, v.fetch)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}
