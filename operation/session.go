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

// chainRun is one run of one part of one chain, for an operation.
type chainRun struct {
	point    string
	part     hookpoints.Part
	in       payload.Value
	around   *hookpoints.Around
	validate func(context.Context, payload.Value) (payload.Value, error)
	answer   func(payload.Value) error
	attempt  int           // the chain of which outcome, or which of a part's chains
	original payload.Value // of a before chain: what the operation was given
}

// run runs a part of a chain and folds what it computed into the session and into sum.
func (s *Session) run(ctx context.Context, h Head, q chainRun, sum *Chained, spent *int64) (hookpoints.Result, error) {
	none := hookpoints.Result{Outcome: hookpoints.Continued, Payload: q.in}
	if q.point == "" {
		return none, nil
	}
	c, err := s.runner.Chains.Chain(ctx, h.Revisions, q.point, q.around.Scope)
	if err != nil {
		return none, err
	}
	if c == nil {
		return none, fmt.Errorf("there is no point %q", q.point)
	}
	if len(c.Bindings(q.part)) == 0 {
		return none, nil
	}
	if err := c.Point().Check(q.in); err != nil {
		return none, err
	}
	if err := s.readWide(ctx, c.Bindings(q.part)); err != nil {
		return none, err
	}
	round := rounds(sum.Records, c.Bindings(q.part)[0], q)
	req := hookpoints.Request{Payload: q.in, Around: q.around, States: states{s, h.Instance}, Writable: s.writable, Validate: q.validate, Answer: q.answer, Tracer: s.runner.Tracer, Spent: *spent,
		Progress: &progress{s, ctx, h, &q, sum.Records}, Defer: s.runner.Background != nil}
	if s.reread != nil {
		req.Facts = s.reread(q.point, q.part, round)
	} else if s.runner.Facts != nil {
		req.Facts = s.runner.Facts.Open(h, q.point, s.uncommitted)
	}
	res, err := c.Run(ctx, q.part, req)
	if err != nil {
		return res, err
	}
	*spent += res.Nanos
	s.late = s.late || res.TimedOut
	for i := range res.Facts {
		res.Facts[i].Point, res.Facts[i].Round = q.point, round
	}
	s.merge(h.Instance, res.State)
	sum.add(&res)
	s.tell(h, res.Records)
	for _, d := range res.Deferred {
		s.Leave(func() { s.runner.Background(h, d) })
	}
	return res, nil
}

// rounds counts how often this part of a chain ran for the operation already.
func rounds(recs []hookpoints.Record, first *hookpoints.Binding, q chainRun) (n int) {
	for _, r := range recs {
		if r.BindingID == first.BindingID && r.Point == q.point && r.Part == q.part {
			n++
		}
	}
	return n
}

// uncommitted are the operations that have rows which no journal has yet: what rides in the next commit,
// and the calls of this batch that are decided. It is an [Uncommitted].
func (s *Session) uncommitted(ctx context.Context) ([][]Row, error) {
	late := slices.Clone(s.pending)
	for _, o := range s.batch {
		if o.stage == toRun && !o.intent && !o.kept {
			late = append(late, ReadyRow{o.d})
		}
	}
	var out [][]Row
	place := map[string]int{}
	for _, r := range late {
		op := r.Key().Op
		i, known := place[op]
		if !known {
			i, place[op] = len(out), len(out)
			rows, err := s.runner.Journal.Rows(ctx, op)
			if err != nil {
				return nil, err
			}
			out = append(out, rows)
		}
		out[i] = append(out[i], r)
	}
	return out, nil
}

// skip records that the guards of a point don't run, because of what ended the action before.
func (s *Session) skip(ctx context.Context, h Head, q chainRun, by string, sum *Chained) error {
	if q.point == "" {
		return nil
	}
	c, err := s.runner.Chains.Chain(ctx, h.Revisions, q.point, q.around.Scope)
	if err != nil || c == nil {
		return err
	}
	recs := c.Skipped(q.part, by)
	sum.Records = append(sum.Records, recs...)
	s.tell(h, recs)
	return nil
}

func (s *Session) tell(h Head, recs []hookpoints.Record) {
	if s.runner.Decided == nil {
		return
	}
	for _, rec := range recs {
		s.Leave(func() { s.runner.Decided(h, rec) })
	}
}

// Point runs a chain that has no action, or recalls what it decided. The row rides along; it is
// committed at once if the chain ended something, asked for an effect or was late. n numbers the
// chains of the operation h.
func (s *Session) Point(ctx context.Context, h Head, n int, point string, around *hookpoints.Around, in payload.Value) (Done, error) {
	for _, r := range s.saved[h.ID] {
		if row, ok := r.(PointRow); ok && row.N == n && row.Point == point {
			return s.followed(ctx, asking{h, around, n, 0, row.Effects}, point, pointDone(row.Decided))
		}
	}
	if s.Replaying() {
		return Done{}, ErrNotSaved
	}
	var d Decided
	err := s.settle(ctx, nothing, func() (err error) {
		d, err = s.computePoint(ctx, Action{Head: h, Around: around, Input: in}, n, point)
		return err
	})
	if err != nil {
		return Done{}, err
	}
	a, done := asking{h, around, n, 0, d.Effects}, pointDone(d)
	if len(d.Effects) > 0 && len(s.asked(a)) == 0 { // all of it was refused
		return done, s.Flush(ctx)
	}
	return s.followed(ctx, a, point, done)
}

