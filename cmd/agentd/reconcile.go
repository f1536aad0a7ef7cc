package main

import (
	"github.com/spf13/cobra"

	"agentd/hookpoints/payload"
	"agentd/internal/api"
	"agentd/internal/daemon"
	"agentd/operation"
)

func reconcileVerb(e *env) *cobra.Command {
	var retry bool
	var succeeded, failed string
	c := &cobra.Command{Use: "reconcile ID", Short: "Say how an operation ended of which nobody knows", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		q, err := settlement(c, retry, succeeded, failed)
		if err != nil {
			return err
		}
		p, err := e.inProject()
		if err != nil {
			return err
		}
		return daemon.Do(c.Context(), e.options(p), func(conn *daemon.Connection) error {
			op, err := conn.Reconcile(c.Context(), args[0], q)
			if err != nil {
				return err
			}
			if e.json {
				return e.print(op)
			}
			e.say("%s is %s", op.ID, op.State)
			return nil
		})
	}}
	c.Flags().BoolVar(&retry, "retry", false, "it may run again, once")
	c.Flags().StringVar(&succeeded, "succeeded", "", "it did, and this `JSON` is its result")
	c.Flags().StringVar(&failed, "failed", "", "it didn't, for this `REASON`")
	return c
}

// settlement is what the flags say.
func settlement(c *cobra.Command, retry bool, succeeded, failed string) (q api.Reconcile, err error) {
	said := 0
	if retry {
		q.Verb, said = operation.Retry, said+1
	}
	if c.Flags().Changed("succeeded") {
		q.Verb, said = operation.SettleSucceeded, said+1
		if q.Value, err = payload.ParseString(succeeded); err != nil {
			return q, usagef("--succeeded is no JSON: %v", err)
		}
	}
	if c.Flags().Changed("failed") {
		q.Verb, q.Reason, said = operation.SettleFailed, failed, said+1
	}
	if said != 1 || q.Verb == operation.SettleFailed && failed == "" {
		return q, usagef("say one of --retry, --succeeded JSON and --failed REASON")
	}
	return q, nil
}
