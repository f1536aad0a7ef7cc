package operation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// ProjectCell begins the names of cells that belong to the project and not to a session.
const ProjectCell = "project-wide:"

func isWide(cell string) bool { return strings.HasPrefix(cell, ProjectCell) }

// maxStale is how often a chain is run again because another session changed the project's state
// before what this one computed was saved.
const maxStale = 3

// wide is what a session knows of the project's state. Other sessions change it at any time, so it is
// read anew for each chain that may look at it, and what that decides is committed at once and only if
// what it saw hasn't changed meanwhile. So the order of commits is an order in which the chains could
// have run one by one, and who reads the journal in it sees what they saw.
type wide struct {
	versions map[string]int64
	settling bool            // a chain is computed that can be computed again
	read     bool            // since that began, or since the last commit
	looked   map[string]bool // the cells that hooks could see since then
	tries    int             // how often it was computed in vain
	base     mark            // what it is taken back to
	queued   int             // the rows that were pending before it
	letGo    func()          // of the runner's lock; nil if that isn't held
}

func nothing() {}

// settle runs compute, which computes chains and queues their row, and commits that at once if they
// looked at the project's state. If another session was faster nothing of it counts: it is taken back,
// again puts back what compute has changed elsewhere, and it is computed once more. After maxStale
// times whatever a hook wants to remember for the project is its failure, so this ends.
//
// The first try and those of other sessions run side by side; one that comes again runs alone, and so
// does a chain with a hook that isn't to be called again.
func (s *Session) settle(ctx context.Context, again func(), compute func() error) error {
	if s.wide.settling {
		return compute()
	}
	for s.wide.tries = 0; ; s.wide.tries++ {
		s.begin()
		err := compute()
		if err == nil && s.sawWide() {
			err = s.Flush(ctx)
		}
		s.end()
		if !errors.Is(err, ErrStale) {
			return err
		}
		s.takeBack()
		again()
	}
}

func (s *Session) begin() {
	s.wide.settling, s.wide.read = true, false
	clear(s.wide.looked)
	s.wide.base, s.wide.queued = s.mark(), len(s.pending)
}

func (s *Session) end() {
	s.wide.settling = false
	clear(s.wide.looked)
	if s.wide.letGo != nil {
		s.wide.letGo()
		s.wide.letGo = nil
	}
}

// takeBack undoes what was computed since begin.
func (s *Session) takeBack() {
	s.forget(s.wide.base)
	for _, r := range s.pending[s.wide.queued:] {
		if _, ok := r.(ReadyRow); !ok {
			continue
		}
		for _, o := range s.batch {
			o.kept = o.kept && o.d.Head.ID != r.Key().Op
		}
	}
	s.pending = s.pending[:s.wide.queued]
}

// landed goes on behind a commit: what is durable isn't taken back.
func (s *Session) landed() {
	if settling := s.wide.settling; settling {
		s.end()
		s.begin()
	}
}

// readWide reads the project's state if one of the bindings may look at it.
func (s *Session) readWide(ctx context.Context, list []*hookpoints.Binding) error {
	if s.rehearses || !s.look(list) || s.wide.read {
		return nil
	}
	if s.wide.settling && s.wide.letGo == nil {
		if s.wide.tries > 0 || !replaySafe(list) {
			s.runner.wide.Lock()
			s.wide.letGo = s.runner.wide.Unlock
		} else {
			s.runner.wide.RLock()
			s.wide.letGo = s.runner.wide.RUnlock
		}
	}
	now, err := s.runner.Journal.Cells(ctx, "")
	if err != nil {
		return fmt.Errorf("the project's state: %w", err)
	}
	maps.DeleteFunc(s.cells, func(name string, _ payload.Value) bool { return isWide(name) })
	s.wide.versions = make(map[string]int64, len(now))
	for name, c := range now {
		if isWide(name) {
			s.cells[name], s.wide.versions[name] = c.Value, c.Version
		}
	}
	s.wide.read = s.wide.settling
	return nil
}

// look notes which cells of the project bindings can see, and reports whether there is one.
func (s *Session) look(list []*hookpoints.Binding) (wide bool) {
	for _, b := range list {
		if !isWide(b.StateCell) || b.Untrusted {
			continue
		}
		if s.wide.looked == nil {
			s.wide.looked = map[string]bool{}
		}
		s.wide.looked[b.StateCell], wide = true, true
	}
	return wide
}

// seen are the cells of the project that hooks saw and left alone, for the commit to compare.
func (s *Session) seen() (cells []Cell) {
	if s.wide.tries > maxStale { // it has to end
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(s.wide.looked)) {
		if !s.dirty[name] {
			cells = append(cells, Cell{Name: name, Version: s.wide.versions[name]})
		}
	}
	return cells
}

func replaySafe(list []*hookpoints.Binding) bool {
	for _, b := range list {
		if !b.ReplaySafe {
			return false
		}
	}
	return true
}

func (s *Session) sawWide() bool { return len(s.wide.looked) > 0 }

// writable is hookpoints.Request.Writable.
func (s *Session) writable(cell string) error {
	if isWide(cell) && s.wide.tries > maxStale {
		return fmt.Errorf("the state %q was changed by other sessions each of the %d times that this chain ran", cell, s.wide.tries)
	}
	return nil
}
