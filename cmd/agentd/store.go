package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"agentd/internal/config"
	"agentd/internal/daemon"
)

func storeVerb(e *env) *cobra.Command {
	c := &cobra.Command{Use: "store", Short: "Look after the database"}
	c.AddCommand(rekeyVerb(e))
	return c
}

// ofUser adds the flag that chooses the user's own database, and returns what finds the places.
func (e *env) ofUser(c *cobra.Command) func() (config.Places, error) {
	user := c.Flags().Bool("user", false, "your own database instead of the project's")
	return func() (config.Places, error) {
		p, err := e.places()
		if *user {
			p.StateDir = p.UserState
		}
		return p, err
	}
}

func rekeyVerb(e *env) *cobra.Command {
	var q daemon.Rekey
	c := &cobra.Command{Use: "rekey", Short: "Encrypt the database under store.key_file, or decrypt it if that names none", Args: cobra.NoArgs}
	places := e.ofUser(c)
	c.Flags().StringVar(&q.From, "from", "", "the `FILE` with the key that it has now, if it has one")
	c.Flags().BoolVar(&q.Make, "make", false, "make the key file if it isn't there")
	c.RunE = func(c *cobra.Command, _ []string) error {
		p, err := places()
		if err != nil {
			return err
		}
		q.Progress = e.progress("texts")
		r, err := daemon.ChangeKey(c.Context(), e.options(p), q)
		if err != nil {
			return err
		}
		if e.json {
			err = e.print(r)
		} else {
			e.say("%s", rekeyed(r))
		}
		if err == nil && !r.Swept {
			e.note("what was replaced may still stand in the log, as somebody reads the database; run agentd store rekey again")
			return exit(exitFailed)
		}
		return err
	}
	return c
}

func rekeyed(r daemon.Rekeyed) string {
	now := "encrypted under store.key_file"
	if !r.Encrypted {
		now = "not encrypted"
	}
	if r.Texts == 0 {
		return "the database is " + now + " already"
	}
	return fmt.Sprintf("the database is %s now; %s written anew", now, count(r.Texts, "text"))
}

// progress tells a person how far something is, and others nothing.
func (e *env) progress(things string) func(done, total int) {
	f, ok := e.stderr.(*os.File)
	if !ok || !terminal(f) || e.json {
		return nil
	}
	return func(done, total int) {
		end := ""
		if done == total {
			end = "\n"
		}
		fmt.Fprintf(f, "\r%d of %d %s%s", done, total, things, end)
	}
}
