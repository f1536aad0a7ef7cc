// Package interp is how a script becomes hooks, whatever its language.
package interp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// Limits on source text. Deeper nesting or longer text is refused before it is parsed.
const (
	MaxSource  = 256 << 10
	MaxNesting = 200
)

// Source is one file of a layer. Name is its path in the layer's hooks folder, with forward
// slashes: "limit.star", "lib/paths.star".
type Source struct {
	Name string
	Text []byte
}

// Hash is the SHA-256 of the text, "sha256:" before it.
func (s Source) Hash() string {
	sum := sha256.Sum256(s.Text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// GoFile begins the File of a definition that is a host's Go code.
const GoFile = "go:"

// Definition is one call of hook(...), checked as far as it can be without points and layers.
// Slices are nil where the script said nothing.
type Definition struct {
	HookID, Version string
	File            string
	Line            int
	Points          []string // where it is bound under its own id; none: only a definition
	Purposes        []string
	Instances       []string
	Targets         []string
	Kinds           []string
	Clients         []string
	ConfigSchema    payload.Value // absent: any object
	Default         payload.Value // absent: {}
	Priority        int           // hookpoints.DefaultPriority if not said
	Timeout         time.Duration // hookpoints.HookTimeout if not said
	FailurePolicy   string        // hookpoints.Block if not said
	Stream          string        // hookpoints.Held if not said
	Contract        int           // 2 if not said
	Guard           bool
	Observation     bool
	Background      bool
	Isolate         bool
	FactKeys        []string // the list form of facts; the function form is a FactAsker
	Effects         []string
	StateName       string // "": the binding's id
	StateProject    bool
	NotReplaySafe   bool     // only a host's Go code can be that; scripts are pure
	Modules         []string // names of the modules that the file loads, directly or not
	Hook            hookpoints.Hook
}

// Module finds the text of a loaded module: of the same layer or package only. Name is as in a
// Source. A name that isn't there is an error that says where it was looked for.
type Module func(name string) (Source, error)

// Engine is one language. It is safe for concurrent use; what it returns is immutable.
type Engine interface {
	// Identity is what a revision pins: language, interpreter version, dialect.
	Identity() Identity
	// Load runs a source once under the limits and returns what it defines. A fault in the script
	// is an *Error.
	Load(ctx context.Context, src Source, module Module, limits meter.Limits) ([]Definition, error)
}

// Identity names an interpreter to the byte: a script under another one is another script.
type Identity struct {
	Language    string `json:"language"`
	Interpreter string `json:"interpreter"` // module and version
	Dialect     string `json:"dialect"`
}

// Error is a fault in a script, shown to its author and to nobody else.
type Error struct {
	File      string
	Line      int // 0 if it isn't known
	Message   string
	HookID    string // of the call of hook(...) that was refused, as far as it says; "" elsewhere
	Backtrace string // of the script, innermost call last; "" for faults of loading
	Cause     error  // hookpoints.ErrHookFailed, ErrBudget or ErrHostTimeout
}

// Error is the message with where, one line.
func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Message)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
}

// Trace is the error as its author wants it: with the backtrace.
func (e *Error) Trace() string {
	if e.Backtrace == "" {
		return e.Error()
	}
	return e.Error() + "\n" + strings.TrimRight(e.Backtrace, "\n")
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Cause }
