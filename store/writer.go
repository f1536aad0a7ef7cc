package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"agentd/operation"
)

const (
	// queueLength is how many requests wait before those who ask have to.
	queueLength = 256
	// groupLimit bounds what shares a transaction, so that none waits for a long one.
	groupLimit = 256
)

// request is one thing to do in a transaction, alone or with others.
type request struct {
	ctx  context.Context
	do   func(*writer) error
	done chan error
}

// writer owns the connection that writes. It belongs to one goroutine.
type writer struct {
	packing
	path  string
	db    *sql.DB
	conn  *sql.Conn
	clock operation.Clock
	known *known

	begin, commit, rollback                  *sql.Stmt
	insertOp, updateHead, updateState, oneOp *sql.Stmt
	insertRow, oneRow, insertBlob, setCell   *sql.Stmt
	dropCell                                 *sql.Stmt

	ops   map[string]*tracked // operations as they are after this transaction
	fresh []blobHash          // blobs that this transaction wrote
	now   string
}

func newWriter(ctx context.Context, path string, p packing, clock operation.Clock) (*writer, error) {
	db, err := connect(path, "rw", 1)
	if err != nil {
		return nil, err
	}
	w := &writer{packing: p, path: path, db: db, clock: clock, known: newKnown(), ops: map[string]*tracked{}}
	if err := w.start(ctx); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *writer) start(ctx context.Context) (err error) {
	if w.conn, err = w.db.Conn(ctx); err != nil {
		return explained(w.path, err)
	}
	from, err := version(ctx, w.conn, w.path)
	if err != nil {
		return err
	}
	var mode string
	if err := w.conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
		return explained(w.path, err)
	}
	if mode != "wal" {
		return fmt.Errorf("open %s: its file system has no shared memory for a write-ahead log; choose a state folder on a local disk", w.path)
	}
	// On macOS only this reaches the disk; elsewhere it changes nothing.
	if _, err := w.conn.ExecContext(ctx, "PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON"); err != nil {
		return explained(w.path, err)
	}
	if err := migrate(ctx, w.conn, w.path, from); err != nil {
		return err
	}
	return w.prepare(ctx)
}

func (w *writer) prepare(ctx context.Context) error {
	for _, p := range []struct {
		into **sql.Stmt
		text string
	}{
		{&w.begin, `BEGIN IMMEDIATE`},
		{&w.commit, `COMMIT`},
		{&w.rollback, `ROLLBACK`},
		{&w.insertOp, `INSERT INTO operations (` + opColumns + `) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (id) DO NOTHING`},
		{&w.updateHead, `UPDATE operations SET (` + opColumns + `) = (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) WHERE seq = ?`},
		{&w.updateState, `UPDATE operations SET state = ?, status = ?, attempts = ?, updated = ?, whole = ?, done = ? WHERE seq = ?`},
		{&w.oneOp, `SELECT seq, ` + opColumns + ` FROM operations WHERE id = ?`},
		{&w.insertRow, `INSERT INTO rows (op, stage, n, packed, body) VALUES (?,?,?,?,?) ON CONFLICT (op, stage, n) DO NOTHING`},
		{&w.oneRow, `SELECT packed, body FROM rows WHERE op = ? AND stage = ? AND n = ?`},
		{&w.insertBlob, `INSERT INTO blobs (hash, size, packed, text) VALUES (?,?,?,?) ON CONFLICT (hash) DO NOTHING`},
		{&w.setCell, `INSERT INTO cells (session, name, version, packed, value) VALUES (?,?,1,?,?)
			ON CONFLICT (session, name) DO UPDATE SET version = version + 1, packed = excluded.packed, value = excluded.value`},
		{&w.dropCell, `DELETE FROM cells WHERE session = ? AND name = ?`},
	} {
		st, err := w.conn.PrepareContext(ctx, p.text)
		if err != nil {
			return fmt.Errorf("%w: %s hasn't the tables that it should have: %w", ErrDamaged, w.path, err)
		}
		*p.into = st
	}
	return nil
}

// loop does what is asked until the queue is closed. Whatever has queued up while it synced goes
// into one transaction.
func (w *writer) loop(queue <-chan *request) {
	group := make([]*request, 0, groupLimit)
	for first := range queue {
		group = append(group[:0], first)
	gather:
		for len(group) < groupLimit {
			select {
			case r, ok := <-queue:
				if !ok {
					break gather
				}
				group = append(group, r)
			default:
				break gather
			}
		}
		w.together(group)
		clear(group)
	}
}

// together does a group in one transaction. If that fails each is done alone, so that a request
// fails for its own reasons only.
func (w *writer) together(group []*request) {
	live := group[:0]
	for _, r := range group {
		if err := r.ctx.Err(); err != nil {
			r.done <- err
			continue
		}
		live = append(live, r)
	}
	if len(live) == 0 {
		return
	}
	err := w.transaction(live)
	if err != nil && len(live) > 1 {
		for _, r := range live {
			r.done <- w.transaction([]*request{r})
		}
		return
	}
	for _, r := range live {
		r.done <- err
	}
}

func (w *writer) transaction(group []*request) error {
	w.now = stamp(w.clock.Now())
	if err := w.do(w.begin); err != nil {
		// A transaction that could be neither committed nor rolled back may still be open.
		w.undo()
		if err := w.do(w.begin); err != nil {
			return explained(w.path, err)
		}
	}
	for _, r := range group {
		if err := r.do(w); err != nil {
			w.undo()
			return explained(w.path, err)
		}
	}
	if err := w.do(w.commit); err != nil {
		w.undo()
		return explained(w.path, err)
	}
	w.known.add(w.fresh)
	w.fresh = w.fresh[:0]
	if len(w.ops) > trackedLimit {
		clear(w.ops)
	}
	return nil
}

// undo rolls back, and forgets what was only true in the transaction. SQLite may have rolled back
// already, so an error means nothing.
func (w *writer) undo() {
	_ = w.do(w.rollback)
	clear(w.ops)
	w.fresh = w.fresh[:0]
}

// do executes a statement that nothing interrupts.
func (w *writer) do(st *sql.Stmt, args ...any) error {
	_, err := st.ExecContext(context.Background(), args...)
	return err
}

// changed is do, and the number of table rows that it changed.
func (w *writer) changed(st *sql.Stmt, args ...any) (int64, error) {
	res, err := st.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// close ends the connection; the last one of a database writes the log back into the file.
func (w *writer) close() error {
	if w.conn != nil {
		_ = w.conn.Close() // gives it back to the pool, which closes it
	}
	return w.db.Close()
}

// timeForm is RFC 3339 in UTC at a fixed width, so that the order of texts is that of times.
const timeForm = "2006-01-02T15:04:05.000000000Z"

func stamp(t time.Time) string { return t.UTC().Format(timeForm) }

func unstamp(s string) (time.Time, error) {
	t, err := time.Parse(timeForm, s)
	if err != nil {
		return t, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return t, nil
}
