package store

import (
	"context"
	"fmt"
	"time"
)

// sweepEntry stands in meta as long as texts that were replaced may be left in the file.
const sweepEntry = "sweep"

// Unswept reports whether a change of the key was committed and what it replaced may still stand in
// the file or its log: Rekey does the rest.
func (r *Reader) Unswept(ctx context.Context) (left bool, err error) {
	err = r.view(ctx, func(v *snapshot) error {
		return v.tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM meta WHERE name = ?)`, sweepEntry).Scan(&left)
	})
	return left, err
}

// sweep rewrites the file if texts that were replaced may be left in it, and reports whether none are
// now. Nobody else may use the store meanwhile.
func (s *Store) sweep(ctx context.Context) (bool, error) {
	left, err := s.Unswept(ctx)
	if err != nil || !left {
		return err == nil, err
	}
	if done, err := s.vacuum(ctx); err != nil || !done {
		return false, err
	}
	return true, s.write(ctx, func(w *writer) error {
		_, err := w.conn.ExecContext(context.Background(), `DELETE FROM meta WHERE name = ?`, sweepEntry)
		return err
	})
}

// vacuum writes the file anew without what is free in it, and empties the log. It reports whether the
// log could be emptied: not while somebody reads. Nobody else may use the store meanwhile.
func (s *Store) vacuum(ctx context.Context) (bool, error) {
	if _, err := s.writer.conn.ExecContext(ctx, `VACUUM`); err != nil {
		return false, fmt.Errorf("write the file anew: %w", explained(s.path, err))
	}
	defer s.patience(ctx, busyTimeout)
	s.patience(ctx, readerTimeout)
	var busy, pages, moved int
	err := s.writer.conn.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &moved)
	return busy == 0, explained(s.path, err)
}

// readerTimeout is how long the log's end waits for those who read.
const readerTimeout = 2 * time.Second

func (s *Store) patience(ctx context.Context, d time.Duration) {
	_, _ = s.writer.conn.ExecContext(ctx, fmt.Sprintf(`PRAGMA busy_timeout = %d`, d.Milliseconds()))
}
