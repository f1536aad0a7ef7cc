// Package operation runs real actions under a journal: what was decided, what was intended, what
// happened. It knows chains, but no interpreter, database, agent or client.
//
// The order of one action, with what is durable when:
//
//	before chain -> prepare -> guards -> confirm -> (guards again) -> validate
//	INTENT   committed before the action starts
//	action
//	OUTCOME  committed before any after hook runs
//	after chain -> AFTER row, which rides in the next commit
//
// A [Session] is the single writer of one session. Nothing that a chain computed leaves the process
// before the commit that carries it, see [Session.Leave]. An operation is taken up again by running
// the same code over a session that was opened with the rows saved so far: what has a row isn't
// done again.
package operation

import (
	"context"
	"errors"
	"time"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// State is where an operation stands. What the action itself reported is its status, a word of the
// contract: succeeded, failed, unknown, cancelled, blocked.
type State string

// The states.
const (
	NotStarted State = "not_started"
	Waiting    State = "waiting" // for a person
	Running    State = "running" // a composite one, whose parts are operations
	Finished   State = "finished"
	Rejected   State = "rejected"
	Responded  State = "responded" // a hook gave the result
	Stopped    State = "stopped"
	Unknown    State = "unknown" // started, and nobody knows how it ended
	Unobserved State = "unobserved"
)

// The statuses of an action.
const (
	Succeeded   = "succeeded"
	Failed      = "failed"
	Cancelled   = "cancelled"
	Blocked     = "blocked"
	UnknownStat = "unknown"
	NotRun      = "not_started"
)

// What callers branch on.
var (
	// ErrWaiting: a person has to decide; take the run up again when they have.
	ErrWaiting = errors.New("a person has to decide")
	// ErrPersistence wraps every journal failure: nothing after it in the call is trusted.
	ErrPersistence = errors.New("the journal could not be written")
	// ErrConflict: a row with this key is there and says something else.
	ErrConflict = errors.New("the journal holds another row under this key")
	// ErrStale: another session changed a cell of the project since its value was read.
	ErrStale = errors.New("the project's state was changed by another session meanwhile")
	// ErrHook: a failed chain stops the run; it is computed again when the run is resumed.
	ErrHook = errors.New("a hook failed")
	// ErrRecovery: a hook that isn't replay-safe was started and nobody knows what it did; a person has
	// to look, see [Runner.Reconcile].
	ErrRecovery = errors.New("recovery required")
	// ErrUnknownModel: a model call was started and its outcome was never recorded.
	ErrUnknownModel = errors.New("a model call was sent and its answer was never recorded")
	// ErrNoQuestion: the question that is answered isn't open.
	ErrNoQuestion = errors.New("the question isn't open")
	// ErrAnswered: somebody else was first.
	ErrAnswered = errors.New("the question is answered already")
	// ErrAnswer: what was said doesn't fit the question, which stays open.
	ErrAnswer = errors.New("the answer doesn't fit the question")
	// ErrNotSaved: a session that only replays met an operation without rows.
	ErrNotSaved = errors.New("nothing more is recorded")
)

// Triple is the revisions of the three layers: all that a chain is looked up by.
type Triple struct {
	Shipped string `json:"shipped,omitempty"`
	User    string `json:"user,omitempty"`
	Project string `json:"project,omitempty"`
}

// Of returns the revision of a layer.
func (t Triple) Of(l hookpoints.Layer) string {
	return [...]string{t.Shipped, t.User, t.Project}[l]
}

// Head identifies an operation. A part of a composite one names its Parent.
type Head struct {
	ID        string
	Parent    string
	Kind      string // "tool", "model.chat", "run", "turn", ...
	RunID     string
	SessionID string
	Instance  string // "" is main
	Client    string
	Agent     string
	Tool      string // the tool's or the model's id
	Foreign   bool
	Composite bool
	Revisions Triple
	Began     time.Time
}

// Journal is what operations need from a store. Every implementation passes operation/journaltest.
type Journal interface {
	// Commit makes everything durable or nothing; it returns after the sync. A row that is there
	// already is accepted if it is the same, so an unacknowledged commit may be repeated; another
	// row under its key is ErrConflict. The project's cells are compared and set, see Cell.Version.
	// The cells of a commit whose rows are all there are left alone, whatever has become of them.
	Commit(ctx context.Context, c Commit) error
	// Rows returns the rows of one operation in commit order.
	Rows(ctx context.Context, op string) ([]Row, error)
	// RunRows returns the rows of all operations of a run in commit order.
	RunRows(ctx context.Context, run string) ([]Row, error)
	// Open returns the operations whose state isn't final, oldest first.
	Open(ctx context.Context) ([]Head, error)
	// Cells returns the state of a session, and of the project, by name. Where both have a cell of one
	// name it is the session's.
	Cells(ctx context.Context, session string) (map[string]Cell, error)
}

// Commit is what becomes durable together.
type Commit struct {
	Rows  []Row
	Cells []Cell // the values after all deltas of Rows
}

// Cell is a value of a hook's state. Session is "" where the state is the project's. A session's cell
// without a value is removed by a commit; the project's is only compared, and can't be removed, as its
// versions go on.
type Cell struct {
	Session, Name string
	Value         payload.Value
	// Version counts the commits that wrote the cell, 0 if none did. Of a session's cell a commit
	// ignores it. Of the project's it is the one that the value, or the rows, were computed from: if the cell has
	// another by then, the commit is refused with ErrStale, and nothing of it is there.
	Version int64
}

// Chains finds the plan for a point under pinned revisions.
type Chains interface {
	Chain(ctx context.Context, rev Triple, point string, s hookpoints.Scope) (*hookpoints.Chain, error)
}

// Facts opens a source for one chain; a key is read once in it.
type Facts interface {
	// Open is asked for each chain. Uncommitted gives all rows of the session's other operations of which
	// some are in no journal yet, one list an operation, oldest first: the calls of a batch are decided
	// before any of them is.
	Open(h Head, point string, uncommitted Uncommitted) hookpoints.FactSource
}

// Uncommitted reads operations that the journal doesn't know in full; what is in it is read from there.
type Uncommitted func(ctx context.Context) ([][]Row, error)

// Clock is the wall clock, injected.
type Clock interface{ Now() time.Time }
