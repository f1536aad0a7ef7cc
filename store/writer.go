package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"agentd/operation"
)

// writer owns the connection that writes. It belongs to whoever has the turn.
type writer struct {
	packing
	path  string
	db    *sql.DB
	conn  *sql.Conn
	clock operation.Clock
	at    func(place string)
	known *known
	tells *atomic.Pointer[tail] // what readers begin with; nil: nobody reads here

	begin, commit, rollback       *sql.Stmt
	insertRow, oneBody            *sql.Stmt
	insertBlob, setCell, dropCell *sql.Stmt
	newCell, moveCell             *sql.Stmt // of the project
	cellVersion                   *sql.Stmt
	findOp, oneOp                 *sql.Stmt
	insertOp, replaceOp, updateOp *sql.Stmt
	setIndexed                    *sql.Stmt
	statements                    []*sql.Stmt // all of them

	// What is in mind of the database, true at the end of this transaction.
	ops    map[string]*tracked
	behind []*tracked // those that the table of operations is behind on, all of them in ops
	nextOp int64
	last   int64 // the last row
	upTo   int64 // the last row that the table of operations knows
	stale  bool  // nothing of it is right

	// Of this transaction.
	now     int64      // in microseconds
	fresh   int        // rows that the table of operations doesn't know, also of earlier transactions
	indexed bool       // it brought that table up to date
	blobs   []blobHash // that it wrote
}

func newWriter(ctx context.Context, path string, p packing, o Options) (*writer, error) {
	db, err := connect(path, "rw", 1)
	if err != nil {
		return nil, err
	}
	w := &writer{packing: p, path: path, db: db, clock: o.Clock, at: o.At, known: newKnown(), ops: map[string]*tracked{}}
	if w.at == nil {
		w.at = func(string) {}
	}
	if err := w.start(ctx, o.Key); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *writer) start(ctx context.Context, key *Key) (err error) {
	if w.conn, err = w.db.Conn(ctx); err != nil {
		return explained(w.path, err)
	}
	from, err := version(ctx, w.conn, w.path)
	if err != nil {
		return err
	}
	entry, err := w.unlock(ctx, key, from)
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
	if err := migrate(ctx, w.conn, w.path, from, entry, w.at); err != nil {
		return err
	}
	if err := w.prepare(ctx); err != nil {
		return err
	}
	return explained(w.path, w.recall(ctx))
}

// unlock finds the seal of the database before anything is written to it. One that holds nothing yet
// gets a fresh one, and the entry for it.
func (w *writer) unlock(ctx context.Context, key *Key, version int) (entry []byte, err error) {
	var s seal
	if version == 0 {
		s, entry, err = freshSeal(key)
	} else {
		s, err = openSeal(ctx, w.conn, w.path, key)
	}
	w.packing = w.under(s)
	return entry, err
}

func (w *writer) prepare(ctx context.Context) error {
	for _, p := range []struct {
		into **sql.Stmt
		text string
	}{
		{&w.begin, `BEGIN IMMEDIATE`},
		{&w.commit, `COMMIT`},
		{&w.rollback, `ROLLBACK`},
		{&w.insertRow, `INSERT INTO rows (op, stage, n, prev, id, at, packed, body) VALUES (?,?,?,?,?,?,?,?)`},
		{&w.oneBody, `SELECT packed, body FROM rows WHERE seq = ?`},
		{&w.findOp, `SELECT seq FROM operations WHERE id = ?`}, // a column of an answer costs more than finding it
		{&w.oneOp, `SELECT ` + opColumns + ` FROM operations WHERE seq = ?`},
		{&w.insertOp, `INSERT INTO operations (` + opColumns + `) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`},
		{&w.replaceOp, `UPDATE operations SET (` + opColumns + `) = (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) WHERE seq = ?`},
		{&w.updateOp, `UPDATE operations SET last = ?, updated = ?, state = ?, status = ?, attempts = ?, whole = ?, done = ? WHERE seq = ?`},
		{&w.setIndexed, `UPDATE meta SET value = (SELECT coalesce(max(seq), 0) FROM rows) WHERE name = 'indexed'`},
		{&w.insertBlob, `INSERT INTO blobs (hash, size, packed, text) VALUES (?,?,?,?) ON CONFLICT (hash) DO NOTHING`},
		{&w.setCell, `INSERT INTO cells (session, name, version, packed, value) VALUES (?,?,1,?,?)
			ON CONFLICT (session, name) DO UPDATE SET version = version + 1, packed = excluded.packed, value = excluded.value`},
		{&w.newCell, `INSERT INTO cells (session, name, version, packed, value) VALUES ('',?,1,?,?) ON CONFLICT (session, name) DO NOTHING`},
		{&w.moveCell, `UPDATE cells SET version = version + 1, packed = ?, value = ? WHERE session = '' AND name = ? AND version = ?`},
		{&w.cellVersion, `SELECT coalesce((SELECT version FROM cells WHERE session = '' AND name = ?), 0)`},
		{&w.dropCell, `DELETE FROM cells WHERE session = ? AND name = ?`},
	} {
		st, err := w.conn.PrepareContext(ctx, p.text)
		if err != nil {
			return fmt.Errorf("%w: %s hasn't the tables that it should have: %w", ErrDamaged, w.path, err)
		}
		*p.into = st
		w.statements = append(w.statements, st)
	}
	return nil
}

