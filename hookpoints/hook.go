package hookpoints

import (
	"context"
	"errors"
	"time"

	"agentd/hookpoints/payload"
)

// Why a hook didn't do; a record holds one of these words and never the script's own text.
var (
	ErrHookFailed   = errors.New("hook_failed")   // it crashed, or returned what it may not
	ErrBudget       = errors.New("budget")        // it spent its fuel or bytes
	ErrNotPermitted = errors.New("not_permitted") // it decided what its point, or its kind, doesn't allow
	ErrHostTimeout  = errors.New("host_timeout")  // the wall clock, which is a net only
)

// ErrContract means that a host handed in a payload that its point doesn't take.
var ErrContract = errors.New("the payload breaks its contract")

// Limits on what crosses the edge, in bytes, and how deep it may nest.
const (
	MaxPayload     = 8 << 20
	MaxPatch       = 1 << 20
	MaxConfig      = 256 << 10
	MaxScope       = 16 << 10
	MaxText        = 32 << 10 // of context and proceed, which are cut to it
	MaxReason      = 512      // of reasons and prompts, in characters
	MaxResultDepth = 64
	MaxState       = 64 << 10 // of one cell of state, as JSON
	MaxStateKeys   = 256      // of one cell of state
	MaxEffects     = 32       // that one chain may ask for
)

// The wall-clock nets.
const (
	HookTimeout  = time.Second
	ChainTimeout = 10 * time.Second
)

// Hook decides. It must be pure unless its binding says that it isn't replay-safe.
type Hook interface {
	// Decide returns what the hook said and what it used, the latter also beside an error. The error
	// wraps one of the four above; anything else counts as ErrHookFailed. The context ends when the
	// wall-clock net does: a hook looks at ctx.Err() every few thousand steps.
	Decide(ctx context.Context, c *Call) ([]Decision, Usage, error)
}

// Told is an error of Decide or FactKeys that the hook has shown to its author already, through the
// Tracer and with a backtrace. Others the chain shows.
type Told interface {
	error
	Trace() string
}

// FactAsker is fulfilled by hooks whose facts depend on the payload. It is as pure as Decide, runs
// under the same meter and counts towards the same budget.
type FactAsker interface {
	FactKeys(ctx context.Context, c *Call) ([]string, Usage, error)
}

// FactSource reads facts. One source serves one chain of one operation and remembers its keys; it
// owns the allow list, timeouts and size limits. It never fails: a fact that can't be had is absent.
type FactSource interface {
	Fact(ctx context.Context, key string) Fact
}

// Fact is a value as read, or why there is none.
type Fact struct {
	Key    string
	Value  payload.Value
	Absent string
	Pass   string // the part of the chain that read it
	Point  string // the chain
	Round  int    // how often that part had run for the operation before, as guards may
}

// States reads the state that a binding sees: committed rows under what this batch changed already.
// A cell without state is an empty object.
type States interface {
	State(cell string) payload.Value
}

// Clock is a monotonic clock for records and the net; below internal/daemon it is injected.
type Clock interface{ Nanos() int64 }

// Tracer takes what a hook's author should see and nobody else: print, and errors with a backtrace.
// Kind is "print" or "error". It must not block.
type Tracer interface {
	Trace(bindingID, kind, text string)
}

// Usage is what a call cost.
type Usage struct{ Fuel, Bytes int64 }

// Call is what one hook sees. It is read-only and is not kept after Decide returns.
type Call struct {
	Point   *Point
	Binding *Binding
	Payload payload.Value
	Facts   payload.Value // an object by key, absent facts are null in it; absent itself without facts
	Missing payload.Value // why facts are absent, an object by key
	State   payload.Value // an object
	Tracer  Tracer        // never nil
	Spent   Usage         // by FactKeys of this very call: what is left of the budget is Decide's
	*Around
}

// Around is the same for every hook of an operation.
type Around struct {
	Scope Scope
	Now   time.Time // when the operation began, as recorded
	Seed  string    // from the operation's id
}
