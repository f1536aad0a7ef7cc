package main

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"agentd/internal/config"
	"agentd/internal/daemon"
	"agentd/store"
)

// unreplayable are the reasons that recorded operations of scenarios may have.
var unreplayable = regexp.MustCompile(`isn't declared replay-safe|the wall clock ended the hook|ends too early|another agentd, and nothing else differs`)

// replays computes everything that a scenario recorded again, under the revisions that it is pinned to:
// every row has to come out as it is.
func replays(e *testscript.Env) {
	err := filepath.WalkDir(e.WorkDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() != "agentd.db" {
			return err
		}
		state := filepath.Dir(path)
		places, err := config.Find(config.Ask{Cwd: filepath.Dir(filepath.Dir(state)), StateDir: state, Getenv: e.Getenv})
		if err != nil {
			return err
		}
		bin, _, _ := strings.Cut(e.Getenv("PATH"), string(filepath.ListSeparator))
		places.Program = filepath.Join(bin, "agentd")
		report, _, err := daemon.Replay(context.Background(), places, e.Getenv, daemon.ReplayOptions{Pinned: true})
		for _, done := range []error{store.ErrDamaged, store.ErrNoDatabase, store.ErrForeign, store.ErrKey} { // by the scenario
			if errors.Is(err, done) {
				return nil
			}
		}
		e.T().Log("replayed ", report.Operations, " operations of ", path)
		for _, c := range report.Changed {
			e.T().Log("replayed otherwise: ", c.ID, " at ", c.Point, "\n was ", c.Before, "\n now ", c.After)
			err = errors.Join(err, errors.New(c.ID+" is replayed otherwise"))
		}
		for _, u := range report.Unreplayable {
			if !unreplayable.MatchString(u.Reason) {
				err = errors.Join(err, errors.New(u.ID+" can't be replayed: "+u.Reason))
			}
		}
		return err
	})
	if err != nil {
		e.T().Fatal(err)
	}
}
