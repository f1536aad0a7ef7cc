package main

import (
	"context"

	"github.com/spf13/cobra"

	"agentd/internal/api"
	"agentd/internal/daemon"
	"agentd/store"
)

func runsVerb(e *env) *cobra.Command {
	c := &cobra.Command{Use: "runs", Short: "Look at runs, and take them up again"}
	c.AddCommand(
		&cobra.Command{Use: "list", Short: "List runs, oldest first", Args: cobra.NoArgs, RunE: e.listing(func(ctx context.Context, _ *daemon.View, r *store.Reader, _ []string) error {
			runs, err := daemon.Runs(ctx, r, e.activeRuns(ctx))
			if err != nil {
				return err
			}
			if e.json {
				return e.print(runs)
			}
			for _, run := range runs {
				e.say("%-40s %-12s %s", run.RunID, run.Status, run.Task)
			}
			return nil
		})},
		&cobra.Command{Use: "show ID", Short: "Show a run", Args: cobra.ExactArgs(1), RunE: e.reading(func(ctx context.Context, _ *daemon.View, r *store.Reader, args []string) error {
			run, err := daemon.OneRun(ctx, r, args[0], e.activeRuns(ctx))
			if err != nil {
				return err
			}
			if e.json {
				return e.print(run)
			}
			e.say("%s  %s\nsession: %s\ntask: %s\nanswer: %s", run.RunID, run.Status, run.SessionID, run.Task, run.Answer)
			if run.Reason != "" {
				e.say("reason: %s", run.Reason)
			}
			e.showEngines(run.Engines)
			return nil
		})},
		resumeVerb(e),
		&cobra.Command{Use: "cancel ID", Short: "End a run", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
			p, err := e.inProject()
			if err != nil {
				return err
			}
			return daemon.Do(c.Context(), e.options(p), func(conn *daemon.Connection) error { return conn.CancelRun(c.Context(), args[0]) })
		}})
	return c
}

func resumeVerb(e *env) *cobra.Command {
	var q api.ResumeRun
	c := &cobra.Command{Use: "resume ID", Short: "Go on with a run: what is done isn't done again", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		p, err := e.inProject()
		if err != nil {
			return err
		}
		q.Interactive = terminal(e.stdin) && !e.json
		f, err := e.follow(c.Context(), p, q.Interactive, func(ctx context.Context, f *follower) error {
			return f.conn.ResumeRun(ctx, args[0], q, f.take)
		})
		if err != nil {
			return err
		}
		return f.code()
	}}
	c.Flags().BoolVar(&q.RetryUnknownModels, "retry-unknown-models", false, "ask the model again where nobody knows whether it answered")
	c.Flags().BoolVar(&q.AcceptEngine, "accept-engine", false, "go on though another agentd made the run's revisions; what differs is recorded")
	c.Flags().BoolVar(&q.Yes, "yes", false, "answer this run's questions with allow")
	return c
}

// activeRuns asks the daemon which runs are going on; without one, none is.
func (e *env) activeRuns(ctx context.Context) func(string) bool {
	none := func(string) bool { return false }
	p, err := e.places()
	if err != nil {
		return none
	}
	socket, err := p.Socket()
	if err != nil {
		return none
	}
	c, err := api.Dial(ctx, socket)
	if err != nil {
		return none
	}
	defer c.Close()
	runs, err := c.Runs(ctx)
	if err != nil {
		return none
	}
	going := map[string]bool{}
	for _, r := range runs {
		going[r.RunID] = r.Status == "running"
	}
	return func(id string) bool { return going[id] }
}

// showEngines says under which other programs a run went on.
func (e *env) showEngines(list []api.Engine) {
	for _, en := range list {
		for d := range en.Differences.Items() {
			e.say("engine: %s of the %s layer was %s and is %s, accepted by %s", d.Get("path").Text(), d.Get("layer").Text(), d.Get("before"), d.Get("after"), en.Who)
		}
	}
}
