package operation

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
// read anew for each chain that may look at it, and what a chain makes of it is committed at once and
// only if it hasn't changed meanwhile. So between two chains no session has changes that others miss.
type wide struct {
	versions map[string]int64
	settling bool   // a chain is computed that can be computed again
	read     bool   // since that began, or since the last commit
	tries    int    // how often it was computed in vain
	base     mark   // what it is taken back to
	queued   int    // the rows that were pending before it
	letGo    func() // of the runner's lock; nil if that isn't held
}

func nothing() {}

// settle runs compute, which computes chains and queues their row, and commits that at once if they
// changed the project's state. If another session was faster nothing of it counts: it is taken back,
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
		if err == nil && s.changedWide() {
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
	s.wide.base, s.wide.queued = s.mark(), len(s.pending)
}

func (s *Session) end() {
	s.wide.settling = false
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
	if s.wide.read || s.rehearses || !looksWide(list) {
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

func looksWide(list []*hookpoints.Binding) bool {
	for _, b := range list {
		if b.StateProject && !b.Untrusted {
			return true
		}
	}
	return false
}

func replaySafe(list []*hookpoints.Binding) bool {
	for _, b := range list {
		if !b.ReplaySafe {
			return false
		}
	}
	return true
}

func (s *Session) changedWide() bool {
	for name := range s.dirty {
		if isWide(name) {
			return true
		}
	}
	return false
}

// writable is hookpoints.Request.Writable.
func (s *Session) writable(cell string) error {
	if isWide(cell) && s.wide.tries > maxStale {
		return fmt.Errorf("the state %q was changed by other sessions each of the %d times that this chain ran", cell, s.wide.tries)
	}
	return nil
}
