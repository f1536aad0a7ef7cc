package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"agentd/operation"
	"agentd/store"
)

// said is what a process told the world that matters: it must be durable.
type said struct {
	Type  string
	Op    string `json:"operation_id"`
	Run   string `json:"run_id"`
	State string
	Value struct {
		Op string `json:"operation_id"`
	} `json:"question"`
	Rev string `json:"revision"`
}

func acknowledged(stdout []byte) []said {
	var out []said
	for line := range strings.Lines(string(stdout)) {
		var s said
		if json.Unmarshal([]byte(line), &s) != nil {
			continue
		}
		if slices.Contains([]string{"tool.completed", "tool.rejected", "tool.uncertain", "model.completed", "question", "run.completed"}, s.Type) {
			out = append(out, s)
		} else if s.Rev != "" {
			s.Type = "revision"
			out = append(out, s)
		}
	}
	return out
}

// missing says what of it isn't durable, "" if all is.
func (s said) missing(ctx context.Context, r *store.Reader) string {
	op, want := s.Op, []operation.State{operation.Finished, operation.Responded}
	switch s.Type {
	case "revision":
		if _, err := r.Revision(ctx, s.Rev); err != nil {
			return err.Error()
		}
		return ""
	case "question":
		op, want = s.Value.Op, nil
	case "run.completed":
		op = s.Run
	case "tool.completed", "tool.rejected", "tool.uncertain":
		want = []operation.State{operation.State(s.State)}
	}
	sum, rows, err := r.Operation(ctx, op)
	switch {
	case err != nil:
		return err.Error()
	case len(rows) == 0:
		return op + " isn't in the journal"
	case want != nil && !slices.Contains(want, sum.State):
		return fmt.Sprintf("%s is %s", op, sum.State)
	}
	return ""
}
