package daemon

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"agentd/internal/config"
	"agentd/store"
)

// unreplayable are the reasons that recorded operations of tests may have.
var unreplayable = regexp.MustCompile(`isn't declared replay-safe|the wall clock ended the hook|isn't recorded$`)

// replays computes everything that the databases in a folder hold again, under the revisions that it is
// pinned to: every row has to come out as it is.
func replays(t *testing.T, dir, broken string) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "agentd.db" || d.IsDir() {
			return err
		}
		report, _, err := Replay(context.Background(), config.Places{StateDir: filepath.Dir(path)}, func(string) string { return "" }, ReplayOptions{Pinned: true})
		if errors.Is(err, store.ErrNoDatabase) || errors.Is(err, store.ErrDamaged) { // a test did that
			return nil
		}
		for _, c := range report.Changed {
			t.Errorf("replayed otherwise: %s at %s\n was %s\n now %s", c.ID, c.Point, c.Before, c.After)
		}
		for _, u := range report.Unreplayable {
			if !unreplayable.MatchString(u.Reason) && (broken == "" || !strings.Contains(u.Reason, broken)) {
				t.Errorf("can't be replayed: %s: %s", u.ID, u.Reason)
			}
		}
		t.Logf("%d operations replayed", report.Operations)
		return err
	})
	if err != nil {
		t.Errorf("replay: %v", err)
	}
}
