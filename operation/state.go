package operation

import (
	"maps"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// states is the state as the bindings of one instance see it.
type states struct {
	s        *Session
	instance string
}

// State implements hookpoints.States.
func (v states) State(cell string) payload.Value { return v.s.cells[cellName(cell, v.instance)] }

func cellName(cell, instance string) string {
	if instance == "" || instance == hookpoints.Main || isWide(cell) {
		return cell
	}
	return cell + "@" + instance
}

func (s *Session) merge(instance string, deltas []hookpoints.Delta) {
	for _, d := range deltas {
		name := cellName(d.Cell, instance)
		was := s.cells[name]
		if !was.Exists() {
			was = hookpoints.EmptyState()
		}
		s.cells[name] = hookpoints.Remembered(was, d.Set)
		s.dirty[name] = true
	}
}

// mark is what back and forget return to. It holds until the next Flush.
type mark struct {
	cells    map[string]payload.Value
	dirty    map[string]bool
	releases int
}

func (s *Session) mark() mark { return mark{maps.Clone(s.cells), maps.Clone(s.dirty), len(s.release)} }

// back undoes what a chain remembered that failed and will be computed again.
func (s *Session) back(m mark) { s.cells, s.dirty = maps.Clone(m.cells), maps.Clone(m.dirty) }

// forget is back for a chain that was cut off: it leaves no row, so its records aren't told either.
func (s *Session) forget(m mark) {
	s.back(m)
	s.release = s.release[:min(m.releases, len(s.release))]
}
