package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"agentd/internal/api"
	"agentd/internal/daemon"
)

func publishVerb(e *env) *cobra.Command {
	var q api.Publish
	c := &cobra.Command{Use: "publish", Short: "Test the working files, then freeze them as a revision", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		p, err := e.places()
		if err != nil {
			return err
		}
		if q.KeyFile != "" {
			if q.KeyFile, err = filepath.Abs(q.KeyFile); err != nil {
				return err
			}
		}
		var res api.Published
		err = daemon.Do(c.Context(), e.options(p), func(conn *daemon.Connection) (err error) {
			res, err = conn.Publish(c.Context(), q)
			return err
		})
		if err != nil {
			return err
		}
		if e.json {
			if err := e.print(res); err != nil {
				return err
			}
		}
		if len(res.Errors) > 0 {
			for _, f := range res.Errors {
				e.note("error: %v", f)
			}
			e.note("nothing was published")
			return exit(exitFailed)
		}
		e.newHead(res)
		return nil
	}}
	c.Flags().StringVar(&q.Layer, "layer", "project", "which `LAYER`: project or user")
	c.Flags().StringVar(&q.KeyFile, "sign", "", "sign the manifest with the Ed25519 key in `KEYFILE`, as openssl genpkey makes one")
	c.Flags().StringVarP(&q.Note, "message", "m", "", "a `NOTE` that revisions list shows")
	return c
}

// newHead says in words what has become the head of a layer.
func (e *env) newHead(res api.Published) {
	for _, n := range res.Notes {
		e.note("note: %s", n)
	}
	if e.json {
		return
	}
	e.say("revision %s", res.Revision)
	about := fmt.Sprintf("layer %s, %s, ", res.Layer, count(len(res.Bindings), "binding"))
	switch res.Parent {
	case "":
		about += "the first one"
	case res.Revision:
		about += "as it was"
	default:
		about += count(len(res.Changed), "change")
	}
	if res.Tests != nil {
		about += fmt.Sprintf(", %s passed", count(res.Tests.Passed, "test"))
	}
	e.say("%s", about)
	for _, g := range res.Grants {
		e.say("  newly granted: %s", g)
	}
	if res.SignedBy != "" {
		e.say("signed by %s", res.SignedBy)
	}
	for _, ch := range res.Changed {
		e.say("  %s", ch.Path)
	}
}
