package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// originEntry stands in meta: what the database is known by to the person whose agentd wrote it.
const originEntry = "origin"

// Origin is what a database is known by, "" if it never got a name, and the number of the newest
// operation in it, 0 if there is none.
func (r *Reader) Origin(ctx context.Context) (name string, newest int64, err error) {
	err = r.view(ctx, func(v *snapshot) error {
		err := v.tx.QueryRowContext(ctx, `SELECT value FROM meta WHERE name = ?`, originEntry).Scan(&name)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		return v.tx.QueryRowContext(ctx, `SELECT max((SELECT coalesce(max(op), 0) FROM rows), (SELECT coalesce(max(seq), 0) FROM operations))`).Scan(&newest)
	})
	return name, newest, err
}

// SetOrigin names the database.
func (s *Store) SetOrigin(ctx context.Context, name string) error {
	return s.write(ctx, func(w *writer) error {
		_, err := w.conn.ExecContext(context.Background(), `INSERT OR REPLACE INTO meta VALUES (?, ?)`, originEntry, name)
		return err
	})
}

// SessionsUpTo are the sessions that have an operation up to a number.
func (r *Reader) SessionsUpTo(ctx context.Context, number int64) (map[string]bool, error) {
	out := map[string]bool{}
	err := r.view(ctx, func(v *snapshot) error {
		ops, err := v.list(Filter{})
		for _, op := range ops {
			if op.seq <= number {
				out[op.sum.Head.SessionID] = true
			}
		}
		return err
	})
	return out, err
}

// Inert fails with ErrForeign if the database does something by itself when it is written to. Agentd makes no
// triggers, and a file that came from anywhere may have some.
func (r *Reader) Inert(ctx context.Context) error {
	var acting int
	err := r.view(ctx, func(v *snapshot) error {
		return v.tx.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema WHERE type NOT IN ('table', 'index') OR sql LIKE 'CREATE VIRTUAL%'`).Scan(&acting)
	})
	if err == nil && acting > 0 {
		return fmt.Errorf("%w: %s holds triggers or views, and agentd makes none; move it away or choose another state folder", ErrForeign, r.path)
	}
	return err
}
