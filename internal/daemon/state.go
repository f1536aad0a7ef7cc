package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"agentd/internal/api"
	"agentd/operation"
	"agentd/store"
)

// State lists what hooks remember, by session and name, the project's first; of one session if it is
// named. Cells that hold nothing aren't listed.
func State(ctx context.Context, r *store.Reader, session string) ([]api.StateRow, error) {
	cells, err := cellsOf(ctx, r, session)
	if err != nil {
		return nil, err
	}
	rows := []api.StateRow{}
	for _, c := range cells {
		rows = append(rows, stateRow(c))
	}
	return rows, nil
}

func stateRow(c operation.Cell) api.StateRow {
	n := operation.ParseCell(c.Name)
	layer, name, _ := strings.Cut(n.Name, "/")
	scope := "session"
	if n.Project {
		scope = "project"
	}
	return api.StateRow{Layer: layer, Name: name, Scope: scope, SessionID: c.Session, Instance: n.Instance, Version: c.Version, Bytes: c.Value.Size(), Value: c.Value}
}

func cellsOf(ctx context.Context, r *store.Reader, session string) ([]operation.Cell, error) {
	cells, err := r.AllCells(ctx)
	return slices.DeleteFunc(cells, func(c operation.Cell) bool {
		return session != "" && c.Session != session || c.Value.Len() == 0
	}), err
}

// State implements api.Backend.
func (d *Daemon) State(ctx context.Context, session string) ([]api.StateRow, error) {
	return State(ctx, d.store.Reader, session)
}

// ClearState implements api.Backend: all that was asked for goes in one commit, or nothing.
func (d *Daemon) ClearState(ctx context.Context, q api.ClearState) ([]api.StateRow, error) {
	if q.Session == "" && len(q.Names) == 0 && !q.All {
		return nil, api.Errorf(api.ErrInvalid, "nothing says which state is to be cleared; name cells, a session, or all")
	}
	for range 10 { // sessions may change the project's meanwhile
		rows, err := d.clearState(ctx, q)
		if !errors.Is(err, operation.ErrStale) {
			return rows, err
		}
	}
	return nil, api.Errorf(api.ErrBusy, "the project's state is changed by runs all the time; wait for them, or cancel them")
}

func (d *Daemon) clearState(ctx context.Context, q api.ClearState) ([]api.StateRow, error) {
	chosen, err := d.chosenState(ctx, q)
	if err != nil {
		return nil, err
	}
	sessions := map[string]bool{}
	for _, c := range chosen {
		sessions[c.Session] = true
	}
	delete(sessions, "")
	for _, s := range slices.Sorted(maps.Keys(sessions)) { // of clients
		defer d.sessions.lock(s)()
	}
	d.runs.mu.Lock()
	defer d.runs.mu.Unlock()
	if d.runs.closed {
		return nil, api.Errorf(api.ErrClosing, "%w", errClosing)
	}
	for _, s := range slices.Sorted(maps.Keys(sessions)) {
		if run := d.runs.busy[s]; run != "" {
			return nil, api.Errorf(api.ErrBusy, "nothing was cleared: the session %s is at its run %s; wait for it, or cancel it", s, run)
		}
	}
	// Only now nobody changes the sessions' any more.
	now, err := d.chosenState(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, c := range now {
		if c.Session != "" && !sessions[c.Session] { // a session that began meanwhile
			return nil, fmt.Errorf("%w: %s", operation.ErrStale, c.Session)
		}
	}
	triple := d.rt.Serving().Triple
	if len(now) == 0 {
		return []api.StateRow{}, nil
	}
	err = d.rt.Runner().ClearState(ctx, now, func() operation.Head {
		return operation.Head{ID: newID("op"), Kind: "state", Revisions: triple, Began: d.rt.Now()}
	})
	if err != nil {
		return nil, err
	}
	rows := []api.StateRow{}
	for _, c := range now {
		rows = append(rows, stateRow(c))
	}
	return rows, nil
}

// chosenState is what a request names: each name has to be there, so that a slip of the pen clears nothing.
func (d *Daemon) chosenState(ctx context.Context, q api.ClearState) ([]operation.Cell, error) {
	cells, err := cellsOf(ctx, d.store.Reader, q.Session)
	if err != nil {
		return nil, err
	}
	where := ""
	if q.Session != "" {
		where = " in the session " + q.Session
	}
	if len(q.Names) == 0 {
		if len(cells) == 0 && q.Session != "" {
			return nil, api.Errorf(api.ErrNotFound, "there is no state%s; see agentd state show", where)
		}
		return cells, nil
	}
	found := map[string]bool{}
	var out []operation.Cell
	for _, c := range cells {
		for _, name := range q.Names {
			if named(operation.ParseCell(c.Name), name) {
				found[name] = true
				out = append(out, c)
				break
			}
		}
	}
	for _, name := range q.Names {
		if !found[name] {
			return nil, api.Errorf(api.ErrNotFound, "there is no state %s%s; see agentd state show", name, where)
		}
	}
	return out, nil
}

// named reports whether a person means this cell: by layer/name, which is that of all instances, by
// layer/name@instance, or by its bare name in whatever layer.
func named(n operation.CellName, by string) bool {
	_, bare, _ := strings.Cut(n.Name, "/")
	return by == n.Name || by == bare || n.Instance != "" && (by == n.Name+"@"+n.Instance || by == bare+"@"+n.Instance)
}
