package operation

import (
	"time"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// Row is one durable fact about an operation; (operation, stage, number) is unique.
type Row interface {
	Key() Key
}

// Key identifies a row.
type Key struct {
	Op    string
	Stage Stage
	N     int
}

// Committed is where a row stands in its journal.
type Committed struct {
	Key
	At     time.Time // when it was committed
	Commit int64     // the same for what became durable together, and never smaller than before
}

// Stage names the rows.
type Stage string

// The stages, in the order in which they can come.
const (
	StPoint   Stage = "point"
	StReady   Stage = "ready"
	StWaiting Stage = "waiting"
	StAnswer  Stage = "answer"
	StIntent  Stage = "intent"
	StRetry   Stage = "retry"
	StOutcome Stage = "outcome"
	StAfter   Stage = "after"
	StFailed  Stage = "failed"
	StEffect  Stage = "effect"
	StEngine  Stage = "engine"
	StHook    Stage = "hook"
	StHooked  Stage = "hooked"
)

// NotExecuted is the code of an action that another one of its batch kept from running by a stop.
const NotExecuted = "not_executed"

// NoBefore is the reason of a client's operation of which only its end was reported.
const NoBefore = "no before event was seen"

// NobodyAsked is how the reason of a denial begins where a hook wants a person to be asked and nobody can be.
const NobodyAsked = "it isn't allowed: nobody can be asked: "

// SameAction is the code of a client's operation that was decided as another one of the same action.
const SameAction = "same_action"

// Chained is what chains computed: it stands in every row that carries a chain.
type Chained struct {
	Records []hookpoints.Record
	Facts   []hookpoints.Fact
	State   []hookpoints.Delta
	Effects []hookpoints.EffectRequest
	Texts   []hookpoints.Text
}

func (c *Chained) add(r *hookpoints.Result) {
	c.Records = append(c.Records, r.Records...)
	c.Facts = append(c.Facts, r.Facts...)
	c.State = append(c.State, r.State...)
	c.Effects = append(c.Effects, r.Effects...)
	c.Texts = append(c.Texts, r.Texts...)
}

// Decided is what stood before an action.
type Decided struct {
	Head     Head
	Original payload.Value // as first given
	Final    payload.Value // as dispatched
	Write    payload.Value // of tools that write a file: path, kind, content, base_hash
	Outcome  hookpoints.Outcome
	By       string // the binding that ended the chain, or who answered
	Reason   string
	Code     string        // of a rejection
	Response payload.Value // of respond
	Clear    bool          // of stop

	// What the chains were given, so that they can be computed again.
	Scope    payload.Value   // as hooks saw it
	Policy   string          // of an action that may have to be confirmed
	Alone    bool            // nobody could be asked
	Prepared []payload.Value // Write as each preparation gave it, where Write doesn't say it all
	Chained
}

// The rows.
type (
	// PointRow journals a chain without an action of its own; N counts the chains of its operation.
	PointRow struct {
		Decided
		Point string
		N     int
	}
	// ReadyRow keeps a decided call of a batch whose turn hasn't come, so that no chain runs twice.
	ReadyRow struct{ Decided }
	// WaitingRow parks a decided operation with its question.
	WaitingRow struct {
		Decided
		Question Question
		N        int
	}
	// AnswerRow is what a person said to the waiting row of the same number, or, with the verb retry
	// and the next free number, about an operation whose outcome is unknown.
	AnswerRow struct {
		Op     string
		N      int
		Answer Answer
	}
	// IntentRow is durable before the action starts. State is Running, or why there is no action:
	// Rejected, Responded, Stopped. It holds what a ready or waiting row held: a reader takes the
	// last row of an operation, never both.
	IntentRow struct {
		Decided
		State State
	}
	// RetryRow is durable before an action starts that was started before: an unknown one because a
	// person allowed it, a composite one because of a resume, an idempotent tool by its declaration.
	RetryRow struct {
		Op  string
		N   int
		Why string
	}
	// OutcomeRow is durable before any after hook runs. N counts attempts.
	OutcomeRow struct {
		Op     string
		N      int
		Value  payload.Value
		Status string

		// Of a client's report, where it says something else than the intent.
		Evidence payload.Value // the arguments
		Scope    payload.Value
		Event    string // the client's key for it, "" if it has none

		Who    string // the person who said so, where nobody knew
		Reason string
	}
	// AfterRow is what came out; it rides in the next commit. Effective is what history, events and
	// the next request show. N is its outcome's.
	AfterRow struct {
		Op        string
		N         int
		Effective payload.Value
		Stopped   bool // a hook stopped the run here
		Proceed   string
		By        string
		Reason    string
		Unknown   bool // there is no outcome, and the model was told so
		Chained
	}
	// FailedRow keeps the records of a chain that failed and will be computed again.
	FailedRow struct {
		Op    string
		N     int
		Point string
		By    string
		Error string
		Given payload.Value // see [FailedRow.Decided]; absent after an action
		Chained
	}
	// EffectRow is an effect that a chain asked for. It becomes durable with the row of that chain, and is
	// the first row of an operation of its own, whose id is the key under which the effect is done. Its
	// input is {name, arguments}, By is the binding that asked.
	EffectRow struct {
		Decided
		Before bool // the action of its parent
		Depth  int  // 1 if a chain of the loop asked, one more than that of the effect it comes after
	}
)

// Key implements Row.
func (r PointRow) Key() Key { return Key{r.Head.ID, StPoint, r.N} }

// Key implements Row.
func (r ReadyRow) Key() Key { return Key{r.Head.ID, StReady, 0} }

// Key implements Row.
func (r WaitingRow) Key() Key { return Key{r.Head.ID, StWaiting, r.N} }

// Key implements Row.
func (r AnswerRow) Key() Key { return Key{r.Op, StAnswer, r.N} }

// Key implements Row.
func (r IntentRow) Key() Key { return Key{r.Head.ID, StIntent, 0} }

// Key implements Row.
func (r RetryRow) Key() Key { return Key{r.Op, StRetry, r.N} }

// Key implements Row.
func (r OutcomeRow) Key() Key { return Key{r.Op, StOutcome, r.N} }

// Key implements Row.
func (r AfterRow) Key() Key { return Key{r.Op, StAfter, r.N} }

// Key implements Row.
func (r FailedRow) Key() Key { return Key{r.Op, StFailed, r.N} }

// Key implements Row.
func (r EffectRow) Key() Key { return Key{r.Head.ID, StEffect, 0} }
