package store

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"

	"agentd/hookpoints/payload"
	"agentd/operation"
)

// sheet is a commit made ready by who asks for it, so that the writer only has to write.
type sheet struct {
	rows  []sheetRow
	blobs []sheetBlob
	cells []sheetCell
}

type sheetRow struct {
	row  operation.Row
	key  operation.Key
	text []byte
	form int
	body []byte
}

type sheetBlob struct {
	hash blobHash // of its text
	name blobHash // what it is stored under
	size int
	form int
	text []byte
}

type sheetCell struct {
	session, name string
	version       int64 // of the project's: the one that is replaced
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
	sh := &sheet{rows: make([]sheetRow, len(c.Rows)), cells: make([]sheetCell, len(c.Cells))}
	for i, r := range c.Rows {
		e, err := operation.EncodeRow(r)
		if err != nil {
			return nil, err
		}
		body, form := s.pack(originOfRow(e.Key), e.Body)
		sh.rows[i] = sheetRow{row: r, key: e.Key, text: e.Body, form: form, body: body}
		for _, b := range e.Blobs {
			hash, err := parseHash(b.Hash)
			if err != nil {
				return nil, err
			}
			sh.blob(s, hash, b.Text)
		}
	}
	for i, cell := range c.Cells {
		if err := readable(cell); err != nil {
			return nil, err
		}
		sh.cells[i] = sheetCell{session: cell.Session, name: cell.Name, version: cell.Version, gone: !cell.Value.Exists()}
		if cell.Value.Exists() {
			sh.cells[i].value, sh.cells[i].form = s.pack(originOfCell(cell.Session, cell.Name), cell.Value.JSON())
		}
	}
	return sh, nil
}

// readable refuses a value that was built deeper than it could be parsed again.
func readable(c operation.Cell) error {
	if c.Value.Exists() && !c.Value.IsSource() && c.Value.Depth(payload.MaxDepth) > payload.MaxDepth {
		return fmt.Errorf("the state %q is nested deeper than %d levels", c.Name, payload.MaxDepth)
	}
	return nil
}

// blob adds a blob that isn't known to be stored.
func (sh *sheet) blob(s *Store, hash blobHash, text []byte) {
	if s.writer.known.has(hash) {
		return
	}
	name := s.seal.name(hash)
	body, form := s.pack(originOfBlob(name), text)
	sh.blobs = append(sh.blobs, sheetBlob{hash, name, len(text), form, body})
}

func parseHash(text string) (h blobHash, err error) {
	if n, err := hex.Decode(h[:], []byte(text)); err != nil || n != len(h) || len(text) != 2*len(h) {
		return h, fmt.Errorf("%q is no SHA-256", text)
	}
	return h, nil
}

// put writes a sheet.
func (w *writer) put(sh *sheet) error {
	if err := w.putBlobs(sh.blobs); err != nil {
		return err
	}
	fresh := 0
	for i := range sh.rows {
		isNew, err := w.putRow(&sh.rows[i])
		if err != nil {
			return err
		}
		if isNew {
			fresh++
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

func (w *writer) putBlobs(blobs []sheetBlob) error {
	for i := range blobs {
		b := &blobs[i]
		if _, err := w.do(w.insertBlob, b.name[:], int64(b.size), int64(b.form), b.text); err != nil {
			return err
		}
		w.blobs = append(w.blobs, b.hash)
	}
	return nil
}

// putRow reports whether the row is new. One that is there already must be the same.
func (w *writer) putRow(r *sheetRow) (bool, error) {
	op, err := w.operation(r.key.Op)
	if err != nil {
		return false, err
	}
	if seq, there := op.places[place{r.key.Stage, r.key.N}]; there {
		return false, w.same(seq, r)
	}
	var id any
	if op.last == 0 {
		id = op.id
	}
	res, err := w.do(w.insertRow, op.seq, string(r.key.Stage), int64(r.key.N), op.last, id, w.now, int64(r.form), r.body)
	if err != nil {
		return false, err
	}
	seq, err := res.LastInsertId()
	if err != nil {
		return false, err
	}
	if !op.changed {
		w.behind = append(w.behind, op)
	}
	op.step(r.row, seq, w.now)
	w.last = seq
	w.fresh++
	return true, nil
}

func (w *writer) same(seq int64, r *sheetRow) error {
	var form int
	var body []byte
	if err := w.oneBody.QueryRowContext(context.Background(), seq).Scan(&form, &body); err != nil {
		return err
	}
	text, err := w.unpack(originOfRow(r.key), body, form)
	if err != nil {
		return err
	}
	if !bytes.Equal(text, r.text) {
		return fmt.Errorf("%w: operation %s, stage %s, number %d", operation.ErrConflict, r.key.Op, r.key.Stage, r.key.N)
	}
	return nil
}

func (w *writer) putCell(c *sheetCell) (err error) {
	switch {
	case c.session == "":
		return w.putWide(c)
	case c.gone:
		_, err = w.do(w.dropCell, c.session, c.name)
	default:
		_, err = w.do(w.setCell, c.session, c.name, c.form, c.value)
	}
	return err
}

// putWide writes a cell of the project, or only looks at it, if it still has the version that was seen.
func (w *writer) putWide(c *sheetCell) error {
	stale := fmt.Errorf("%w: %s isn't at version %d any more", operation.ErrStale, c.name, c.version)
	if c.gone {
		var now int64
		err := w.cellVersion.QueryRowContext(context.Background(), c.name).Scan(&now)
		if err == nil && now != c.version {
			return stale
		}
		return err
	}
	st, args := w.moveCell, []any{c.form, c.value, c.name, c.version}
	if c.version == 0 {
		st, args = w.newCell, []any{c.name, c.form, c.value}
	}
	res, err := w.do(st, args...)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 1 {
		return err
	}
	return stale
}
