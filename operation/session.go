package operation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// Runner runs operations. It is shared by all sessions; its fields aren't changed once it is used.
type Runner struct {
	Journal Journal
	Chains  Chains
	Facts   Facts   // nil: no facts can be had
	Gate    Gate    // nil: nobody can be asked, so what would be is denied
	Effects Effects // nil: what hooks ask for fails
	Clock   Clock
	Tracer  hookpoints.Tracer // nil: nobody looks
	// Decided is told of each record once it is durable; nil: nobody listens.
	Decided func(h Head, rec hookpoints.Record)
	// Background takes the calls of background hooks, once the chains that they belong to are durable.
	// It must not block. Nil: they run on the path.
	Background func(h Head, d hookpoints.Deferred)
	// Effected is told of each effect that is over, once that is durable; nil: nobody listens.
	Effected func(h Head, status string, value payload.Value)
	// At is called at the named places between two durable steps; nil in the product. Tests die there.
	At func(place string)
	// CheckAnswer says what is wrong with an answer before it is committed: an edit that the tool doesn't
	// take. Nil: nobody looks before the run goes on.
	CheckAnswer func(q WaitingRow, a Answer) error
	// QuestionTimeout is how long a question may wait; nil: 24 hours.
	QuestionTimeout func() time.Duration

	answering sync.Mutex   // two answers at once: one of them is first
	wide      sync.RWMutex // held from reading the project's state to the commit that changes it
}

// Session is the single writer of one session: its state cells, the rows that ride in the next
// commit, and what may leave the process once they are durable. It belongs to one goroutine.
type Session struct {
	ID      string
	runner  *Runner
	cells   map[string]payload.Value
	dirty   map[string]bool
	saved   map[string][]Row
	pending []Row
	release []func()
	batch   []*open // the actions that are being decided together
	late    bool    // the wall clock decided something that isn't durable yet
	replays bool
	wide    wide
	// rehearses: its cells are what they are told to be.
	rehearses bool
	settles   bool                                                                      // it only closes what is open, see Settle
	reread    func(point string, part hookpoints.Part, round int) hookpoints.FactSource // of a rehearsal
}

// Open opens a session with its committed state.
func (r *Runner) Open(ctx context.Context, id string) (*Session, error) {
	saved, err := r.Journal.Cells(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", id, err)
	}
	cells := make(map[string]payload.Value, len(saved))
	for name, c := range saved {
		cells[name] = c.Value
	}
	return &Session{ID: id, runner: r, cells: cells, dirty: map[string]bool{}, saved: map[string][]Row{}}, nil
}

// Resume loads what is saved of a run, so that the same code does only the rest of it.
func (s *Session) Resume(ctx context.Context, run string) error {
	rows, err := s.runner.Journal.RunRows(ctx, run)
	if err != nil {
		return fmt.Errorf("run %s: %w", run, err)
	}
	for _, r := range rows {
		op := r.Key().Op
		s.saved[op] = append(s.saved[op], r)
	}
	return nil
}

// Replay is Resume for looking only: what isn't saved gives ErrNotSaved, and nothing is written.
func (s *Session) Replay(ctx context.Context, run string) error {
	s.replays = true
	return s.Resume(ctx, run)
}

// Live ends a replay: from now on operations really run.
func (s *Session) Live() { s.replays = false }

// Replaying reports whether nothing new happens.
func (s *Session) Replaying() bool { return s.replays || s.settles }

// Saved summarises what is saved of an operation; ok is false if nothing is.
func (s *Session) Saved(op string) (sum Summary, ok bool) {
	rows := s.saved[op]
	return Summarise(rows), len(rows) > 0
}

// Decided is what stood before an action, as the last row says that has it; ok is false if none does.
func (s *Session) Decided(op string) (d Decided, ok bool) {
	for _, r := range s.saved[op] {
		if last, decided := DecidedIn(r); decided {
			d, ok = last, true
		}
	}
	return d, ok
}

// Points counts the chains of an operation that are saved without an action: the number of the next one.
func (s *Session) Points(op string) (n int) {
	for _, r := range s.saved[op] {
		if row, ok := r.(PointRow); ok {
			n = max(n, row.N+1)
		}
	}
	return n
}

// Leave runs f once everything computed so far is durable. A session that replays runs nothing.
func (s *Session) Leave(f func()) {
	if !s.replays {
		s.release = append(s.release, f)
	}
}

// Flush commits what is pending and lets go what waited for it. A cancelled context doesn't stop it:
// what was computed is saved. ErrStale means that nothing was: the chain that changed the project's
// state is to run again.
func (s *Session) Flush(ctx context.Context) error {
	if s.replays {
		s.pending, s.release = nil, nil
		clear(s.dirty)
		return nil
	}
	if len(s.pending) > 0 {
		c := Commit{Rows: s.pending}
		for _, name := range slices.Sorted(maps.Keys(s.dirty)) {
			c.Cells = append(c.Cells, s.cell(name))
		}
		c.Cells = append(c.Cells, s.seen()...)
		err := s.runner.Journal.Commit(context.WithoutCancel(ctx), c)
		if errors.Is(err, ErrStale) {
			return err
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrPersistence, err)
		}
	}
	out := s.release
	s.pending, s.release, s.late = nil, nil, false
	clear(s.dirty)
	s.landed()
	for _, f := range out {
		f()
	}
	return nil
}

func (s *Session) cell(name string) Cell {
	if isWide(name) {
		return Cell{Name: name, Value: s.cells[name], Version: s.wide.versions[name]}
	}
	return Cell{Session: s.ID, Name: name, Value: s.cells[name]}
}

// at marks a place where the process may die.
func (s *Session) at(place string) {
	if s.runner.At != nil && !s.replays {
		s.runner.At(place)
	}
}
