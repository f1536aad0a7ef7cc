package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"agentd/internal/config"
	"agentd/internal/daemon"
)

func serveVerb(e *env) *cobra.Command {
	var dev bool
	var listen string
	c := &cobra.Command{Use: "serve", Short: "Run the daemon", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		p, err := e.places()
		if err != nil {
			return err
		}
		live, err := config.ReadLive(p, e.getenv)
		if err != nil {
			return err
		}
		if p.Project == "" {
			e.note("note: %s", noProject)
		}
		o := e.options(p)
		o.Dev, o.Listen, o.Log = dev, listen, e.logger(live.LogLevel)
		if dev {
			if o.Approved, err = e.approve(c.Context(), p); err != nil {
				return err
			}
		}
		if e.json {
			o.Log = slog.New(slog.NewJSONHandler(e.stdout, &slog.HandlerOptions{Level: live.LogLevel}))
		}
		d, err := daemon.Open(c.Context(), o)
		if err != nil {
			return err
		}
		return d.Serve(c.Context(), func(addresses []string) {
			for _, a := range addresses {
				e.note("listening on %s", a)
			}
		})
	}}
	c.Flags().BoolVar(&dev, "dev", false, "follow the working files instead of the published revisions")
	c.Flags().StringVar(&listen, "listen", "", "also answer on this `ADDRESS`, 127.0.0.1:PORT, with the token in state/token")
	return c
}
