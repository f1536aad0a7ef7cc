package main

import (
	"context"

	"github.com/spf13/cobra"

	"agentd"
	"agentd/internal/api"
	"agentd/internal/config"
	"agentd/internal/daemon"
)

func planVerb(e *env) *cobra.Command {
	var scope []string
	var kind string
	var dev bool
	c := &cobra.Command{Use: "plan POINT", Short: "Show in which order the bindings of a point would run for a call, and why others don't", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		q := agentd.PlanRequest{Point: args[0], Kind: kind}
		var err error
		if q.Scope, err = parseScope(scope); err != nil {
			return err
		}
		p, err := e.places()
		if err != nil {
			return err
		}
		rows, err := e.plan(c.Context(), p, q, dev)
		if err != nil {
			return err
		}
		if e.json {
			return e.print(rows)
		}
		e.showPlan(rows)
		return nil
	}}
	c.Flags().StringArrayVar(&scope, "scope", nil, "a field of the call's scope, as `K=V`: target, client, purpose, instance_id ...")
	c.Flags().StringVar(&kind, "kind", "", "the normal tool `KIND`: shell, read, write ...")
	c.Flags().BoolVar(&dev, "dev", false, "the working files instead of what is published")
	return c
}

// plan asks the daemon, unless the working files are asked for or none is there.
func (e *env) plan(ctx context.Context, p config.Places, q agentd.PlanRequest, dev bool) ([]agentd.PlanRow, error) {
	if !dev {
		socket, err := p.Socket()
		if err != nil {
			return nil, err
		}
		if c, err := api.Dial(ctx, socket); err == nil {
			defer c.Close()
			return c.Plan(ctx, q)
		}
	}
	v, err := daemon.Look(ctx, p, e.getenv, dev)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	if err := e.sound(v); err != nil {
		return nil, err
	}
	return v.Runtime.Plan(v.Generation, q)
}

func (e *env) showPlan(rows []agentd.PlanRow) {
	runs := 0
	for _, r := range rows {
		if r.Runs {
			runs++
			e.say("%3d  %-28s %-8s %4d  %s:%d", runs, r.BindingID, r.Part, r.Priority, r.File, r.Line)
		} else {
			e.say("  -  %-28s %-8s       %s", r.BindingID, r.Part, r.Why)
		}
	}
	if runs == 0 {
		e.note("nothing runs here for such a call")
	}
}
