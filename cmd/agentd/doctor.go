package main

import (
	"github.com/spf13/cobra"

	"agentd/internal/daemon"
)

func doctorVerb(e *env) *cobra.Command {
	return &cobra.Command{Use: "doctor", Short: "Look what keeps agentd from working, and say what to do", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		p, err := e.places()
		if err != nil {
			return err
		}
		findings := daemon.Doctor(c.Context(), e.options(p))
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
