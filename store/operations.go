package store

import (
	"context"
	"database/sql"
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

	seq    int64
	headed bool
	whole  bool
}

func scanOperation(row scanner) (o OperationRow, err error) {
	var began sql.NullString
	var updated string
	h := &o.Head
	if err := row.Scan(&o.seq, &h.ID, &h.Parent, &h.Kind, &h.RunID, &h.SessionID, &h.Instance, &h.Client, &h.Agent, &h.Tool, &h.Foreign, &h.Composite,
		&h.Revisions.Shipped, &h.Revisions.User, &h.Revisions.Project, &began, &o.State, &o.Status, &o.Attempts, &updated, &o.whole, &o.Done); err != nil {
		return o, err
	}
	if o.headed = began.Valid; o.headed {
		if h.Began, err = unstamp(began.String); err != nil {
			return o, err
		}
	}
	o.Updated, err = unstamp(updated)
	return o, err
}

// Filter chooses operations; what is empty chooses all.
type Filter struct {
	Run    string
	State  operation.State
	Kind   string
	Client string
	Since  time.Time // of their last row
	Limit  int       // the last so many
}

// Operations lists operations in the order in which they began, oldest first.
func (r *Reader) Operations(ctx context.Context, f Filter) (list []OperationRow, err error) {
	where, args := f.sql()
	query := `SELECT seq, ` + opColumns + ` FROM operations` + where + ` ORDER BY seq DESC`
	if f.Limit > 0 {
		query, args = query+` LIMIT ?`, append(args, f.Limit)
	}
	err = r.view(ctx, func(v *snapshot) error {
		return v.all(func(row scanner) error {
			o, err := scanOperation(row)
			list = append(list, o)
			return err
		}, query, args...)
	})
	slices.Reverse(list)
	return list, err
}

func (f Filter) sql() (where string, args []any) {
	var terms []string
	is := func(term, value string) {
		if value != "" {
			terms, args = append(terms, term), append(args, value)
		}
	}
	is("run_id <> '' AND run_id = ?", f.Run)
	is("state = ?", string(f.State))
	is("kind = ?", f.Kind)
	is("client = ?", f.Client)
	if !f.Since.IsZero() {
		is("updated >= ?", stamp(f.Since))
	}
	if len(terms) > 0 {
		where = " WHERE " + strings.Join(terms, " AND ")
	}
	return where, args
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
	err = r.view(ctx, func(v *snapshot) error {
		return v.all(func(row scanner) error {
			var s SessionRow
			var began, updated string
			if err := row.Scan(&s.ID, &began, &updated, &s.Runs, &s.Operations); err != nil {
				return err
			}
			var err error
			if s.Began, err = unstamp(began); err != nil {
				return err
			}
			s.Updated, err = unstamp(updated)
			list = append(list, s)
			return err
		}, `SELECT session_id, min(began), max(updated), count(DISTINCT nullif(run_id, '')), count(*) FROM operations
			WHERE session_id <> '' GROUP BY session_id ORDER BY max(updated), max(seq)`)
	})
	return list, err
}
