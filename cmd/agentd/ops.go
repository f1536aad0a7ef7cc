package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/internal/api"
	"agentd/internal/daemon"
	"agentd/operation"
	"agentd/store"
)

// states are what an operation can be in; the first chooses all.
var states = []operation.State{"", operation.NotStarted, operation.Waiting, operation.Running, operation.Finished, operation.Rejected,
	operation.Responded, operation.Stopped, operation.Unknown, operation.Unobserved}

func opsVerb(e *env) *cobra.Command {
	c := &cobra.Command{Use: "ops", Short: "Look at operations"}
	var f api.OperationFilter
	var since string
	list := &cobra.Command{Use: "list", Short: "List operations, oldest first", Args: cobra.NoArgs, RunE: e.listing(func(ctx context.Context, v *daemon.View, r *store.Reader, _ []string) error {
		if since != "" {
			var err error
			if f.Since, err = parseAge(since); err != nil {
				return usagef("--since %q is none like 7d or 1h", since)
			}
		}
		if !slices.Contains(states, operation.State(f.State)) {
			return usagef("--state is %q, want one of %s", f.State, strings.Trim(fmt.Sprint(states[1:]), "[]"))
		}
		ops, err := daemon.Operations(ctx, r, f, v.Runtime.Now())
		if err != nil {
			return err
		}
		if e.json {
			return e.print(ops)
		}
		for _, o := range ops {
			e.say("%-60s %-11s %-16s %-11s %s", o.ID, o.Kind, o.Tool, o.State, o.ActualStatus)
		}
		return nil
	})}
	list.Flags().StringVar(&f.Run, "run", "", "of the run `ID`")
	list.Flags().StringVar(&f.State, "state", "", "in this `STATE`, e.g. unknown")
	list.Flags().StringVar(&f.Client, "client", "", "of this `CLIENT`")
	list.Flags().StringVar(&since, "since", "", "that changed within this `TIME`, e.g. 1h")
	var raw bool
	show := &cobra.Command{Use: "show ID", Short: "Show an operation with its records", Args: cobra.ExactArgs(1), RunE: e.reading(func(ctx context.Context, _ *daemon.View, r *store.Reader, args []string) error {
		op, err := daemon.OneOperation(ctx, r, args[0], raw)
		if err != nil {
			return err
		}
		if e.json {
			return e.print(op)
		}
		e.showOperation(op)
		return nil
	})}
	show.Flags().BoolVar(&raw, "raw", false, "also the real result, before hooks changed it")
	c.AddCommand(list, show, reconcileVerb(e))
	return c
}

// showOperation is an operation for people. Of a tool's input they see the arguments.
func (e *env) showOperation(op api.Operation) {
	input := func(v payload.Value) payload.Value {
		if args := v.Get("arguments"); args.Exists() {
			return args
		}
		return v
	}
	e.say("%s", strings.Join(strings.Fields(fmt.Sprintf("%s  %s %s", op.ID, op.Kind, op.Tool)), "  "))
	e.say("state:  %s, the action: %s, %s", op.State, op.ActualStatus, count(op.Attempts, "attempt"))
	if op.Reason != "" {
		by := ""
		if op.By != "" {
			by = " (" + op.By + ")"
		}
		e.say("reason: %s%s", op.Reason, by)
	}
	asked, ran := input(op.OriginalInput), input(op.FinalInput)
	if asked.Exists() {
		e.say("asked:  %s", asked)
	}
	if op.Attempts > 0 && ran.Exists() && ran.String() != asked.String() {
		e.say("ran:    %s", ran)
	}
	if op.Output.Exists() && op.Output.Kind() != payload.Null {
		e.say("result: %s", op.Output)
	}
	if op.Raw.Exists() {
		e.say("raw:    %s", op.Raw)
	}
	e.showEngines(op.Engines)
	for _, r := range op.Records {
		e.say("  %-20s %-28s %-8s %s", r.Point, r.BindingID, r.Part, decided(r))
	}
}

// decided is what a binding did, in words.
func decided(r hookpoints.Record) string {
	switch {
	case !r.Ran:
		return "not run: " + r.Why
	case r.Error != "":
		return "failed: " + r.Error
	case r.Decision == "":
		return "no opinion"
	}
	return strings.TrimSpace(r.Decision + " " + strings.Join(r.Fields, ","))
}
