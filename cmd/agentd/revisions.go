package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"agentd/internal/api"
	"agentd/internal/daemon"
	"agentd/revision"
	"agentd/store"
)

func revisionsVerb(e *env) *cobra.Command {
	c := &cobra.Command{Use: "revisions", Short: "Look at what was published, and go back to it"}
	c.AddCommand(
		&cobra.Command{Use: "list", Short: "List the revisions, newest first", Args: cobra.NoArgs, RunE: e.listing(func(ctx context.Context, v *daemon.View, r *store.Reader, _ []string) error {
			rows, err := daemon.Revisions(ctx, r)
			if err != nil {
				return err
			}
			if e.json {
				return e.print(rows)
			}
			for _, row := range rows {
				head := " "
				if row.Head {
					head = "*"
				}
				line := fmt.Sprintf("%s %.12s %-8s %s  %s", head, row.Revision, row.Layer, row.Created.Format("2006-01-02 15:04:05"), row.Note)
				if row.SignedBy != "" {
					line += "  signed by " + row.SignedBy
				}
				e.say("%s", strings.TrimRight(line, " "))
			}
			return nil
		})},
		&cobra.Command{Use: "show R", Short: "Print the manifest", Args: cobra.ExactArgs(1), RunE: e.reading(func(ctx context.Context, _ *daemon.View, r *store.Reader, args []string) error {
			rev, err := daemon.FindRevision(ctx, r, args[0])
			if err != nil {
				return err
			}
			if e.json {
				return e.print(json.RawMessage(rev.Manifest))
			}
			text, err := revision.Describe(rev.Manifest)
			if err != nil {
				return err
			}
			e.say("%s", text)
			return nil
		})},
		&cobra.Command{Use: "diff A B", Short: "Say what differs", Args: cobra.ExactArgs(2), RunE: e.reading(func(ctx context.Context, _ *daemon.View, r *store.Reader, args []string) error {
			a, err := daemon.FindRevision(ctx, r, args[0])
			if err != nil {
				return err
			}
			b, err := daemon.FindRevision(ctx, r, args[1])
			if err != nil {
				return err
			}
			changes, err := revision.Diff(a.Manifest, b.Manifest)
			if err != nil {
				return err
			}
			if e.json {
				if changes == nil {
					changes = []revision.Change{}
				}
				return e.print(changes)
			}
			for _, ch := range changes {
				e.say("%s: %s -> %s", ch.Path, ch.Before, ch.After)
			}
			return nil
		})},
		&cobra.Command{Use: "verify R", Short: "Check that a revision is what its id says", Args: cobra.ExactArgs(1), RunE: e.reading(func(ctx context.Context, v *daemon.View, r *store.Reader, args []string) error {
			rev, err := daemon.FindRevision(ctx, r, args[0])
			if err != nil {
				return err
			}
			fault := v.Verify(ctx, r, rev.ID)
			signer, err := revision.Signer(rev.Manifest, rev.Signature)
			if err != nil {
				signer = "" // nobody; whether that is a fault is said already
			}
			if e.json {
				out := map[string]any{"ok": fault == nil, "revision": rev.ID}
				if signer != "" {
					out["signed_by"] = signer
				}
				if fault != nil {
					out["reason"] = fault.Error()
				}
				if err := e.print(out); err != nil {
					return err
				}
				if fault != nil {
					return exit(exitFailed)
				}
				return nil
			}
			if fault == nil {
				e.say("ok %s", rev.ID)
				if signer != "" {
					e.say("signed by %s", signer)
				}
			}
			return fault
		})},
		rollbackVerb(e))
	return c
}

func rollbackVerb(e *env) *cobra.Command {
	var q api.Rollback
	c := &cobra.Command{Use: "rollback R", Short: "Make an earlier revision the head again", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		p, err := e.places()
		if err != nil {
			return err
		}
		var res api.Published
		err = daemon.Do(c.Context(), e.options(p), func(conn *daemon.Connection) (err error) {
			res, err = conn.Rollback(c.Context(), args[0], q)
			return err
		})
		if err != nil {
			return err
		}
		e.newHead(res)
		if e.json {
			return e.print(res)
		}
		return nil
	}}
	c.Flags().StringVar(&q.Layer, "layer", "project", "which `LAYER`: project or user")
	return c
}

// listing is reading for lists: where nothing was written yet they are empty.
func (e *env) listing(do func(ctx context.Context, v *daemon.View, r *store.Reader, args []string) error) func(*cobra.Command, []string) error {
	read := e.reading(do)
	return func(c *cobra.Command, args []string) error {
		err := read(c, args)
		if !errors.Is(err, store.ErrNoDatabase) {
			return err
		}
		e.note("%v", err)
		if e.json {
			return e.print([]any{})
		}
		return nil
	}
}

// reading gives a verb the database without a lock.
func (e *env) reading(do func(ctx context.Context, v *daemon.View, r *store.Reader, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		p, err := e.places()
		if err != nil {
			return err
		}
		v, err := daemon.OpenView(c.Context(), p, e.getenv)
		if err != nil {
			return err
		}
		defer v.Close()
		r, err := v.Reader()
		if err != nil {
			return err
		}
		return do(c.Context(), v, r, args)
	}
}
