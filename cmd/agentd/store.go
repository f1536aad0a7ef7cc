package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"agentd/internal/config"
	"agentd/internal/daemon"
	"agentd/store"
)

func storeVerb(e *env) *cobra.Command {
	c := &cobra.Command{Use: "store", Short: "Look after the database"}
	c.AddCommand(checkVerb(e), gcVerb(e), exportVerb(e), rekeyVerb(e))
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

func checkVerb(e *env) *cobra.Command {
	c := &cobra.Command{Use: "check", Short: "Read everything in the database and compare", Args: cobra.NoArgs}
	places := e.ofUser(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return e.lookedInto(c.Context(), places, func(r *store.Reader) error {
			rep, findings, err := daemon.Check(c.Context(), r)
			if err != nil {
				return err
			}
			if e.json {
				err = e.print(struct {
					Operations int              `json:"operations"`
					Rows       int              `json:"rows"`
					Blobs      int              `json:"blobs"`
					Findings   []daemon.Finding `json:"findings"`
				}{rep.Operations, rep.Rows, rep.Blobs, findings})
			} else {
				e.say("%s, %s, %s", count(rep.Operations, "operation"), count(rep.Rows, "row"), count(rep.Blobs, "large value"))
			}
			return errors.Join(err, e.tellFindings(findings))
		})
	}
	return c
}

// lookedInto opens a database for reading.
func (e *env) lookedInto(ctx context.Context, places func() (config.Places, error), do func(*store.Reader) error) error {
	p, err := places()
	if err != nil {
		return err
	}
	v, err := daemon.OpenView(ctx, p, e.getenv)
	if err != nil {
		return err
	}
	defer v.Close()
	r, err := v.Reader()
	if err != nil {
		return err
	}
	return do(r)
}

func gcVerb(e *env) *cobra.Command {
	var keep string
	var dry bool
	c := &cobra.Command{Use: "gc", Short: "Remove sessions that are over, and what nothing refers to any more", Args: cobra.NoArgs}
	places := e.ofUser(c)
	c.Flags().StringVar(&keep, "keep", "30d", "what changed within this `TIME` stays, e.g. 30d or 12h")
	c.Flags().BoolVar(&dry, "dry-run", false, "count, and remove nothing")
	c.RunE = func(c *cobra.Command, _ []string) error {
		d, err := days(keep)
		if err != nil {
			return err
		}
		p, err := places()
		if err != nil {
			return err
		}
		got, err := daemon.Collect(c.Context(), e.options(p), d, dry)
		if errors.Is(err, store.ErrNoDatabase) {
			e.note("%v", err)
			err = nil
		}
		if err != nil {
			return err
		}
		if e.json {
			return e.print(got)
		}
		did := "removed"
		if dry {
			did = "would remove"
		}
		e.say("%s %s with %s and %s, %s and %s", did, count(got.Sessions, "session"), count(got.Runs, "run"), count(got.Operations, "operation"), count(got.Blobs, "large value"), count(got.Revisions, "unlisted revision"))
		if got.Open > 0 {
			e.say("%s old enough, and kept for what is open, waiting or unknown", count(got.Open, "session"))
		}
		if !dry {
			e.say("%d KiB before, %d KiB now", got.Before>>10, got.After>>10)
		}
		return nil
	}
	return c
}

// days reads a time that may be given in days.
func days(text string) (time.Duration, error) {
	n, err := strconv.ParseUint(strings.TrimSuffix(text, "d"), 10, 16)
	if strings.HasSuffix(text, "d") && err == nil {
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, usagef("--keep %q is none like 30d or 12h", text)
	}
	return d, nil
}

func exportVerb(e *env) *cobra.Command {
	return &cobra.Command{Use: "export RUN", Short: "Print a run as JSON lines for a bug report, without what hooks replaced", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		return e.lookedInto(c.Context(), e.places, func(r *store.Reader) error {
			unreadable, err := daemon.Export(c.Context(), r, args[0], e.print)
			if err == nil && unreadable > 0 {
				e.note("%s can't be read; see agentd store check", count(unreadable, "operation"))
				return exit(exitFailed)
			}
			return err
		})
	}}
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
	if r.Missing {
		return "there is no database yet; it will be " + now
	}
	if r.Texts == 0 {
		return "nothing to do: the database is " + now
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
