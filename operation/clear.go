package operation

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// CellName is what the name of a cell is made of.
type CellName struct {
	Name     string // layer/name
	Instance string // "" is main
	Project  bool   // it is the project's
}

// ParseCell takes the name of a cell apart.
func ParseCell(cell string) CellName {
	if name, ok := strings.CutPrefix(cell, ProjectCell); ok {
		return CellName{Name: name, Project: true}
	}
	name, instance, _ := strings.Cut(cell, "@")
	return CellName{Name: name, Instance: instance}
}

// ClearState empties cells in one commit, for a person. For each an operation says what was taken away;
// head makes its head, but for the session and the instance. No session may be at work in which a cell
// is. ErrStale means that one of the project's was changed meanwhile, and nothing was cleared.
func (r *Runner) ClearState(ctx context.Context, cells []Cell, head func() Head) error {
	var c Commit
	for _, cell := range cells {
		name := ParseCell(cell.Name)
		h := head()
		h.SessionID, h.Instance = cell.Session, name.Instance
		delta := hookpoints.Delta{Cell: cell.Name, Read: cell.Value.Digest()}
		if !name.Project {
			delta.Cell = name.Name
		}
		for key := range cell.Value.Members() {
			delta.Set = append(delta.Set, payload.Field{Name: key, Value: payload.NewNull()})
		}
		nothing := payload.NewObject()
		c.Rows = append(c.Rows, PointRow{Decided: Decided{Head: h, Original: nothing, Final: nothing, Outcome: hookpoints.Continued, By: "a person", Reason: "cleared",
			Chained: Chained{State: []hookpoints.Delta{delta}}}})
		empty := Cell{Session: cell.Session, Name: cell.Name, Version: cell.Version}
		if name.Project {
			empty.Value = hookpoints.EmptyState()
		}
		c.Cells = append(c.Cells, empty)
	}
	err := r.Journal.Commit(context.WithoutCancel(ctx), c)
	if err != nil && !errors.Is(err, ErrStale) {
		err = fmt.Errorf("%w: %w", ErrPersistence, err)
	}
	return err
}
