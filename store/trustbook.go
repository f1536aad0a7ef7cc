package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// Trust is what a person trusts of one project. Kind says what Hash is of: "files", the project's files as
// they lie there, every byte; or "revision", a revision's manifest.
type Trust struct {
	Project string    `json:"project"` // the folder, absolute
	Kind    string    `json:"kind"`
	Hash    string    `json:"hash"`
	Powers  []string  `json:"powers"` // what was approved with it, see revision.Config.Powers
	At      time.Time `json:"at"`
}

// The kinds of Trust.
const (
	TrustFiles    = "files"
	TrustRevision = "revision"
)

// TrustBook is a person's own file of what they trust. It isn't the database of a daemon: any process of
// theirs writes to it for a moment.
type TrustBook struct {
	path string
	db   *sql.DB
}

const trustSchema = `CREATE TABLE IF NOT EXISTS trust (
	project TEXT NOT NULL, kind TEXT NOT NULL, hash TEXT NOT NULL, powers TEXT NOT NULL, at TEXT NOT NULL, -- powers: a line each
	PRIMARY KEY (project, kind, hash)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS states (
	project TEXT NOT NULL, origin TEXT NOT NULL, brought INTEGER NOT NULL, -- see TrustBook.Know
	PRIMARY KEY (project, origin)) WITHOUT ROWID`

// OpenTrustBook opens the book, and makes it where there is none.
func OpenTrustBook(ctx context.Context, path string) (*TrustBook, error) {
	if err := create(path); err != nil {
		return nil, err
	}
	db, err := connect(path, "rw", 1)
	if err != nil {
		return nil, err
	}
	b := &TrustBook{path, db}
	if err := b.start(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return b, nil
}

func (b *TrustBook) start(ctx context.Context) error {
	if _, err := version(ctx, b.db, b.path); err != nil {
		return err
	}
	script := fmt.Sprintf("BEGIN IMMEDIATE; %s; PRAGMA application_id = %d; PRAGMA user_version = 1; COMMIT", trustSchema, applicationID)
	if _, err := b.db.ExecContext(ctx, script); err != nil {
		return explained(b.path, err)
	}
	return nil
}

// Close closes the book.
func (b *TrustBook) Close() error { return b.db.Close() }

// Add writes down what is trusted; the powers of what is there already are replaced.
func (b *TrustBook) Add(ctx context.Context, list ...Trust) error {
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return explained(b.path, err)
	}
	defer tx.Rollback()
	for _, t := range list {
		_, err := tx.ExecContext(ctx, `INSERT INTO trust (project, kind, hash, powers, at) VALUES (?,?,?,?,?) ON CONFLICT DO UPDATE SET powers = excluded.powers, at = excluded.at`,
			t.Project, t.Kind, t.Hash, strings.Join(t.Powers, "\n"), t.At.UTC().Format(time.RFC3339Nano))
		if err != nil {
			return explained(b.path, err)
		}
	}
	return explained(b.path, tx.Commit())
}

// Revoke forgets what is trusted of a project, all of it where hash is "", and says how much that was.
func (b *TrustBook) Revoke(ctx context.Context, project, hash string) (int64, error) {
	res, err := b.db.ExecContext(ctx, `DELETE FROM trust WHERE project = ? AND (? = '' OR hash = ?)`, project, hash, hash)
	if err != nil {
		return 0, explained(b.path, err)
	}
	return res.RowsAffected()
}

// Know writes down that a project's database is the person's own, by what it is known by, but for the
// operations up to a number: these came with it.
func (b *TrustBook) Know(ctx context.Context, project, origin string, brought int64) error {
	_, err := b.db.ExecContext(ctx, `INSERT INTO states (project, origin, brought) VALUES (?,?,?) ON CONFLICT DO UPDATE SET brought = excluded.brought`, project, origin, brought)
	return explained(b.path, err)
}

// KnownState tells what Know wrote down in a book; ok is false where nothing was.
func KnownState(ctx context.Context, path, project, origin string) (brought int64, ok bool, err error) {
	db, err := readBook(ctx, path)
	if db == nil || err != nil {
		return 0, false, err
	}
	defer db.Close()
	var there int
	err = db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema WHERE name = 'states'`).Scan(&there)
	if err != nil || there == 0 { // of before there were any
		return 0, false, explained(path, err)
	}
	err = db.QueryRowContext(ctx, `SELECT brought FROM states WHERE project = ? AND origin = ?`, project, origin).Scan(&brought)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return brought, err == nil, explained(path, err)
}

// readBook opens a book to read, nil where there is none.
func readBook(ctx context.Context, path string) (*sql.DB, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	db, err := connect(path, "rw", 1) // what a killed writer left behind can only be taken back by one who may write
	if err != nil {
		return nil, err
	}
	if n, err := version(ctx, db, path); err != nil || n == 0 {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// ReadTrust lists what is trusted of a project, of all where project is "", oldest first. Without a book
// nothing is.
func ReadTrust(ctx context.Context, path, project string) (list []Trust, err error) {
	db, err := readBook(ctx, path)
	if db == nil || err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, `SELECT project, kind, hash, powers, at FROM trust WHERE ? = '' OR project = ? ORDER BY at, hash`, project, project)
	if err != nil {
		return nil, explained(path, err)
	}
	defer rows.Close()
	for rows.Next() {
		var t Trust
		var powers, at string
		if err := rows.Scan(&t.Project, &t.Kind, &t.Hash, &powers, &at); err != nil {
			return nil, explained(path, err)
		}
		t.Powers = strings.FieldsFunc(powers, func(r rune) bool { return r == '\n' })
		if t.At, err = parseTime(at); err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, explained(path, rows.Err())
}
