package worker

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// attempt lets a worker try everything, or only some things, and says how each ended.
func attempt(t *testing.T, p *Pool, only ...string) map[string]string {
	t.Helper()
	w, err := p.strange.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer p.strange.drop(w)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "outside"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := w.ask(t.Context(), object(text("do", "try"), text("dir", dir), payload.Field{Name: "only", Value: payload.NewStrings(only)}))
	if err != nil {
		t.Fatal(err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 || list[0].Name() != "outside" {
		t.Errorf("the folder holds %v, %v", list, err)
	}
	out := map[string]string{}
	for what, how := range got.Members() {
		out[what] = how.Text()
	}
	return out
}

// allowed are the attempts that nothing refused.
func allowed(got map[string]string) []string {
	maps.DeleteFunc(got, func(_, how string) bool { return how != "" })
	return slices.Sorted(maps.Keys(got))
}

func TestNothingIsLeftToAWorker(t *testing.T) {
	got := attempt(t, newPool(t))
	if len(got) < 40 {
		t.Fatalf("only %d attempts: %v", len(got), got)
	}
	for _, what := range slices.Sorted(maps.Keys(got)) {
		t.Logf("%-32s %s", what, got[what])
	}
	if left := allowed(got); len(left) > 0 {
		t.Errorf("allowed: %q", left)
	}
}

// lacking is a pool on a machine without some walls.
func lacking(t *testing.T, open bool, walls ...Wall) *Pool {
	t.Helper()
	newPool(t) // skips where there are none at all
	p := New(Options{Program: self(t), Open: open, missing: func() []Wall { return walls }})
	t.Cleanup(p.Close)
	return p
}

func TestWhereAWallIsMissingTheOthersStand(t *testing.T) {
	files := []string{"open", "open its own program to write", "open proc", "create", "delete", "rename", "link", "exec"}
	for _, c := range []struct {
		walls []Wall
		only  []string
		left  []string
	}{
		{[]Wall{Files}, nil, nil}, // no system call that opens something is left either
		{[]Wall{Calls}, append(files, "socket unix", "lift no_new_privs"), []string{"socket unix"}},
		{[]Wall{Files, Calls}, []string{"open", "lift no_new_privs", "socket unix"}, []string{"open", "socket unix"}},
	} {
		got := attempt(t, lacking(t, true, c.walls...), c.only...)
		if len(got) < len(c.only) {
			t.Errorf("without %v: only %d attempts: %v", c.walls, len(got), got)
		}
		if left := allowed(got); !slices.Equal(left, c.left) {
			t.Errorf("without %v: allowed %q, want %q", c.walls, left, c.left)
		}
	}
	w, err := lacking(t, true, Files, Calls).strange.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.ask(t.Context(), object(text("do", "memory"))); !errors.Is(err, hookpoints.ErrHookFailed) {
		t.Errorf("its memory has no bound: %v", err)
	}
	w.kill()
}

func TestWithoutAWallThereIsNoWorker(t *testing.T) {
	p := lacking(t, false, Files)
	_, err := define(t.Context(), p, "def ok(ctx, call):\n    return None\nhook(id = 'a', version = 'v1', run = ok)\n", nil)
	if err == nil || !strings.Contains(err.Error(), "landlock") || !strings.Contains(err.Error(), "allow_unconfined") {
		t.Errorf("%v", err)
	}
	if _, err := p.strange.take(t.Context()); !errors.Is(err, ErrNoWalls) {
		t.Errorf("%v", err)
	}
}

// TestAWorkerBuildsWhatItWasntToldToLeaveOut: a kernel that has a wall and refuses it is no excuse.
func TestAWorkerBuildsWhatItWasntToldToLeaveOut(t *testing.T) {
	newPool(t)
	if w, err := start(t.Context(), "/bin/true", nil, nil); err == nil {
		w.kill()
		t.Error("a program that says nothing is a worker")
	}
	if _, err := start(t.Context(), filepath.Join(t.TempDir(), "nothing"), nil, nil); err == nil {
		t.Error("a program that isn't there is a worker")
	}
}
