package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"agentd/internal/config"
	"agentd/internal/install"
)

func installVerb(e *env) *cobra.Command {
	return installer(e, install.Install, &cobra.Command{Use: "install CLIENT", Short: "Register the hook in a client's configuration, with a backup"})
}

func uninstallVerb(e *env) *cobra.Command {
	return installer(e, install.Uninstall, &cobra.Command{Use: "uninstall CLIENT", Short: "Take out of a client's configuration what install put in"})
}

func installer(e *env, do func(install.Request) (install.Result, error), c *cobra.Command) *cobra.Command {
	var user, dry bool
	c.Long = c.Short + ".\nCLIENT is " + strings.Join(install.Names(), ", ") + "."
	c.Args = cobra.ExactArgs(1)
	c.RunE = func(c *cobra.Command, args []string) error {
		client, err := install.For(args[0])
		if err != nil {
			return usage{err}
		}
		p, err := e.places()
		if err != nil {
			return err
		}
		live, err := config.ReadLive(p, e.getenv)
		if err != nil {
			return err
		}
		res, err := do(install.Request{Client: client, User: user, DryRun: dry, Places: p, Policy: live.Clients, Getenv: e.getenv, Now: time.Now()})
		if err != nil {
			return err
		}
		if e.json {
			return e.print(res)
		}
		for _, ch := range res.Changes {
			switch {
			case dry && ch.Diff != "":
				e.say("%s", strings.TrimSuffix(ch.Diff, "\n"))
			case ch.Backup != "":
				e.say("%s %s, as it was: %s", ch.What, ch.Path, ch.Backup)
			default:
				e.say("%s %s", ch.What, ch.Path)
			}
		}
		if len(res.Changes) == 0 {
			e.note("there is nothing to change")
		}
		if !dry && c.Name() == "install" {
			if client.Then != "" {
				e.note("%s", client.Then)
			}
			e.note("next: agentd doctor %s", client.Name)
		}
		return nil
	}
	c.Flags().BoolVar(&user, "user", false, "in your own configuration, for all projects, instead of this project's")
	c.Flags().BoolVar(&dry, "dry-run", false, "print what would change, and change nothing")
	return c
}
