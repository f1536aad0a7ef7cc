package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"agentd/internal/daemon"
	"agentd/internal/replay"
	"agentd/store"
)

func replayVerb(e *env) *cobra.Command {
	var q daemon.ReplayOptions
	var since string
	c := &cobra.Command{Use: "replay", Short: "Run recorded operations through other hooks, and say what would be decided otherwise", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		if q.Dev && q.Revision != "" || q.Pinned && (q.Dev || q.Revision != "") {
			return usagef("--dev, --revision and --pinned exclude each other")
		}
		var err error
		if q.Since, err = parseAge(since); err != nil {
			return usagef("--since %q is none like 7d or 1h", since)
		}
		p, err := e.places()
		if err != nil {
			return err
		}
		rep, notes, err := daemon.Replay(c.Context(), p, e.getenv, q)
		if errors.Is(err, store.ErrNoDatabase) {
			e.note("%v", err)
			rep, err = replay.Report{Changed: []replay.Change{}, Unreplayable: []replay.Unreplayable{}}, nil
		}
		if err != nil {
			return err
		}
		for _, n := range notes {
			e.note("note: %s", n)
		}
		if e.json {
			return e.print(rep)
		}
		for _, ch := range rep.Changed {
			e.say("%s at %s\n  was %s\n  now %s", ch.ID, ch.Point, ch.Before, ch.After)
		}
		for _, u := range rep.Unreplayable {
			e.say("%s can't be replayed: %s", u.ID, u.Reason)
		}
		e.say("%s: %d the same, %d changed, %d that follow on a change, %d that can't be replayed",
			count(rep.Operations, "operation"), rep.Same, len(rep.Changed), rep.FollowOn, len(rep.Unreplayable))
		return nil
	}}
	f := c.Flags()
	f.StringVar(&since, "since", "", "that began within this `TIME`, e.g. 7d; else all")
	f.StringVar(&q.Point, "point", "", "only the chains of the point `P`")
	f.StringVar(&q.Client, "client", "", "only what the client `C` did")
	f.BoolVar(&q.Dev, "dev", false, "through the working files instead of what is published")
	f.StringVar(&q.Revision, "revision", "", "through the revision `R` instead of the head")
	f.BoolVar(&q.Pinned, "pinned", false, "through the revisions that each operation ran under: nothing may change")
	return c
}

// parseAge reads a time span that may be in days: 7d, 36h. Nothing is 0.
func parseAge(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	if n := len(s) - 1; s[n] == 'd' {
		hours, err := time.ParseDuration(s[:n] + "h")
		if err == nil && (hours <= 0 || hours > maxAge/24) {
			err = errors.New("out of range")
		}
		return 24 * hours, err
	}
	d, err := time.ParseDuration(s)
	if err == nil && (d <= 0 || d > maxAge) {
		err = errors.New("out of range")
	}
	return d, err
}

// maxAge is longer than anything is kept.
const maxAge = 100 * 365 * 24 * time.Hour
