package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"agentd"
	"agentd/internal/api"
	"agentd/internal/config"
	"agentd/internal/daemon"
)

func statusVerb(e *env) *cobra.Command {
	return &cobra.Command{Use: "status", Short: "Say what serves, and what is wrong with what doesn't", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		p, err := e.places()
		if err != nil {
			return err
		}
		s, err := e.status(c.Context(), p)
		if err != nil {
			return err
		}
		if p.Project == "" {
			s.Notes = append(s.Notes, noProject)
		}
		if e.json {
			return e.print(s)
		}
		state := "not running; this is what it would serve"
		if s.Daemon {
			state = fmt.Sprintf("running, generation %d, %s going on", s.Generation, count(s.Running, "run"))
		}
		what := "what is published"
		if s.Mode == "dev" {
			what = "the working files"
		}
		e.say("daemon:    %s", state)
		e.say("serves:    %s, %s", what, count(s.Hooks, "hook"))
		e.say("revisions: shipped %.12s, user %.12s, project %.12s", dash(s.Revisions.Shipped), dash(s.Revisions.User), dash(s.Revisions.Project))
		if b := s.Background; b != (agentd.Background{}) {
			e.say("background: %d waiting, %d ran, %d of them failed, %d dropped", b.Waiting, b.Ran, b.Failed, b.Dropped)
		}
		if len(s.Clients) > 0 {
			var list []string
			for _, name := range slices.Sorted(maps.Keys(s.Clients)) {
				list = append(list, name+" ("+s.Clients[name]+")")
			}
			e.say("clients:   %s", strings.Join(list, ", "))
		}
		for _, what := range s.Ignored {
			e.say("ignored: %s", what)
		}
		for _, n := range s.Notes {
			e.say("note: %s", n)
		}
		for _, f := range s.Errors {
			e.say("error: %v", f)
		}
		return nil
	}}
}

// noProject is for who is in another folder than they think.
const noProject = "there is no " + config.Dir + " folder here or above, so only your own hooks serve; agentd init makes one"

func dash(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// status asks the daemon, or says what one would serve.
func (e *env) status(ctx context.Context, p config.Places) (api.Status, error) {
	socket, err := p.Socket()
	if err != nil {
		return api.Status{}, err
	}
	if c, err := api.Dial(ctx, socket); err == nil {
		defer c.Close()
		return c.Status(ctx)
	} else if !errors.Is(err, api.ErrNoDaemon) {
		return api.Status{}, err
	}
	v, err := daemon.Look(ctx, p, e.getenv, false)
	if err != nil {
		return api.Status{}, err
	}
	defer v.Close()
	return v.Status(ctx), nil
}
