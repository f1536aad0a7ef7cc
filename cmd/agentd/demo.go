package main

import (
	"os"

	"github.com/spf13/cobra"

	"agentd/internal/demo"
)

func demoVerb(e *env) *cobra.Command {
	return &cobra.Command{Use: "demo", Short: "Play the main job in a temporary project", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		d := demo.Demo{Program: self, Getenv: e.getenv, Told: func(s demo.Step) {
			switch {
			case e.json:
				err = e.print(s)
			case s.OK:
				e.say("ok    %s: %s", s.Step, s.Detail)
			default:
				e.say("FAIL  %s: %s", s.Step, s.Detail)
			}
		}}
		if played := d.Play(c.Context()); played != nil {
			return exit(exitFailed)
		}
		return err
	}}
}
