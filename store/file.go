package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"
)

// applicationID marks a database as agentd's: "agtd".
const applicationID = 0x61677464

// busyTimeout covers the moments at which a closing reader or writer holds the file for itself.
const busyTimeout = 10 * time.Second

// readers is how many queries may run at once.
const readers = 4

// remembered is how many statements a connection keeps ready: reading one takes longer than most answers.
const remembered = 32

// connect opens a pool of connections. mode is SQLite's: ro, rw.
func connect(path, mode string, size int) (*sql.DB, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	options := fmt.Sprintf("?mode=%s&_busy_timeout=%d&_foreign_keys=1&_stmt_cache_size=%d", mode, busyTimeout.Milliseconds(), remembered)
	if mode == "ro" {
		options += "&_query_only=1"
	} else {
		options += "&_synchronous=FULL"
	}
	db, err := sql.Open("sqlite3", "file:"+escapeURI.Replace(filepath.ToSlash(full))+options)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db, nil
}

// escapeURI escapes what has a meaning in SQLite's file: URIs.
var escapeURI = strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23")

// create makes an empty file for this user only, before SQLite would make one for everybody; its
// companions take the permissions after it.
func create(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the state folder: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("make the database: %w; make the folder writable for this user", err)
	}
	return f.Close()
}

// version tells whose database it is and how far it is migrated, 0 if it is empty.
func version(ctx context.Context, q querier, path string) (int, error) {
	var app, got, things int
	row := q.QueryRowContext(ctx, `SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)`)
	if err := row.Scan(&app, &got, &things); err != nil {
		return 0, explained(path, err)
	}
	switch {
	case app == 0 && got == 0 && things == 0:
		return 0, nil
	case app != applicationID:
		return 0, fmt.Errorf("%w: %s isn't agentd's; move it away or choose another state folder", ErrForeign, path)
	case got > len(migrations()):
		return 0, fmt.Errorf("%w: %s has version %d and this agentd knows %d; install the newer agentd again", ErrNewer, path, got, len(migrations()))
	}
	return got, nil
}
