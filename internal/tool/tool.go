// Package tool holds the tools that an agent offers to its model, each confined to one workspace
// folder, and the [Runner] that starts processes.
//
// A [Set] is made once for an agent: it checks the names, holds the workspace open and compiles the
// schemas that arguments are checked against. Tools that write are a [Writer]: they first compute
// the whole change, which hooks and people can look at, and commit it afterwards, unless the file
// has changed in the meantime.
package tool

import (
	"context"
	"fmt"

	"agentd/hookpoints/payload"
)

// Kind is the normal kind of a tool, which hooks are bound to across agents and clients.
type Kind string

// The kinds.
const (
	KindShell  Kind = "shell"
	KindRead   Kind = "read"
	KindWrite  Kind = "write"
	KindEdit   Kind = "edit"
	KindSearch Kind = "search"
	KindFetch  Kind = "fetch"
	KindMCP    Kind = "mcp"
	KindAgent  Kind = "agent"
	KindAsk    Kind = "ask"
	KindOther  Kind = "other"
)

// Overlaps reports whether calls of this kind may run beside each other.
func (k Kind) Overlaps() bool { return k == KindRead || k == KindSearch || k == KindFetch }

// Spec describes a tool to the model and to hooks.
type Spec struct {
	// Name is what the model calls it by. ID is what bindings name as a target: it stays when the
	// name is an alias. For the tools of this package both are the same.
	Name, ID string

	Kind        Kind
	Description string

	// Parameters is the JSON Schema of the arguments, a closed object.
	Parameters payload.Value

	// ReadOnly: the tool changes nothing.
	ReadOnly bool

	// Idempotent: after a crash that lost the outcome the action may simply run again. For a
	// [Writer] that means: the same [Write] may be committed again.
	Idempotent bool
}

// Tool is one thing that a model can do. Implementations may be called by several goroutines.
type Tool interface {
	Spec() Spec

	// Call does it. The arguments have passed [Set.Validate]. It returns when nothing of the call
	// runs any more, at the latest soon after ctx ends.
	Call(ctx context.Context, call Invocation) Result
}

// Writer is a tool whose change can be computed without making it. Its Call is Prepare and Commit.
type Writer interface {
	Tool

	// Prepare computes the change and touches nothing.
	Prepare(ctx context.Context, arguments payload.Value) (Write, error)

	// Commit makes the change, whole or not at all. Content may have been replaced since Prepare.
	// Committing the same Write twice succeeds twice.
	Commit(ctx context.Context, w Write) Result
}

// Invocation is one call.
type Invocation struct {
	Arguments payload.Value

	// Key names the action: a call that is made again after a crash has the same one.
	Key string
}

// Status is how a call ended, in the words of the contract.
type Status string

// The statuses that a tool can report.
const (
	Succeeded Status = "succeeded"
	Failed    Status = "failed"
	Unknown   Status = "unknown"
	Cancelled Status = "cancelled"
)

// Result is what a call gave. The value of a call that didn't succeed is an object whose error says
// why in one sentence.
type Result struct {
	Value  payload.Value
	Status Status
}

// Errorf is a failed result.
func Errorf(format string, args ...any) Result {
	return failure(Failed, fmt.Errorf(format, args...))
}

func failure(s Status, err error, more ...payload.Field) Result {
	return Result{object(append(more, text("error", err.Error()))...), s}
}

func success(fields ...payload.Field) Result { return Result{object(fields...), Succeeded} }

// ended is the result of a call whose context ended before it did anything.
func ended(ctx context.Context) Result {
	if context.Cause(ctx) == context.Canceled {
		return failure(Cancelled, fmt.Errorf("cancelled before it began"))
	}
	return failure(Failed, fmt.Errorf("not begun: %w", context.Cause(ctx)))
}

func object(fields ...payload.Field) payload.Value { return payload.NewObject(fields...) }

func text(name, s string) payload.Field {
	return payload.Field{Name: name, Value: payload.NewString(s)}
}

func integer(name string, i int64) payload.Field {
	return payload.Field{Name: name, Value: payload.NewInt(i)}
}

func flag(name string, b bool) payload.Field {
	return payload.Field{Name: name, Value: payload.NewBool(b)}
}
