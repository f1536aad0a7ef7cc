package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"

	"agentd/operation"
)

// sheet is a commit made ready by who asked for it, so that the writer only has to write.
type sheet struct {
	rows  []packedRow
	blobs []packedBlob
	cells []packedCell
}

type packedRow struct {
	row  operation.Row
	key  operation.Key
	text []byte
	form int
	body []byte
}

type packedBlob struct {
	hash blobHash
	size int
	form int
	text []byte
}

type packedCell struct {
	session, name string
	gone          bool
	form          int
	value         []byte
}

// Commit implements operation.Journal. The cells of a commit whose rows were all there already are
// left alone: they became durable with the rows, and may have changed since. A cell without a value
// is removed.
func (s *Store) Commit(ctx context.Context, c operation.Commit) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	sh, err := s.ready(c)
	if err != nil {
		return err
	}
	return s.write(ctx, func(w *writer) error { return w.put(sh) })
}

func (s *Store) ready(c operation.Commit) (*sheet, error) {
	sh := &sheet{rows: make([]packedRow, len(c.Rows)), cells: make([]packedCell, len(c.Cells))}
	for i, r := range c.Rows {
		e, err := operation.EncodeRow(r)
		if err != nil {
			return nil, err
		}
		body, form := s.pack(e.Body)
		sh.rows[i] = packedRow{row: r, key: e.Key, text: e.Body, form: form, body: body}
		for _, b := range e.Blobs {
			hash, err := parseHash(b.Hash)
			if err != nil {
				return nil, err
			}
			sh.blob(s, hash, b.Text)
		}
	}
	for i, cell := range c.Cells {
		sh.cells[i] = packedCell{session: cell.Session, name: cell.Name, gone: !cell.Value.Exists()}
		if cell.Value.Exists() {
			sh.cells[i].value, sh.cells[i].form = s.pack(cell.Value.JSON())
		}
	}
	return sh, nil
}

// blob adds a blob that isn't known to be stored.
func (sh *sheet) blob(s *Store, hash blobHash, text []byte) {
	if s.writer.known.has(hash) {
		return
	}
	body, form := s.pack(text)
	sh.blobs = append(sh.blobs, packedBlob{hash, len(text), form, body})
}

func parseHash(text string) (h blobHash, err error) {
	if n, err := hex.Decode(h[:], []byte(text)); err != nil || n != len(h) || len(text) != 2*len(h) {
		return h, fmt.Errorf("%q is no SHA-256", text)
	}
	return h, nil
}

// put writes a sheet.
func (w *writer) put(sh *sheet) error {
	for i := range sh.blobs {
		if err := w.putBlob(&sh.blobs[i]); err != nil {
			return err
		}
	}
	fresh, touched := 0, []*tracked(nil)
	for i := range sh.rows {
		r := &sh.rows[i]
		op, err := w.operation(r)
		if err != nil {
			return err
		}
		isNew, err := w.putRow(op, r)
		if err != nil {
			return err
		}
		if !isNew {
			continue
		}
		fresh++
		if op.advance(r.row) {
			touched = append(touched, op)
		}
	}
	for _, op := range touched {
		if err := w.save(op); err != nil {
			return err
		}
	}
	if fresh == 0 && len(sh.rows) > 0 {
		return nil
	}
	for i := range sh.cells {
		if err := w.putCell(&sh.cells[i]); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) putBlob(b *packedBlob) error {
	if err := w.do(w.insertBlob, b.hash[:], b.size, b.form, b.text); err != nil {
		return err
	}
	w.fresh = append(w.fresh, b.hash)
	return nil
}

// putRow reports whether the row is new. One that is there already must be the same.
func (w *writer) putRow(op *tracked, r *packedRow) (bool, error) {
	n, err := w.changed(w.insertRow, op.seq, string(r.key.Stage), r.key.N, r.form, r.body)
	if err != nil || n == 1 {
		return n == 1, err
	}
	var form int
	var body []byte
	err = w.oneRow.QueryRowContext(context.Background(), op.seq, string(r.key.Stage), r.key.N).Scan(&form, &body)
	if err != nil {
		return false, err
	}
	text, err := w.unpack(body, form)
	if err != nil {
		return false, err
	}
	if !bytes.Equal(text, r.text) {
		return false, fmt.Errorf("%w: operation %s, stage %s, number %d", operation.ErrConflict, r.key.Op, r.key.Stage, r.key.N)
	}
	return false, nil
}

func (w *writer) putCell(c *packedCell) error {
	if c.gone {
		return w.do(w.dropCell, c.session, c.name)
	}
	return w.do(w.setCell, c.session, c.name, c.form, c.value)
}

// operation finds or makes the operation of a row.
func (w *writer) operation(r *packedRow) (*tracked, error) {
	if op := w.ops[r.key.Op]; op != nil {
		return op, nil
	}
	op := newTracked(r.key.Op, r.row)
	res, err := w.insertOp.ExecContext(context.Background(), op.columns(w.now)...)
	if err != nil {
		return nil, err
	}
	switch n, err := res.RowsAffected(); {
	case err != nil:
		return nil, err
	case n == 1:
		if op.seq, err = res.LastInsertId(); err != nil {
			return nil, err
		}
	default:
		op = &tracked{id: r.key.Op}
		if err := op.load(w.oneOp.QueryRowContext(context.Background(), r.key.Op)); err != nil {
			if errors.Is(err, sql.ErrNoRows) {
				return nil, fmt.Errorf("%w: operation %s is listed and can't be found", ErrDamaged, r.key.Op)
			}
			return nil, err
		}
	}
	w.ops[r.key.Op] = op
	return op, nil
}

// save writes down where an operation stands.
func (w *writer) save(op *tracked) error {
	if op.newHead {
		op.newHead, op.dirty = false, false
		return w.do(w.updateHead, append(op.columns(w.now), op.seq)...)
	}
	if !op.dirty {
		return nil
	}
	op.dirty = false
	s := &op.sum
	return w.do(w.updateState, string(s.State), s.Status, s.Attempts, w.now, s.Whole, s.Done(), op.seq)
}
