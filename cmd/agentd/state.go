package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"agentd/internal/api"
	"agentd/internal/daemon"
	"agentd/store"
)

func stateVerb(e *env) *cobra.Command {
	c := &cobra.Command{Use: "state", Short: "Look at what hooks remember, and make them forget"}
	var session string
	show := &cobra.Command{Use: "show", Short: "Show what hooks remember", Args: cobra.NoArgs, RunE: e.listing(func(ctx context.Context, _ *daemon.View, r *store.Reader, _ []string) error {
		rows, err := daemon.State(ctx, r, session)
		if err != nil {
			return err
		}
		return e.showState(rows)
	})}
	show.Flags().StringVar(&session, "session", "", "of the session `ID`")

	var q api.ClearState
	forget := &cobra.Command{Use: "clear [NAME...]", Short: "Forget it: by name, of a session, or all; not while a run of the session is going on", RunE: func(c *cobra.Command, args []string) error {
		q.Names = args
		switch {
		case q.All && (q.Session != "" || len(args) > 0):
			return usagef("--all excludes --session and names")
		case !q.All && q.Session == "" && len(args) == 0:
			return usagef("name what is to be forgotten, as state show lists it, or give --session ID or --all")
		}
		p, err := e.places()
		if err != nil {
			return err
		}
		var rows []api.StateRow
		err = daemon.Do(c.Context(), e.options(p), func(conn *daemon.Connection) (err error) {
			rows, err = conn.ClearState(c.Context(), q)
			return err
		})
		if err != nil {
			return err
		}
		if !e.json {
			e.say("%s cleared", count(len(rows), "cell"))
		}
		return e.showState(rows)
	}}
	forget.Flags().StringVar(&q.Session, "session", "", "only of the session `ID`, and nothing of the project")
	forget.Flags().BoolVar(&q.All, "all", false, "everything, of all sessions and of the project")
	c.AddCommand(show, forget)
	return c
}

func (e *env) showState(rows []api.StateRow) error {
	if e.json {
		return e.print(rows)
	}
	for _, r := range rows {
		name, of := r.Layer+"/"+r.Name, r.SessionID
		if r.Instance != "" {
			name += "@" + r.Instance
		}
		if r.Scope == "project" {
			of = "(project)"
		}
		e.say("%-28s %-36s v%-4d %7s  %s", name, of, r.Version, fmt.Sprintf("%d B", r.Bytes), short(r.Value.String(), 80))
	}
	return nil
}

// short is the beginning of a text that may be long.
func short(s string, limit int) string {
	r := []rune(s)
	if len(r) <= limit {
		return s
	}
	return string(r[:limit-3]) + "..."
}
