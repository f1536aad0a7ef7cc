package reload

import (
	"context"
	"os"
	"strings"
	"testing"
)

func TestRunNeedsATargetAndRunsOnce(t *testing.T) {
	if err := New(nil, nil, Options{}).Run(t.Context()); err == nil {
		t.Error("it runs without a target")
	}
	f := follow(t, nil, Options{}, nil)
	f.until(files{}) // no roots: the empty set
	if err := f.w.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "already running") {
		t.Errorf("a second Run returns %v", err)
	}
}

func TestRunEndsWithItsContextAndCanBeginAgain(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/a.star", "a")
	sets := make(chan Snapshot, 10)
	w := New([]Root{{Dir: dir}}, func(_ context.Context, s Snapshot) error {
		sets <- s
		return nil
	}, Options{})
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		if got := tree(<-sets); got["a.star"] != "a" {
			t.Errorf("the first set is %v", got)
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

// The way to the root leads over a link, as where releases lie side by side.
func TestASwappedLinkAboveTheRootIsSeen(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/releases/1/project/hooks/a.star", "1")
	write(t, dir+"/releases/2/project/hooks/a.star", "2")
	must(t, os.Symlink("releases/1", dir+"/current"))
	f := follow(t, []Root{{Dir: dir + "/current/project/hooks", Match: scripts}}, Options{Poll: -1}, nil)
	f.until(files{"a.star": "1"})
	must(t, os.Symlink("releases/2", dir+"/next"))
	must(t, os.Rename(dir+"/next", dir+"/current"))
	f.until(files{"a.star": "2"})
	write(t, dir+"/releases/2/project/hooks/a.star", "3")
	f.until(files{"a.star": "3"})
}

func TestSeveralRootsAreOneSet(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/project/agentd.yaml", "hooks: []")
	roots := []Root{
		{Dir: dir + "/user/hooks", Match: scripts},
		{Dir: dir + "/project/hooks", Match: scripts},
		{Dir: dir + "/project", Match: func(rel string) bool { return rel == "agentd.yaml" }, Descend: func(string) bool { return false }},
	}
	f := follow(t, roots, Options{Poll: -1}, nil)
	if s := <-f.sets; len(s.Files) != 1 || s.Files[0].Root != 2 {
		t.Fatalf("the first set is %v", s.Files)
	}
	write(t, dir+"/user/hooks/a.star", "a")
	f.until(files{"a.star": "a"})
	write(t, dir+"/project/agentd.yaml", "hooks: [b]")
	for s := range f.sets {
		if string(s.Under(2)[0].Text) == "hooks: [b]" {
			break
		}
	}
	write(t, dir+"/project/hooks/a.star", "b")
	for s := range f.sets {
		if under := s.Under(1); len(under) == 1 && string(under[0].Text) == "b" {
			break
		}
	}
}
