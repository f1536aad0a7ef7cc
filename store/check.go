package store

import (
	"context"
	"crypto/sha256"
	"fmt"

	"agentd/hookpoints/payload"
)

// Report is what Check found.
type Report struct {
	Operations, Rows, Blobs int
	Faults                  []string // what is wrong; the database is sound if there is none
}

// faultLimit is how many faults are told.
const faultLimit = 100

// checkCache is how many bytes of large values Check keeps in mind.
const checkCache = 64 << 20

func (r *Report) fault(format string, args ...any) {
	if len(r.Faults) < faultLimit {
		r.Faults = append(r.Faults, fmt.Sprintf(format, args...))
	}
}

// Check reads everything: SQLite's own structures, large values against their hashes, and every
// operation against its rows. It takes as long as reading the file twice.
func (r *Reader) Check(ctx context.Context) (*Report, error) {
	rep := &Report{}
	err := r.view(ctx, func(v *snapshot) error {
		for _, check := range []func(*snapshot, *Report) error{checkPages, checkBlobs, checkCells, checkOperations} {
			if err := check(v, rep); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return rep, nil
}

// sound refuses a file whose structures are broken, as what is written anew from it would look whole.
func (r *Reader) sound(ctx context.Context) error {
	faults, err := r.CheckFile(ctx)
	if err == nil && len(faults) > 0 {
		err = fmt.Errorf("%w: %s: %s; see agentd store check", ErrDamaged, r.path, faults[0])
	}
	return err
}

// CheckFile reads SQLite's own structures only, and says what is wrong with them.
func (r *Reader) CheckFile(ctx context.Context) ([]string, error) {
	rep := &Report{}
	err := r.view(ctx, func(v *snapshot) error { return checkPages(v, rep) })
	return rep.Faults, err
}

func checkPages(v *snapshot, rep *Report) error {
	err := v.all(func(row scanner) error {
		var line string
		err := row.Scan(&line)
		if line != "ok" {
			rep.fault("the file: %s", line)
		}
		return err
	}, `PRAGMA integrity_check`)
	if err != nil {
		return err
	}
	return v.all(func(row scanner) error {
		var table, other string
		var at, key any
		err := row.Scan(&table, &at, &other, &key)
		rep.fault("the file: row %v of %s refers to what isn't in %s", at, table, other)
		return err
	}, `PRAGMA foreign_key_check`)
}

func checkBlobs(v *snapshot, rep *Report) error {
	return v.all(func(row scanner) error {
		var hash, body []byte
		var size, form int
		if err := row.Scan(&hash, &size, &form, &body); err != nil {
			return err
		}
		rep.Blobs++
		text, err := v.unpack(origin{table: "blobs", name: string(hash)}, body, form)
		sum := sha256.Sum256(text)
		name := v.seal.name(sum)
		switch {
		case err != nil:
			rep.fault("large value %x: %v", hash, err)
		case string(name[:]) != string(hash):
			rep.fault("large value %x: its text has the hash %x", hash, sum)
		case len(text) != size:
			rep.fault("large value %x: it has %d bytes, not %d", hash, len(text), size)
		}
		return nil
	}, `SELECT hash, size, packed, text FROM blobs`)
}

func checkCells(v *snapshot, rep *Report) error {
	return v.all(func(row scanner) error {
		var session, name string
		var form int
		var body []byte
		if err := row.Scan(&session, &name, &form, &body); err != nil {
			return err
		}
		text, err := v.unpack(originOfCell(session, name), body, form)
		if err == nil {
			_, err = payload.Parse(text)
		}
		if err != nil {
			rep.fault("state %q of session %q: %v", name, session, err)
		}
		return nil
	}, `SELECT session, name, packed, value FROM cells`)
}

func checkOperations(v *snapshot, rep *Report) error {
	ops, err := v.list(Filter{})
	if err != nil {
		return err
	}
	rep.Operations = len(ops)
	for _, op := range ops {
		if err := checkOperation(v, op, rep); err != nil {
			return err
		}
	}
	var all int
	if err := v.tx.QueryRowContext(v.ctx, `SELECT count(*) FROM rows`).Scan(&all); err != nil {
		return err
	}
	if all != rep.Rows {
		rep.fault("the journal: of %d rows %d belong to an operation", all, rep.Rows)
	}
	return nil
}

func checkOperation(v *snapshot, op *tracked, rep *Report) error {
	if v.size > checkCache {
		clear(v.texts)
		v.size = 0
	}
	rows, err := v.rows([]*tracked{op})
	if v.ctx.Err() != nil {
		return v.ctx.Err()
	}
	if err != nil {
		rep.fault("operation %s: %v", op.id, err)
		return nil
	}
	rep.Rows += len(rows)
	again, places := &tracked{}, map[place]bool{}
	for _, r := range rows {
		k := r.Key()
		p := place{k.Stage, k.N}
		if places[p] {
			rep.fault("operation %s: it has two rows %s %d", op.id, k.Stage, k.N)
		}
		places[p] = true
		again.step(r, 0, 0)
	}
	want, have := again.sum, op.sum
	switch {
	case want.State != have.State || want.Status != have.Status || want.Attempts != have.Attempts || want.Whole != have.Whole:
		rep.fault("operation %s: it is listed as %s, %s and its rows say %s, %s", op.id, have.State, have.Status, want.State, want.Status)
	case !sameHead(want.Head, have.Head):
		rep.fault("operation %s: it is listed as another one than its rows say", op.id)
	}
	return nil
}
