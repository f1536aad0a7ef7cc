// Package store keeps everything durable in one SQLite file: the journal of operations, large
// values, the state of hooks, revisions. It implements [operation.Journal] and [revision.Source].
//
// One process writes: [Open] takes a lock that the kernel lets go of when the process ends. Any
// number of others read at the same time, see [OpenReader]. In the writing process one connection
// writes, for one caller at a time; what is asked for meanwhile shares the next sync.
package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"agentd/operation"
	"agentd/revision"
)

// Options are those of a writer.
type Options struct {
	// Wait makes Open wait for the writer's lock until its context ends, instead of failing at once.
	Wait bool
	// Key is the database's: its texts are encrypted under it. A database that holds nothing yet takes
	// it; any other that doesn't have it fails with ErrKey. Nil is for a plain one.
	Key *Key
	// Clock stamps operations with the time of their last row; nil is the system's.
	Clock operation.Clock
	// At is called before and after whatever becomes durable ("commit", "committed", "migrate",
	// "migrated"); nil in the product. Tests die there.
	At func(place string)
}

// Store is a database that is open for writing.
type Store struct {
	*Reader
	lock   *os.File
	writer *writer
	turns  *turns
}

var (
	_ operation.Journal = (*Store)(nil)
	_ revision.Source   = (*Store)(nil)
)

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

// Open opens a database for writing, and makes and migrates it where needed. It fails with ErrInUse,
// ErrForeign, ErrNewer, ErrKey or ErrDamaged, and then has changed nothing in it.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	if o.Clock == nil {
		o.Clock = systemClock{}
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the state folder: %w", err)
	}
	held, err := lock(ctx, dir, o.Wait)
	if err != nil {
		return nil, err
	}
	s, err := open(ctx, path, o)
	if err != nil {
		return nil, errors.Join(err, held.Close())
	}
	s.lock = held
	return s, nil
}

func open(ctx context.Context, path string, o Options) (*Store, error) {
	if err := create(path); err != nil {
		return nil, err
	}
	p, err := newPacking()
	if err != nil {
		return nil, err
	}
	w, err := newWriter(ctx, path, p, o)
	if err != nil {
		p.close()
		return nil, err
	}
	r, err := openReader(ctx, path, p, o.Key)
	if err != nil {
		p.close()
		return nil, errors.Join(err, w.close())
	}
	w.tells = &r.folded
	return &Store{Reader: r, writer: w, turns: newTurns(w.together)}, nil
}

// Close writes what is queued, ends the writer and lets the lock go. What is asked for afterwards
// gets ErrClosed. Closing again does nothing.
func (s *Store) Close() error {
	if !s.turns.close() {
		return nil
	}
	// The writer's connection goes last: only it can write the log back into the file.
	return errors.Join(s.writer.finish(), s.Reader.Close(), s.writer.close(), s.lock.Close())
}

// write does something in a transaction. When it returns nil, that is durable; after an error
// nothing of it stays. A context that ends while it waits for its turn takes it out; one that ends
// later changes nothing, so that nobody is told less than what happened.
func (s *Store) write(ctx context.Context, do func(*writer) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.turns.take(&request{ctx: ctx, do: do})
}
