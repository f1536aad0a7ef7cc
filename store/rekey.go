package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"agentd/operation"
)

// RekeyOptions say from which key to which. A nil key is none.
type RekeyOptions struct {
	From, To *Key
	Progress func(done, total int) // called now and then; may be nil
	Clock    operation.Clock       // this and At as in Options
	At       func(place string)
}

// Rekeyed is what Rekey did.
type Rekeyed struct {
	Texts int  // how many were encrypted again, or for the first time, or not any more
	Swept bool // nothing of the old texts is left in the file and its log
}

// Rekey encrypts all texts of a database under another key, in one transaction: until that is
// committed the old key opens it, afterwards only the new one, and whoever is killed in between can
// begin again. Then the file is rewritten, as what was replaced may still stand in free pages; if that
// is interrupted, Rekey with the same options does the rest. It fails as Open does.
func Rekey(ctx context.Context, path string, o RekeyOptions) (Rekeyed, error) {
	s, err := Open(ctx, path, Options{Key: o.To, Clock: o.Clock, At: o.At})
	done := err == nil
	if errors.Is(err, ErrKey) && (o.From != nil || o.To != nil) {
		unfit := err
		if s, err = Open(ctx, path, Options{Key: o.From, Clock: o.Clock, At: o.At}); errors.Is(err, ErrKey) && o.From == nil {
			err = unfit
		}
	}
	if err != nil {
		return Rekeyed{}, err
	}
	var r Rekeyed
	if !done {
		if err = s.sound(ctx); err == nil {
			r.Texts, err = s.rekey(ctx, o)
		}
	}
	if err == nil {
		if r.Swept, err = s.sweep(ctx); err != nil {
			err = fmt.Errorf("the key is changed, but what was there before may be left in the file until agentd store rekey has run again: %w", err)
		}
	}
	return r, errors.Join(err, s.Close())
}

func (s *Store) rekey(ctx context.Context, o RekeyOptions) (texts int, err error) {
	fresh, entry, err := freshSeal(o.To)
	if err != nil {
		return 0, err
	}
	err = s.write(ctx, func(w *writer) error {
		r := &rekeying{writer: w, ctx: ctx, to: w.under(fresh), progress: o.Progress, names: map[string]blobHash{}}
		err := r.all(entry)
		texts = r.done
		return err
	})
	if err != nil {
		return 0, err
	}
	return texts, nil
}

// rekeying is one transaction that seals everything again.
type rekeying struct {
	*writer
	ctx         context.Context
	to          packing
	progress    func(done, total int)
	done, total int
	files       []revisionFile
	names       map[string]blobHash // of the large values that these are, by their names before
}

func (r *rekeying) all(entry []byte) error {
	// Rows are told by their operation's id, which only the table of operations has.
	if err := r.index(); err != nil {
		return err
	}
	if err := r.conn.QueryRowContext(r.ctx, `SELECT (SELECT count(*) FROM rows) + (SELECT count(*) FROM blobs) + (SELECT count(*) FROM cells) + (SELECT count(*) FROM revisions)`).Scan(&r.total); err != nil {
		return err
	}
	if err := r.exec(`PRAGMA defer_foreign_keys = ON`); err != nil { // blobs change before who refers to them
		return err
	}
	if err := r.readFiles(); err != nil {
		return err
	}
	for _, t := range []func() error{r.rows, r.blobs, r.cells, r.revisions, r.renameFiles} {
		if err := t(); err != nil {
			return err
		}
	}
	if r.done != r.total {
		return fmt.Errorf("%w: of %d texts %d could be told; see agentd store check", ErrDamaged, r.total, r.done)
	}
	if err := r.exec(`DELETE FROM meta WHERE name = ?`, keyEntry); err != nil {
		return err
	}
	if entry != nil {
		if err := r.exec(`INSERT INTO meta VALUES (?, ?)`, keyEntry, entry); err != nil {
			return err
		}
	}
	return r.exec(`INSERT OR REPLACE INTO meta VALUES (?, 1)`, sweepEntry)
}

func (r *rekeying) exec(query string, args ...any) error {
	_, err := r.conn.ExecContext(r.ctx, query, args...)
	return err
}

// resealed is a text to be sealed again.
type resealed struct {
	key  []any // where it stands
	o    origin
	form int
	body []byte
}

// batchBytes bounds the texts that are in memory at once.
const batchBytes = 8 << 20

var errFull = errors.New("the batch is full")

