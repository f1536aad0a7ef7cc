package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agentd/operation"
)

// GCOptions say what is collected.
type GCOptions struct {
	Before time.Time // what changed since stays
	DryRun bool      // count, and remove nothing
	Key    *Key      // this, Clock and At as in Options
	Clock  operation.Clock
	At     func(place string)
}

// Collected is what GC removed, or would remove.
type Collected struct {
	Sessions   int `json:"sessions"`
	Runs       int `json:"runs"`
	Operations int `json:"operations"`
	Rows       int `json:"rows"`
	Blobs      int `json:"blobs"`     // large values that nothing refers to any more
	Revisions  int `json:"revisions"` // never published, and needed by no operation
	Open       int `json:"open"`      // sessions that are old enough, and stay for what is open or unknown in them
	// Pages says how many bytes the database had before and has after.
	Before int64 `json:"bytes_before"`
	After  int64 `json:"bytes_after"`
}

// GC removes sessions that are over with all that is known of them, large values that nothing refers
// to, and unlisted revisions that no operation is pinned to; then it gives the space back. A session
// stays as a whole: a later run of it is told what was said in the earlier ones. What is open, waits or
// is unknown stays with its session, however old. Heads and published revisions stay. All of it is one
// transaction: whoever is killed has removed everything or nothing. It fails as Open does.
func GC(ctx context.Context, path string, o GCOptions) (Collected, error) {
	s, err := Open(ctx, path, Options{Key: o.Key, Clock: o.Clock, At: o.At})
	if err != nil {
		return Collected{}, err
	}
	var c Collected
	if err = s.sound(ctx); err == nil {
		c, err = s.collect(ctx, o)
	}
	return c, errors.Join(err, s.Close())
}

var errDryRun = errors.New("nothing is removed")

func (s *Store) collect(ctx context.Context, o GCOptions) (c Collected, err error) {
	if c.Before, err = s.size(ctx); err != nil {
		return c, err
	}
	err = s.write(ctx, func(w *writer) error {
		// What the writer has in mind may be gone afterwards.
		defer func() { w.stale, w.behind, w.fresh = true, nil, 0 }()
		g := &collecting{writer: w, ctx: ctx, before: o.Before, out: &c}
		if err := g.all(); err != nil {
			return err
		}
		if o.DryRun {
			return errDryRun
		}
		return nil
	})
	if o.DryRun && errors.Is(err, errDryRun) {
		c.After = c.Before
		return c, nil
	}
	if err != nil {
		return Collected{Before: c.Before, After: c.Before}, err
	}
	if _, err := s.vacuum(ctx); err != nil {
		c.After = c.Before
		return c, fmt.Errorf("it is removed, but its space isn't given back: %w", err)
	}
	c.After, err = s.size(ctx)
	return c, err
}

// size is the bytes of the database, with what is still in its log.
func (s *Store) size(ctx context.Context) (n int64, err error) {
	err = s.writer.conn.QueryRowContext(ctx, `SELECT page_count * page_size FROM pragma_page_count, pragma_page_size`).Scan(&n)
	return n, explained(s.path, err)
}

// collecting is one transaction that removes.
type collecting struct {
	*writer
	ctx    context.Context
	before time.Time
	out    *Collected
}

func (g *collecting) all() error {
	if err := g.index(); err != nil { // now the table of operations is the whole truth
		return err
	}
	if err := g.exec(`CREATE TEMP TABLE IF NOT EXISTS doomed (seq INTEGER PRIMARY KEY); DELETE FROM temp.doomed`); err != nil {
		return err
	}
	groups, err := g.groups()
	if err != nil {
		return err
	}
	for _, do := range []func() error{func() error { return g.doom(groups) }, g.operations, g.revisions, g.blobs} {
		if err := do(); err != nil {
			return err
		}
	}
	// The numbers of rows that are gone will be given again, so the table of operations must not
	// claim to know them.
	_, err = g.do(g.setIndexed)
	return err
}

func (g *collecting) exec(query string, args ...any) error {
	_, err := g.conn.ExecContext(g.ctx, query, args...)
	return err
}

// doom chooses what goes.
func (g *collecting) doom(groups []*group) error {
	for _, x := range groups {
		switch {
		case len(x.ops) == 0 || x.last >= g.before.UnixMicro():
			continue
		case x.unfinished:
			g.out.Open += max(1, len(x.sessions))
			continue
		}
		g.out.Sessions, g.out.Runs, g.out.Operations = g.out.Sessions+len(x.sessions), g.out.Runs+x.runs, g.out.Operations+len(x.ops)
		for _, seq := range x.ops {
			if err := g.exec(`INSERT INTO temp.doomed VALUES (?)`, seq); err != nil {
				return err
			}
		}
		for s := range x.sessions {
			if err := g.exec(`DELETE FROM cells WHERE session = ?`, s); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *collecting) operations() (err error) {
	if g.out.Rows, err = g.remove(`DELETE FROM rows WHERE op IN (SELECT seq FROM temp.doomed)`); err != nil {
		return err
	}
	_, err = g.remove(`DELETE FROM operations WHERE seq IN (SELECT seq FROM temp.doomed)`)
	return err
}

// remove reports how many rows a statement deleted.
func (g *collecting) remove(query string, args ...any) (int, error) {
	res, err := g.conn.ExecContext(g.ctx, query, args...)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return int(n), err
}

// unneeded is the revisions that go: never published, old, and pinned by no operation that stays.
const unneeded = `SELECT id FROM revisions WHERE listed IS NULL AND julianday(created) < julianday(?) AND id NOT IN (SELECT revision FROM heads)
	AND id NOT IN (SELECT shipped FROM operations UNION SELECT user FROM operations UNION SELECT project FROM operations)`

func (g *collecting) revisions() (err error) {
	before := g.before.UTC().Format(time.RFC3339Nano)
	if _, err = g.remove(`DELETE FROM revision_files WHERE revision IN (`+unneeded+`)`, before); err != nil {
		return err
	}
	g.out.Revisions, err = g.remove(`DELETE FROM revisions WHERE id IN (`+unneeded+`)`, before)
	return err
}

// blobs removes the large values whose hash stands nowhere any more: not in a row, not in a large value
// that stays, not in a revision. Looking for hashes as text instead of reading what refers to them may
// keep one too many, and can't lose one to a kind of row that somebody forgets here.
func (g *collecting) blobs() error {
	m := &marking{collecting: g, needed: map[blobHash]bool{}}
	err := each(g.ctx, g.conn, func(row scanner) error {
		var name []byte
		err := row.Scan(&name)
		if err == nil && len(name) == len(blobHash{}) {
			m.needed[blobHash(name)] = false
		}
		return err
	}, `SELECT hash FROM blobs`)
	if err != nil {
		return err
	}
	if err := m.mark(); err != nil {
		return err
	}
	for name, needed := range m.needed {
		if needed {
			continue
		}
		n, err := g.remove(`DELETE FROM blobs WHERE hash = ?`, name[:])
		if err != nil {
			return err
		}
		g.out.Blobs += n
	}
	return nil
}
