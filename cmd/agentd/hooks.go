package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"agentd/internal/api"
	"agentd/internal/config"
	"agentd/internal/daemon"
)

func hooksVerb(e *env) *cobra.Command {
	c := &cobra.Command{Use: "hooks", Short: "Look at what is loaded, and write new hooks"}
	var dev bool
	list := &cobra.Command{Use: "list", Short: "List the bindings that serve", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		p, err := e.places()
		if err != nil {
			return err
		}
		rows, err := e.hookRows(c.Context(), p, dev)
		if err != nil {
			return err
		}
		if e.json {
			return e.print(rows)
		}
		for _, r := range rows {
			kind := "hook"
			if r.Guard {
				kind = "guard"
			} else if r.Observation {
				kind = "observation"
			}
			e.say("%-28s %-20s %-12s %4d  %s:%d%s", r.BindingID, r.Point, kind, r.Priority, r.File, r.Line, asks(r))
			for _, what := range r.Lacks {
				e.say("    %s", what)
			}
		}
		return nil
	}}
	list.Flags().BoolVar(&dev, "dev", false, "the working files, whatever serves")
	c.AddCommand(list, newHookVerb(e), planVerb(e))
	return c
}

// asks is what a binding asks for and may, or may not.
func asks(r api.HookRow) string {
	var out []string
	for _, effect := range r.Effects {
		if !slices.Contains(r.Grants, effect) {
			effect += " (not granted)"
		}
		out = append(out, effect)
	}
	if out == nil {
		return ""
	}
	return "  effects: " + strings.Join(out, ", ")
}

// hookRows asks the daemon, unless the working files are asked for or none is there.
func (e *env) hookRows(ctx context.Context, p config.Places, dev bool) ([]api.HookRow, error) {
	if !dev {
		socket, err := p.Socket()
		if err != nil {
			return nil, err
		}
		if c, err := api.Dial(ctx, socket); err == nil {
			defer c.Close()
			return c.Hooks(ctx)
		}
	}
	v, err := daemon.Look(ctx, p, e.getenv, dev)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	for _, n := range v.Notes {
		e.note("note: %s", n)
	}
	for _, f := range v.Faults {
		e.note("error: %v", f)
	}
	return daemon.HookRows(p, v.Generation), nil
}
