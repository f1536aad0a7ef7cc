package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"agentd/internal/api"
	"agentd/internal/daemon"
	"agentd/store"
)

func opsVerb(e *env) *cobra.Command {
	c := &cobra.Command{Use: "ops", Short: "Look at operations"}
	var f api.OperationFilter
	var since string
	list := &cobra.Command{Use: "list", Short: "List operations, oldest first", Args: cobra.NoArgs, RunE: e.listing(func(ctx context.Context, v *daemon.View, r *store.Reader, _ []string) error {
		if since != "" {
			var err error
			if f.Since, err = time.ParseDuration(since); err != nil {
				return usagef("--since %q is none like 1h", since)
			}
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
	list.Flags().StringVar(&f.Run, "run", "", "of this run")
	list.Flags().StringVar(&f.State, "state", "", "in this state, e.g. unknown")
	list.Flags().StringVar(&f.Client, "client", "", "of this client")
	list.Flags().StringVar(&since, "since", "", "whose last row is younger, e.g. 1h")
	var raw bool
	show := &cobra.Command{Use: "show ID", Short: "Show an operation with its records", Args: cobra.ExactArgs(1), RunE: e.reading(func(ctx context.Context, _ *daemon.View, r *store.Reader, args []string) error {
		op, err := daemon.OneOperation(ctx, r, args[0], raw)
		if err != nil {
			return err
		}
		if e.json {
			return e.print(op)
		}
		e.say("%s  %s %s  %s (%s), attempts %d", op.ID, op.Kind, op.Tool, op.State, op.ActualStatus, op.Attempts)
		if op.Reason != "" {
			e.say("reason: %s (%s)", op.Reason, op.By)
		}
		e.say("asked:  %s\nran:    %s\nresult: %s", op.OriginalInput, op.FinalInput, op.Output)
		if raw {
			e.say("raw:    %s", op.Raw)
		}
		for _, rec := range op.Records {
			e.say("  %-20s %-28s %-8s ran=%v %s %s %s", rec.Point, rec.BindingID, rec.Part, rec.Ran, rec.Decision, rec.Error, rec.Why)
		}
		return nil
	})}
	show.Flags().BoolVar(&raw, "raw", false, "also the real result, before hooks changed it")
	c.AddCommand(list, show)
	return c
}