// computePoint computes a chain that has no action: of a, only what the chain is given counts.
func (s *Session) computePoint(ctx context.Context, a Action, n int, point string) (Decided, error) {
	h, around, in := a.Head, a.Around, a.Input
	d, was, spent := Decided{Head: h, Original: in, Final: in, Outcome: hookpoints.Continued, Scope: around.Scope.Value}, s.mark(), int64(0)
	for _, part := range []hookpoints.Part{hookpoints.Ordinary, hookpoints.Guards} {
		res, err := s.run(ctx, h, chainRun{point: point, part: part, in: d.Final, around: around, attempt: n, validate: a.Validate, answer: a.Answer}, &d.Chained, &spent)
		if err != nil {
			s.forget(was)
			return Decided{}, err
		}
		d.Final = res.Payload
		if res.Outcome == hookpoints.Failed {
			s.back(was)
			return Decided{}, s.failed(ctx, h.ID, point, &res, d.Chained, d.given())
		}
		if res.By != "" {
			d.decided(&res)
		}
		if part == hookpoints.Ordinary && (res.Outcome == hookpoints.Rejected || res.Outcome == hookpoints.Stopped) {
			if err := s.skip(ctx, h, chainRun{point: point, part: hookpoints.Guards, around: around}, res.By, &d.Chained); err != nil {
				s.forget(was)
				return Decided{}, err
			}
			break
		}
	}
	if a.Edited != nil && d.Outcome == hookpoints.Allowed && !same(d.Final, in) {
		point, guarded := a.Edited(d.Final)
		res, err := s.run(ctx, h, chainRun{point: point, part: hookpoints.Guards, in: guarded, around: around, attempt: n}, &d.Chained, &spent)
		if err != nil {
			s.forget(was)
			return Decided{}, err
		}
		if res.Outcome == hookpoints.Failed {
			s.back(was)
			return Decided{}, s.failed(ctx, h.ID, point, &res, d.Chained, d.given())
		}
		if res.By != "" {
			d.decided(&res)
		}
	}
	s.pending = append(s.pending, PointRow{d, point, n})
	s.request(asking{h, around, n, 0, d.Effects}, false)
	if a.Note != nil {
		a.Note(pointDone(d))
	}
	if len(d.Effects) == 0 && d.By != "" || s.late { // what is asked for rides with the first that begins
		if err := s.Flush(ctx); err != nil {
			return Decided{}, err
		}
		s.at("point." + point)
	}
	return d, nil
}

func pointDone(d Decided) Done {
	done := Done{Head: d.Head, Outcome: d.Outcome, State: Finished, Status: Succeeded, Effective: d.Final, By: d.By, Reason: d.Reason, Code: d.Code, Texts: d.Texts, Clear: d.Clear}
	switch d.Outcome {
	case hookpoints.Rejected, hookpoints.Denied:
		done.State = Rejected
	case hookpoints.Responded:
		done.State, done.Effective = Responded, d.Response
	case hookpoints.Stopped:
		done.State, done.Stop = Stopped, true
	case hookpoints.Proceeded:
		done.Proceed = d.Reason
	}
	return done
}

func (d *Decided) decided(res *hookpoints.Result) {
	d.Outcome, d.By, d.Reason, d.Code = res.Outcome, res.By, res.Decision.Text, res.Decision.Name
	d.Response, d.Clear = res.Decision.Value, res.Decision.Verb == hookpoints.Stop && res.Decision.Flag
	if res.Error != "" {
		d.Code, d.Reason = res.Error, "the hook failed"
	}
}

// failed keeps the records of a chain that will be computed again, and says which hook it was.
func (s *Session) failed(ctx context.Context, op, point string, res *hookpoints.Result, sum Chained, given payload.Value) error {
	// Not from s.saved: no run owns an operation of which only failures are saved.
	rows, err := s.runner.Journal.Rows(context.WithoutCancel(ctx), op)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPersistence, err)
	}
	n := 0
	for _, r := range rows {
		if _, ok := r.(FailedRow); ok {
			n++
		}
	}
	row := FailedRow{Op: op, N: n, Point: point, By: res.By, Error: res.Error, Given: given, Chained: sum}
	row.State, row.Effects = nil, nil // computed again, so nothing was remembered or asked for
	s.pending = append(s.pending, row)
	if err := s.Flush(ctx); err != nil {
		return err
	}
	return fmt.Errorf("%w: %s at %s: %s", ErrHook, res.By, point, res.Error)
}
