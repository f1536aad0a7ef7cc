package reload

import (
	"fmt"
	"time"
)

// young is the age below which a changed file could still be in the hands of its writer.
const young = time.Second

// settler decides when a reading is fit to be handed over.
type settler struct {
	quiet time.Duration
	last  *Snapshot // that was handed over
	seen  *reading  // that waits for one that is the same
}

// note remembers a reading that is too early to be decided about. A later one that is the same then
// needn't wait for a third.
func (s *settler) note(r reading) {
	if s.seen == nil || !s.seen.same(r) || !s.seen.sameFolders(r) {
		s.seen = &r
	}
}

// decide hands a reading over, asks for another one after a wait, or refuses it. With none of the
// three nothing has changed.
func (s *settler) decide(r reading) (hand bool, wait time.Duration, err error) {
	if s.last != nil && s.last.Hash == r.Hash {
		s.seen = nil
		return false, 0, nil
	}
	emptied, missing, risky := s.compare(r)
	if risky {
		// Two looks can both come between the halves of a save, those of two saves. Files tell by their
		// times that they aren't the same; where one is missing, only its folder can.
		if s.seen == nil || !s.seen.same(r) || missing && !s.seen.sameFolders(r) {
			s.seen = &r
		}
		if r.began.Sub(s.seen.ended) < s.quiet {
			return false, s.quiet, nil
		}
	}
	if emptied != "" {
		return false, 0, fmt.Errorf("%s: %w; write it again, or delete it if it is to go", emptied, ErrEmptied)
	}
	s.seen, s.last = nil, &r.Snapshot
	return true, 0, nil
}

// compare looks at what differs from the last set. It is risky if a file is young, was emptied or
// isn't there any more, as all of that is how some editors save. An empty script is a valid one, so
// emptied files are told apart: nothing else would notice that a guard is gone.
func (s *settler) compare(r reading) (emptied string, missing, risky bool) {
	type key struct {
		root int
		name string
	}
	before := map[key]File{}
	if s.last != nil {
		for _, f := range s.last.Files {
			before[key{f.Root, f.Name}] = f
		}
	}
	for i, f := range r.Files {
		old := before[key{f.Root, f.Name}]
		delete(before, key{f.Root, f.Name})
		if old.Hash == f.Hash {
			continue
		}
		if len(f.Text) == 0 && len(old.Text) > 0 {
			emptied, risky = r.found[i].path, true
		}
		if r.began.Sub(r.found[i].info.ModTime()) < young {
			risky = true
		}
	}
	missing = len(before) > 0
	return emptied, missing, risky || missing
}
