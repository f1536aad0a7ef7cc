package daemon

import (
	"context"
	"runtime"

	"agentd/builtins"
	"agentd/builtins/meter"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/internal/api"
	"agentd/operation"
	"agentd/store"
)

// ExportedRun is the first line of an exported run.
type ExportedRun struct {
	Type string `json:"type"` // "run"
	api.Run
	Platform string `json:"platform"`
	Schedule int    `json:"schedule"` // the numbers of the agentd that exports
	Builtins int    `json:"builtins"`
}

// ExportedOperation is a line for each operation of the run: what ops show prints without --raw, less
// the input before hooks changed it, with when its rows were committed, and which facts its hooks were
// given, without their values.
type ExportedOperation struct {
	Type string `json:"type"` // "operation"
	api.Operation
	Steps []store.Step   `json:"steps"`
	Facts []ExportedFact `json:"facts"`
	// Replaced means that a hook or a person changed the input; what it was before isn't told.
	Replaced bool   `json:"input_replaced,omitempty"`
	Error    string `json:"error,omitempty"` // why its rows can't be read; then there is no more of it
}

// ExportedFact is a fact without its value.
type ExportedFact struct {
	Key    string `json:"key"`
	Absent string `json:"absent,omitempty"`
}

// Export writes one run for a bug report: the run, then its operations in the order in which they
// began. What a hook replaced isn't in it. It reports how many operations can't be read.
func Export(ctx context.Context, r *store.Reader, id string, write func(any) error) (unreadable int, err error) {
	run, err := OneRun(ctx, r, id, func(string) bool { return false })
	if err != nil {
		return 0, err
	}
	if err := write(ExportedRun{"run", run, runtime.GOOS + "/" + runtime.GOARCH, meter.Schedule, builtins.Version}); err != nil {
		return 0, err
	}
	ops, err := r.Operations(ctx, store.Filter{Run: id})
	if err != nil {
		return 0, err
	}
	for _, o := range ops {
		line, err := exported(ctx, r, o)
		if err != nil {
			return unreadable, err
		}
		if line.Error != "" {
			unreadable++
		}
		if err := write(line); err != nil {
			return unreadable, err
		}
	}
	return unreadable, nil
}

func exported(ctx context.Context, r *store.Reader, o store.OperationRow) (line ExportedOperation, err error) {
	line = ExportedOperation{Type: "operation", Facts: []ExportedFact{}}
	if line.Steps, err = r.Steps(ctx, o.Head.ID); err != nil {
		return line, err
	}
	sum, rows, err := r.Operation(ctx, o.Head.ID)
	if ctx.Err() != nil {
		return line, ctx.Err()
	}
	if err != nil { // the others can still be seen
		line.Operation, line.Error = listed(o), err.Error()
		return line, nil
	}
	line.Operation = shown(o.Head.ID, sum, rows)
	if line.Replaced = line.OriginalInput.String() != line.FinalInput.String(); line.Replaced {
		line.OriginalInput = payload.Value{}
	}
	for _, row := range rows {
		for _, f := range factsOf(row) {
			line.Facts = append(line.Facts, ExportedFact{f.Key, f.Absent})
		}
	}
	return line, nil
}

func factsOf(row operation.Row) []hookpoints.Fact {
	switch row := row.(type) {
	case operation.PointRow:
		return row.Facts
	case operation.IntentRow: // what a ready or waiting row held stands in it again
		return row.Facts
	case operation.AfterRow:
		return row.Facts
	case operation.FailedRow:
		return row.Facts
	}
	return nil
}
