package store

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
)

// Reader answers what is asked of a database. It never writes and needs no lock; it sees what was
// committed when a call began.
type Reader struct {
	packing
	path string
	db   *sql.DB

	mu     sync.RWMutex // held by those who read, so that Close waits for them
	closed bool
	folded atomic.Pointer[tail] // the last that somebody needed, or that the writer told
}

// OpenReader opens a database for reading only, whether or not somebody writes to it. The key is nil
// for a plain one. It fails with ErrNoDatabase, ErrForeign, ErrNewer, ErrOlder, ErrKey or ErrDamaged.
func OpenReader(ctx context.Context, path string, key *Key) (*Reader, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, noDatabase(path)
	}
	p, err := newPacking()
	if err != nil {
		return nil, err
	}
	r, err := openReader(ctx, path, p, key)
	if err != nil {
		p.close()
		return nil, err
	}
	return r, nil
}

func noDatabase(path string) error {
	return fmt.Errorf("%w: %s appears with the first run", ErrNoDatabase, path)
}

// openReader keeps p if it succeeds.
func openReader(ctx context.Context, path string, p packing, key *Key) (*Reader, error) {
	db, err := connect(path, "ro", readers)
	if err != nil {
		return nil, err
	}
	got, err := version(ctx, db, path)
	if errors.Is(err, ErrReadOnly) {
		if err = takeBack(ctx, path); err == nil {
			got, err = version(ctx, db, path)
		}
	}
	switch {
	case err != nil:
	case got == 0:
		err = noDatabase(path)
	case got < len(migrations()):
		err = fmt.Errorf("%w: %s has version %d and this agentd reads %d; start agentd serve once to bring it up to date", ErrOlder, path, got, len(migrations()))
	}
	var s seal
	if err == nil {
		s, err = openSeal(ctx, db, path, key)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &Reader{packing: p.under(s), path: path, db: db}, nil
}

// takeBack takes back what a writer left unfinished that was killed while it made the database: SQLite lets
// only those read then who may write.
func takeBack(ctx context.Context, path string) error {
	db, err := connect(path, "rw", 1)
	if err != nil {
		return err
	}
	_, err = version(ctx, db, path)
	return errors.Join(err, db.Close())
}

// Close ends the reader when those who read are done. What is asked afterwards gets ErrClosed.
func (r *Reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	err := r.db.Close()
	r.packing.close()
	return err
}

// glance is view for what is found at once: nothing interrupts it, as to be ready for that takes longer.
func (r *Reader) glance(ctx context.Context, f func(*snapshot) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return r.view(context.WithoutCancel(ctx), f)
}

// view runs f on one state of the database.
func (r *Reader) view(ctx context.Context, f func(*snapshot) error) (err error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.closed {
		return ErrClosed
	}
	was := r.folded.Load() // before the state is chosen: what is newer would be of no use for it
	conn, err := r.db.Conn(ctx)
	if err != nil {
		return explained(r.path, err)
	}
	defer conn.Close()
	// Not a sql.Tx, each of which has a goroutine that waits for its context. It is over however f ends: who gets the
	// connection next must begin anew.
	defer func() {
		if _, ending := conn.ExecContext(context.WithoutCancel(ctx), `ROLLBACK`); ending != nil {
			err = cmp.Or(err, ending)
			_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // nobody gets it again
		}
		err = explained(r.path, err)
	}()
	if _, err := conn.ExecContext(context.WithoutCancel(ctx), `BEGIN`); err != nil {
		return err
	}
	return f(&snapshot{Reader: r, ctx: ctx, tx: conn, was: was, texts: map[blobHash][]byte{}})
}

// snapshot is one state of the database. A blob is read once from it.
type snapshot struct {
	*Reader
	ctx   context.Context
	tx    querier
	texts map[blobHash][]byte
	size  int   // of texts
	was   *tail // somebody's, of before
	late  *tail // this one's
}

// tail is what the table of operations doesn't know. Readers hand on what they have folded.
func (v *snapshot) tail() (t *tail, err error) {
	if v.late == nil {
		if t, err = v.was.more(v.ctx, v.tx, v.packing); err != nil {
			return nil, err
		}
		if v.late = t; t != v.was {
			v.folded.CompareAndSwap(v.was, t)
		}
	}
	return v.late, nil
}

// all calls f for every row of a query.
func (v *snapshot) all(f func(scanner) error, query string, args ...any) error {
	return each(v.ctx, v.tx, f, query, args...)
}

// fetch implements operation.Fetch.
func (v *snapshot) fetch(hash string) ([]byte, error) {
	h, err := parseHash(hash)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if text, ok := v.texts[h]; ok {
		return text, nil
	}
	var form int
	var body []byte
	name := v.seal.name(h)
	err = v.tx.QueryRowContext(v.ctx, `SELECT packed, text FROM blobs WHERE hash = ?`, name[:]).Scan(&form, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("%w: the large value %s is missing", ErrDamaged, hash)
	}
	if err != nil {
		return nil, err
	}
	text, err := v.unpack(originOfBlob(name), body, form)
	if err != nil {
		return nil, err
	}
	v.texts[h], v.size = text, v.size+len(text)
	return text, nil
}