// walk calls do for all texts that a query finds after a key, in the key's order, batch by batch: what
// do changes lies behind it.
func (r *rekeying) walk(after []any, query string, scan func(scanner) (resealed, error), do func(resealed) error) error {
	for {
		var batch []resealed
		size := 0
		err := each(r.ctx, r.conn, func(row scanner) error {
			t, err := scan(row)
			if err != nil {
				return err
			}
			batch, size = append(batch, t), size+len(t.body)
			if size > batchBytes {
				return errFull
			}
			return nil
		}, query, after...)
		if err != nil && !errors.Is(err, errFull) {
			return err
		}
		for _, t := range batch {
			if err := do(t); err != nil {
				return err
			}
			if r.done++; r.progress != nil && (r.done%1000 == 0 || r.done == r.total) {
				r.progress(r.done, r.total)
			}
			after = t.key
		}
		if err == nil {
			return nil
		}
	}
}

// again seals a text again.
func (r *rekeying) again(t resealed) ([]byte, int, error) {
	plain, err := r.unpack(t.o, t.body, t.form)
	if err != nil {
		return nil, 0, err
	}
	body, form := r.to.pack(t.o, plain)
	return body, form, nil
}

// update is a do of walk: the statement takes form, body and key.
func (r *rekeying) update(statement string) func(resealed) error {
	return func(t resealed) error {
		body, form, err := r.again(t)
		if err != nil {
			return err
		}
		return r.exec(statement, append([]any{form, body}, t.key...)...)
	}
}

func (r *rekeying) rows() error {
	return r.walk([]any{0}, `SELECT r.seq, o.id, r.stage, r.n, r.packed, r.body FROM rows r JOIN operations o ON o.seq = r.op WHERE r.seq > ? ORDER BY r.seq`, func(row scanner) (t resealed, err error) {
		var seq int64
		var k operation.Key
		err = row.Scan(&seq, &k.Op, &k.Stage, &k.N, &t.form, &t.body)
		t.key, t.o = []any{seq}, originOfRow(k)
		return t, err
	}, r.update(`UPDATE rows SET packed = ?, body = ? WHERE seq = ?`))
}

func (r *rekeying) cells() error {
	return r.walk([]any{"", ""}, `SELECT session, name, packed, value FROM cells WHERE (session, name) > (?, ?) ORDER BY session, name`, func(row scanner) (t resealed, err error) {
		var session, name string
		err = row.Scan(&session, &name, &t.form, &t.body)
		t.key, t.o = []any{session, name}, originOfCell(session, name)
		return t, err
	}, r.update(`UPDATE cells SET packed = ?, value = ? WHERE session = ? AND name = ?`))
}

func (r *rekeying) revisions() error {
	return r.walk([]any{""}, `SELECT id, packed, manifest FROM revisions WHERE id > ? ORDER BY id`, func(row scanner) (t resealed, err error) {
		var id string
		err = row.Scan(&id, &t.form, &t.body)
		t.key, t.o = []any{id}, originOfRevision(id)
		return t, err
	}, r.update(`UPDATE revisions SET packed = ?, manifest = ? WHERE id = ?`))
}

func (r *rekeying) blobs() error {
	return r.walk([]any{0}, `SELECT rowid, hash, packed, text FROM blobs WHERE rowid > ? ORDER BY rowid`, func(row scanner) (t resealed, err error) {
		var id int64
		var name []byte
		err = row.Scan(&id, &name, &t.form, &t.body)
		t.key, t.o = []any{id}, origin{table: "blobs", name: string(name)}
		return t, err
	}, r.blob)
}

func (r *rekeying) blob(t resealed) error {
	plain, err := r.unpack(t.o, t.body, t.form)
	if err != nil {
		return err
	}
	hash := sha256.Sum256(plain)
	was, is := r.seal.name(hash), r.to.seal.name(hash)
	if string(was[:]) != t.o.name {
		return fmt.Errorf("%w: a large value isn't what its name says; see agentd store check", ErrDamaged)
	}
	if _, ok := r.names[t.o.name]; ok {
		r.names[t.o.name] = is
	}
	body, form := r.to.pack(originOfBlob(is), plain)
	return r.exec(`UPDATE blobs SET hash = ?, packed = ?, text = ? WHERE rowid = ?`, is[:], form, body, t.key[0])
}

// revisionFile is a file of a revision, and the name of the large value that it is.
type revisionFile struct {
	revision, path string
	hash           []byte
}

func (r *rekeying) readFiles() error {
	return each(r.ctx, r.conn, func(row scanner) error {
		var f revisionFile
		err := row.Scan(&f.revision, &f.path, &f.hash)
		r.files = append(r.files, f)
		r.names[string(f.hash)] = blobHash{}
		return err
	}, `SELECT revision, path, hash FROM revision_files`)
}

// renameFiles follows the blobs that revisions refer to.
func (r *rekeying) renameFiles() error {
	for _, f := range r.files {
		name := r.names[string(f.hash)]
		if name == (blobHash{}) {
			return fmt.Errorf("%w: %s of revision %s is missing; see agentd store check", ErrDamaged, f.path, f.revision)
		}
		if err := r.exec(`UPDATE revision_files SET hash = ? WHERE revision = ? AND path = ?`, name[:], f.revision, f.path); err != nil {
			return err
		}
	}
	return nil
}