// together does a group in one transaction and sets their errors. If that fails each is done alone,
// so that a request fails for its own reasons only.
func (w *writer) together(group []*request) {
	live := make([]*request, 0, len(group))
	for _, r := range group {
		if r.err = r.ctx.Err(); r.err == nil {
			live = append(live, r)
		}
	}
	if len(live) == 0 {
		return
	}
	err := w.transaction(live)
	for i, r := range live {
		if r.err = err; err != nil && len(live) > 1 {
			r.err = w.transaction(live[i : i+1])
		}
	}
}

func (w *writer) transaction(group []*request) error {
	whole := false
	defer func() {
		if whole {
			return
		}
		// SQLite may have rolled back already, and then refuses. Where the database can't be read
		// now, the next transaction tries again.
		_, _ = w.do(w.rollback)
		_ = w.recall(context.Background())
	}()
	if err := w.try(group); err != nil {
		return explained(w.path, err)
	}
	whole = true
	w.known.add(w.blobs)
	w.blobs = w.blobs[:0]
	if w.indexed {
		w.behind, w.fresh, w.indexed, w.upTo = w.behind[:0], 0, false, w.last
		if len(w.ops) > trackedLimit {
			clear(w.ops)
		}
	}
	w.tell()
	return nil
}

// tell hands readers what the table of operations doesn't know, so that they needn't fold it.
func (w *writer) tell() {
	if w.tells == nil || w.stale {
		return
	}
	t := &tail{indexed: w.upTo, upTo: w.last, rows: w.fresh, ops: make([]*tracked, len(w.behind))}
	for i, op := range w.behind {
		t.ops[i] = op.show()
	}
	w.tells.Store(t)
}

func (w *writer) try(group []*request) error {
	w.indexed, w.now = false, w.clock.Now().UnixMicro()
	if w.stale {
		if err := w.recall(context.Background()); err != nil {
			return err
		}
	}
	if _, err := w.do(w.begin); err != nil {
		return err
	}
	for _, r := range group {
		if err := r.do(w); err != nil {
			return err
		}
	}
	if w.fresh >= indexAfter {
		if err := w.index(); err != nil {
			return err
		}
	}
	w.at("commit")
	if _, err := w.do(w.commit); err != nil {
		return err
	}
	w.at("committed")
	return nil
}

// do executes a statement that nothing interrupts.
func (w *writer) do(st *sql.Stmt, args ...any) (sql.Result, error) {
	return st.ExecContext(context.Background(), args...)
}

// finish leaves the table of operations up to date.
func (w *writer) finish() error {
	if len(w.behind) == 0 {
		return nil
	}
	return w.transaction([]*request{{do: (*writer).index}})
}

// close ends the connection; the last one of a database writes the log back into the file. SQLite
// keeps a connection open behind one's back as long as it has statements.
func (w *writer) close() error {
	for _, st := range w.statements {
		_ = st.Close()
	}
	if w.conn != nil {
		_ = w.conn.Close() // gives it back to the pool, which closes it
	}
	return w.db.Close()
}

func parseTime(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return t, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return t, nil
}
