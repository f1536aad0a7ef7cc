package store

import (
	"errors"
	"fmt"

	"github.com/mattn/go-sqlite3"
)

// What callers branch on. The messages that come with them name the path and say what to do.
var (
	// ErrInUse: another process holds the writer's lock.
	ErrInUse = errors.New("the state is in use by another agentd")
	// ErrNoDatabase: nothing was ever written there.
	ErrNoDatabase = errors.New("there is no database yet")
	// ErrForeign: the file belongs to another program.
	ErrForeign = errors.New("the database belongs to another program")
	// ErrNewer: a newer agentd wrote it.
	ErrNewer = errors.New("the database was written by a newer agentd")
	// ErrOlder: it has to be migrated by a writer before it can be read.
	ErrOlder = errors.New("the database was written by an older agentd")
	// ErrDamaged: it can't be read, or isn't what was written.
	ErrDamaged = errors.New("the database is damaged")
	// ErrKey: it is encrypted and the key is missing, wrong or none, or it is plain and a key was given.
	ErrKey = errors.New("the database needs its key")
	// ErrFull: its disk has no space left.
	ErrFull = errors.New("the disk is full")
	// ErrReadOnly: this user may not write it.
	ErrReadOnly = errors.New("the database can't be written")
	// ErrDisk: the disk or its file system failed.
	ErrDisk = errors.New("the disk refused it")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("the store is closed")
	// ErrNoOperation: there is no operation of that id.
	ErrNoOperation = errors.New("no such operation")
)

// explained adds what to do to an error of SQLite that a person can do something about.
func explained(path string, err error) error {
	var lite sqlite3.Error
	if !errors.As(err, &lite) {
		return err
	}
	switch lite.Code {
	case sqlite3.ErrNotADB, sqlite3.ErrCorrupt:
		return fmt.Errorf("%w: %s: %w; move the file away or put a copy back", ErrDamaged, path, err)
	case sqlite3.ErrFull:
		return fmt.Errorf("write %s: %w: %w; free some space on its disk", path, ErrFull, err)
	case sqlite3.ErrReadonly, sqlite3.ErrPerm, sqlite3.ErrCantOpen:
		return fmt.Errorf("open %s: %w: %w; make the file and its folder writable for this user", path, ErrReadOnly, err)
	case sqlite3.ErrIoErr:
		return fmt.Errorf("use %s: %w: %w; look at the disk and at the system's log", path, ErrDisk, err)
	case sqlite3.ErrBusy, sqlite3.ErrLocked:
		return fmt.Errorf("write %s: %w; end the other program that has the file open", path, err)
	}
	return fmt.Errorf("%s: %w", path, err)
}
