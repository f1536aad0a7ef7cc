package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"agentd/hookpoints"
	"agentd/revision"
)

// Revision implements revision.Source. Files come sorted by path.
func (r *Reader) Revision(ctx context.Context, id string) (rev *revision.Revision, err error) {
	err = r.view(ctx, func(v *snapshot) error {
		row := v.tx.QueryRowContext(ctx, `SELECT `+revisionColumns+` FROM revisions WHERE id = ?`, id)
		if rev, err = v.revision(row); errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("%w: %s", revision.ErrNotFound, id)
		}
		if err != nil {
			return err
		}
		return v.files(rev)
	})
	if err != nil {
		return nil, err
	}
	return rev, nil
}

const revisionColumns = `id, layer, parent, note, created, listed IS NOT NULL, signature, packed, manifest`

func (v *snapshot) revision(row scanner) (*revision.Revision, error) {
	rev := &revision.Revision{}
	var created string
	var form int
	var body []byte
	if err := row.Scan(&rev.ID, &rev.Layer, &rev.Parent, &rev.Note, &created, &rev.Listed, &rev.Signature, &form, &body); err != nil {
		return nil, err
	}
	var err error
	if rev.Created, err = parseTime(created); err != nil {
		return nil, err
	}
	rev.Manifest, err = v.unpack(originOfRevision(rev.ID), body, form)
	return rev, err
}

func (v *snapshot) files(rev *revision.Revision) error {
	return v.all(func(row scanner) error {
		var f revision.File
		var form int
		var name, body []byte
		if err := row.Scan(&f.Path, &name, &form, &body); err != nil {
			return err
		}
		var err error
		f.Text, err = v.unpack(origin{table: "blobs", name: string(name)}, body, form)
		rev.Files = append(rev.Files, f)
		return err
	}, `SELECT f.path, b.hash, b.packed, b.text FROM revision_files f JOIN blobs b ON b.hash = f.hash WHERE f.revision = ? ORDER BY f.path`, rev.ID)
}

// Listed implements revision.Source.
func (r *Reader) Listed(ctx context.Context, layer hookpoints.Layer) (list []*revision.Revision, err error) {
	err = r.view(ctx, func(v *snapshot) error {
		return v.all(func(row scanner) error {
			rev, err := v.revision(row)
			list = append(list, rev)
			return err
		}, `SELECT `+revisionColumns+` FROM revisions WHERE layer = ? AND listed IS NOT NULL ORDER BY listed DESC`, layer)
	})
	return list, err
}

// Head implements revision.Source.
func (r *Reader) Head(ctx context.Context, layer hookpoints.Layer) (id string, err error) {
	err = r.view(ctx, func(v *snapshot) error {
		err := v.tx.QueryRowContext(ctx, `SELECT revision FROM heads WHERE layer = ?`, layer).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	return id, err
}

// Keep implements revision.Source.
func (s *Store) Keep(ctx context.Context, r *revision.Revision) error {
	sh, names := &sheet{}, make([]blobHash, len(r.Files))
	for i, f := range r.Files {
		hash := sha256.Sum256(f.Text)
		names[i] = s.seal.name(hash)
		sh.blob(s, hash, f.Text)
	}
	body, form := s.pack(originOfRevision(r.ID), r.Manifest)
	return s.write(ctx, func(w *writer) error {
		if err := w.putBlobs(sh.blobs); err != nil {
			return err
		}
		return w.keep(r, names, form, body)
	})
}

func (w *writer) keep(r *revision.Revision, names []blobHash, form int, manifest []byte) error {
	ctx := context.Background()
	res, err := w.conn.ExecContext(ctx, `INSERT INTO revisions (id, layer, parent, note, created, packed, manifest) VALUES (?,?,?,?,?,?,?) ON CONFLICT (id) DO NOTHING`,
		r.ID, r.Layer, r.Parent, r.Note, r.Created.UTC().Format(time.RFC3339Nano), form, manifest)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil {
		return err
	} else if n == 1 {
		for i, f := range r.Files {
			if _, err := w.conn.ExecContext(ctx, `INSERT INTO revision_files (revision, path, hash) VALUES (?,?,?)`, r.ID, f.Path, names[i][:]); err != nil {
				return fmt.Errorf("keep %s of revision %s: %w", f.Path, r.ID, err)
			}
		}
	}
	if r.Signature != "" {
		if _, err := w.conn.ExecContext(ctx, `UPDATE revisions SET signature = ? WHERE id = ?`, r.Signature, r.ID); err != nil {
			return err
		}
	}
	if !r.Listed {
		return nil
	}
	_, err = w.conn.ExecContext(ctx, `UPDATE revisions SET parent = ?, note = ?, created = ?, listed = (SELECT coalesce(max(listed), 0) + 1 FROM revisions)
		WHERE id = ? AND listed IS NULL`, r.Parent, r.Note, r.Created.UTC().Format(time.RFC3339Nano), r.ID)
	return err
}

// SetHead implements revision.Source.
func (s *Store) SetHead(ctx context.Context, layer hookpoints.Layer, id string) error {
	return s.write(ctx, func(w *writer) error {
		res, err := w.conn.ExecContext(context.Background(), `INSERT INTO heads (layer, revision) SELECT layer, id FROM revisions WHERE id = ? AND layer = ? AND listed IS NOT NULL
			ON CONFLICT (layer) DO UPDATE SET revision = excluded.revision`, id, layer)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 1 {
			return err
		}
		return fmt.Errorf("%w: %s isn't published in the %s layer", revision.ErrNotFound, id, layer)
	})
}
