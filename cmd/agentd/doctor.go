package main

import (
	"time"

	"github.com/spf13/cobra"

	"agentd/internal/daemon"
	"agentd/internal/install"
)

func doctorVerb(e *env) *cobra.Command {
	return &cobra.Command{Use: "doctor [CLIENT]", Short: "Look what keeps agentd from working, or from a client's events, and say what to do", Args: cobra.MaximumNArgs(1), RunE: func(c *cobra.Command, args []string) error {
		p, err := e.places()
		if err != nil {
			return err
		}
		var findings []daemon.Finding
		if len(args) == 0 {
			findings = daemon.Doctor(c.Context(), e.options(p))
		} else {
			client, err := install.For(args[0])
			if err != nil {
				return usage{err}
			}
			findings = daemon.DoctorClient(c.Context(), e.options(p), client, time.Now())
		}
		if e.json {
			if err := e.print(map[string]any{"findings": findings}); err != nil {
				return err
			}
		}
		return e.tellFindings(findings)
	}}
}

// tellFindings prints findings for people, and fails if there is an error among them.
func (e *env) tellFindings(findings []daemon.Finding) error {
	failed := false
	for _, f := range findings {
		failed = failed || f.Level == daemon.LevelError
		switch {
		case e.json:
		case f.Fix == "":
			e.say("%-8s %s", f.Level, f.What)
		default:
			e.say("%-8s %s\n         -> %s", f.Level, f.What, f.Fix)
		}
	}
	if failed {
		return exit(exitFailed)
	}
	return nil
}
