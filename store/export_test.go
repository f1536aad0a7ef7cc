package store

import "context"

// IndexAfter is for tests that cross it.
const IndexAfter = indexAfter

// Exec executes a statement on the writer's connection while nobody writes, for tests that have to
// break something.
func (s *Store) Exec(ctx context.Context, text string) error {
	_, err := s.writer.conn.ExecContext(ctx, text)
	return err
}

// Hold keeps what is read from now on as it is, as a reader does that takes its time.
func (r *Reader) Hold(ctx context.Context) (release func(), err error) {
	tx, err := r.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	var n int
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM rows`).Scan(&n); err != nil {
		return nil, err
	}
	return func() { _ = tx.Rollback() }, nil
}

// Behind is how many rows the table of operations doesn't know.
func (r *Reader) Behind(ctx context.Context) (n int, err error) {
	err = r.view(ctx, func(v *snapshot) error {
		t, err := v.tail()
		n = t.rows
		return err
	})
	return n, err
}
