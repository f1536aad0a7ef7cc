package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"agentd/operation"
)

// OperationRow is where an operation stands. Head holds only its id as long as no row said more.
type OperationRow struct {
	Head     operation.Head
	State    operation.State
	Status   string
	Attempts int
	Updated  time.Time // when its last row was committed
	Done     bool      // nothing more will happen by itself
}

func (op *tracked) row() OperationRow {
	return OperationRow{op.head(), op.sum.State, op.sum.Status, op.sum.Attempts, time.UnixMicro(op.updated).UTC(), op.sum.Done()}
}

// Filter chooses operations; what is empty chooses all.
type Filter struct {
	Run     string
	Session string
	State   operation.State
	Kind    string
	Client  string
	Tool    string
	Since   time.Time // of their last row
	Limit   int       // the last so many

	open bool // those that aren't done
}

// Operations lists operations in the order in which they began, oldest first.
func (r *Reader) Operations(ctx context.Context, f Filter) (list []OperationRow, err error) {
	err = r.view(ctx, func(v *snapshot) error {
		ops, err := v.list(f)
		for _, op := range ops {
			list = append(list, op.row())
		}
		return err
	})
	return list, err
}

// list is what the table of operations says, corrected by the rows that it doesn't know yet.
func (v *snapshot) list(f Filter) ([]*tracked, error) {
	late, err := v.tail()
	if err != nil {
		return nil, err
	}
	where, args := f.sql()
	query := `SELECT ` + opColumns + ` FROM operations` + where + ` ORDER BY seq DESC`
	if f.Limit > 0 { // as many of them may fall to the corrections
		query, args = query+` LIMIT ?`, append(args, f.Limit+len(late.ops))
	}
	var list []*tracked
	fixed := map[int64]bool{}
	for _, op := range late.ops {
		if fixed[op.seq] = true; f.match(op) {
			list = append(list, op)
		}
	}
	err = v.all(func(row scanner) error {
		op := &tracked{}
		err := op.scan(row)
		if !fixed[op.seq] {
			list = append(list, op)
		}
		return err
	}, query, args...)
	slices.SortFunc(list, func(a, b *tracked) int { return cmp.Compare(a.seq, b.seq) })
	if f.Limit > 0 && len(list) > f.Limit {
		list = list[len(list)-f.Limit:]
	}
	return list, err
}

// sql and match say the same.
func (f Filter) sql() (where string, args []any) {
	var terms []string
	is := func(term, value string) {
		if value != "" {
			terms, args = append(terms, term), append(args, value)
		}
	}
	is("run_id <> '' AND run_id = ?", f.Run)
	is("session_id = ?", f.Session)
	is("state = ?", string(f.State))
	is("kind = ?", f.Kind)
	is("client = ?", f.Client)
	is("tool = ?", f.Tool)
	if !f.Since.IsZero() {
		terms, args = append(terms, "updated >= ?"), append(args, f.Since.UnixMicro())
	}
	if f.open || f.State == operation.Waiting || f.State == operation.NotStarted { // these never are, and there is an index
		terms = append(terms, "done = 0")
	}
	if len(terms) > 0 {
		where = " WHERE " + strings.Join(terms, " AND ")
	}
	return where, args
}

func (f Filter) match(op *tracked) bool {
	h := &op.sum.Head
	is := func(want, have string) bool { return want == "" || want == have }
	return is(f.Run, h.RunID) && is(string(f.State), string(op.sum.State)) && is(f.Kind, h.Kind) &&
		is(f.Session, h.SessionID) && is(f.Client, h.Client) && is(f.Tool, h.Tool) &&
		(f.Since.IsZero() || op.updated >= f.Since.UnixMicro()) && (!f.open || !op.sum.Done())
}

// Operation returns one operation and its rows in commit order, or ErrNoOperation.
func (r *Reader) Operation(ctx context.Context, id string) (operation.Summary, []operation.Row, error) {
	rows, err := r.Rows(ctx, id)
	switch {
	case err != nil:
		return operation.Summary{}, nil, err
	case len(rows) == 0:
		return operation.Summary{}, nil, fmt.Errorf("%w: %s", ErrNoOperation, id)
	}
	return operation.Summarise(rows), rows, nil
}

// SessionRow is what is known of a session.
type SessionRow struct {
	ID         string
	Began      time.Time // its first operation
	Updated    time.Time // its last row
	Runs       int
	Operations int
}

// Sessions lists the sessions, the one used last at the end.
func (r *Reader) Sessions(ctx context.Context) (list []SessionRow, err error) {
	var ops []*tracked
	err = r.view(ctx, func(v *snapshot) error {
		ops, err = v.list(Filter{})
		return err
	})
	byID, runs := map[string]*SessionRow{}, map[[2]string]bool{}
	for _, op := range ops {
		h := &op.sum.Head
		if h.SessionID == "" {
			continue
		}
		row := op.row()
		s := byID[h.SessionID]
		if s == nil {
			s = &SessionRow{ID: h.SessionID, Began: h.Began, Updated: row.Updated}
			byID[h.SessionID] = s
		}
		if s.Operations++; h.Began.Before(s.Began) {
			s.Began = h.Began
		}
		if row.Updated.After(s.Updated) {
			s.Updated = row.Updated
		}
		if k := [2]string{h.SessionID, h.RunID}; h.RunID != "" && !runs[k] {
			runs[k] = true
			s.Runs++
		}
	}
	for _, s := range byID {
		list = append(list, *s)
	}
	slices.SortFunc(list, func(a, b SessionRow) int { return cmp.Or(a.Updated.Compare(b.Updated), cmp.Compare(a.ID, b.ID)) })
	return list, err
}
