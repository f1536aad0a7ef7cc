package interp

import (
	"fmt"

	"agentd/hookpoints"
)

// errDecidesTooMuch: fields that are views cost next to nothing, and are written whole all the same.
var errDecidesTooMuch = fmt.Errorf("what it returned: %w", ErrTooLarge)

// Decided gathers the decisions that a hook returned, which together may have hookpoints.MaxPayload bytes.
type Decided struct {
	List []hookpoints.Decision
	size int
}

// Add appends a decision.
func (l *Decided) Add(d hookpoints.Decision) error {
	l.size += len(d.Text) + len(d.Name) + d.Value.Size()
	for _, f := range d.Fields {
		l.size += len(f.Name) + f.Value.Size()
	}
	if l.size > hookpoints.MaxPayload {
		return errDecidesTooMuch
	}
	l.List = append(l.List, d)
	return nil
}
