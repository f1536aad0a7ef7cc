package main

import (
	"bufio"
	"context"
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"agentd/internal/api"
	"agentd/internal/config"
	"agentd/internal/daemon"
)

func trustVerb(e *env) *cobra.Command {
	var yes, everything, state bool
	c := &cobra.Command{Use: "trust", Short: "Trust the project's files as they lie there, with all that they name", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		p, err := e.inProject()
		if err != nil {
			return err
		}
		t, err := daemon.LookAtTrust(c.Context(), p)
		if err != nil {
			return err
		}
		if !t.Trusted {
			if !yes {
				e.showTrust(t)
				if !terminal(e.stdin) {
					return errors.New("nothing was trusted; look at it, then use agentd trust --yes")
				}
				if !e.yes("Trust them? [y/N] ") {
					e.note("nothing was trusted")
					return exit(exitFailed)
				}
			}
			if err := daemon.TrustFiles(c.Context(), p, t, time.Now()); err != nil {
				return err
			}
			t.Trusted = true
		}
		if state {
			if err := daemon.TrustState(c.Context(), p, e.getenv); err != nil {
				return err
			}
		}
		if err := e.reload(c.Context(), p); err != nil {
			return err
		}
		if e.json {
			return e.print(t)
		}
		e.say("trusted %.12s: %s, %s", t.Hash, count(len(t.Files), "file"), count(len(t.Powers), "power"))
		return nil
	}}
	c.Flags().BoolVar(&yes, "yes", false, "don't ask")
	c.Flags().BoolVar(&state, "state", false, "also take over the runs that came with the state folder, and what they have still to do")
	list := &cobra.Command{Use: "list", Short: "List what is trusted of this project", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		p, err := e.places()
		if err != nil {
			return err
		}
		rows, err := daemon.TrustList(c.Context(), p, everything)
		if err != nil {
			return err
		}
		if e.json {
			return e.print(rows)
		}
		for _, t := range rows {
			e.say("%s %-8s %.12s %s  %s", t.At.Format("2006-01-02 15:04:05"), t.Kind, t.Hash, t.Project, strings.Join(t.Powers, "; "))
		}
		return nil
	}}
	list.Flags().BoolVar(&everything, "all", false, "of all projects")
	revoke := &cobra.Command{Use: "revoke [HASH]", Short: "Trust nothing of this project any more, or not the files or the revision with this hash", Args: cobra.MaximumNArgs(1), RunE: func(c *cobra.Command, args []string) error {
		p, err := e.inProject()
		if err != nil {
			return err
		}
		hash := ""
		if len(args) > 0 {
			if hash, err = e.trustedHash(c.Context(), p, args[0]); err != nil {
				return err
			}
		}
		n, err := daemon.Distrust(c.Context(), p, hash)
		if err != nil {
			return err
		}
		if err := e.reload(c.Context(), p); err != nil {
			return err
		}
		if e.json {
			return e.print(map[string]int64{"revoked": n})
		}
		e.say("revoked %d", n)
		return nil
	}}
	c.AddCommand(list, revoke)
	return c
}

// trustedHash finds a hash by its beginning.
func (e *env) trustedHash(ctx context.Context, p config.Places, prefix string) (string, error) {
	rows, err := daemon.TrustList(ctx, p, false)
	if err != nil {
		return "", err
	}
	found := ""
	for _, t := range rows {
		if !strings.HasPrefix(t.Hash, prefix) || t.Hash == found {
			continue
		}
		if found != "" {
			return "", usagef("several hashes begin with %s; write more of it", prefix)
		}
		found = t.Hash
	}
	if found == "" {
		return "", usagef("nothing with the hash %s is trusted here; see agentd trust list", prefix)
	}
	return found, nil
}

// showTrust says what somebody is about to trust.
func (e *env) showTrust(t daemon.Trust) {
	e.note("%s has %s of agentd that you don't trust yet:", t.Project, count(len(t.Files), "file"))
	for _, f := range t.Files {
		if strings.ContainsFunc(f, func(r rune) bool { return !unicode.IsPrint(r) }) {
			f = strconv.QuoteToGraphic(f) // or a name could hide what stands around it
		}
		e.note("  %s", f)
	}
	for _, power := range t.New {
		e.note("  it wants: %s", power)
	}
}

// yes asks a person; what isn't a clear yes is a no.
func (e *env) yes(question string) bool {
	e.stderr.Write([]byte(question))
	line, _ := bufio.NewReader(e.stdin).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true
	}
	return false
}

// reload tells a daemon that runs that what is trusted has changed.
func (e *env) reload(ctx context.Context, p config.Places) error {
	socket, err := p.Socket()
	if err != nil {
		return nil // then none runs
	}
	c, err := api.Dial(ctx, socket)
	if errors.Is(err, api.ErrNoDaemon) {
		return nil
	}
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Reload(ctx)
}

// approve asks once whether the hooks of the working files are trusted while a daemon follows them. Where
// nobody can be asked, or they say no, they serve as hooks that nobody trusts.
func (e *env) approve(ctx context.Context, p config.Places) (*[]string, error) {
	if p.Project == "" {
		return nil, nil
	}
	t, err := daemon.LookAtTrust(ctx, p)
	if err != nil || t.Trusted || len(t.Files) == 0 {
		return nil, err
	}
	e.showTrust(t)
	if e.json || !terminal(e.stdin) {
		e.note("nobody can be asked, so its hooks only add context; agentd trust trusts them")
		return nil, nil
	}
	question := "Trust its hooks while this daemon runs? [y/N] "
	if len(t.New) > 0 {
		question = "Trust its hooks, with what they want, while this daemon runs? [y/N] "
	}
	if !e.yes(question) {
		e.note("its hooks only add context")
		return nil, nil
	}
	return &t.Powers, nil
}
