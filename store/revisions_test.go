package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentd/hookpoints"
	"agentd/revision"
	"agentd/store"
)

func rev(id string, layer hookpoints.Layer, listed bool) *revision.Revision {
	return &revision.Revision{ID: id, Layer: layer, Parent: "parent of " + id, Note: "note é\n" + id, Created: time.Date(2026, 5, 6, 7, 8, 9, 10, time.UTC), Listed: listed,
		Manifest: []byte(`{"id":"` + id + strings.Repeat("!", 9000) + `"}`),
		Files: []revision.File{
			{Path: "agentd.yaml", Text: []byte("hooks: []\n")},
			{Path: "hooks/" + id + ".star", Text: []byte("# " + id)},
			{Path: "hooks/empty.star", Text: []byte{}},
			{Path: "hooks/große.star", Text: []byte(strings.Repeat("x = 1\n", 5000))},
		}}
}

func keep(t *testing.T, s *store.Store, r *revision.Revision) {
	t.Helper()
	if err := s.Keep(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

func TestRevisionsComeBackWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agentd.db")
	s := openStore(t, path)
	a, b := rev("a", hookpoints.Project, true), rev("b", hookpoints.User, false)
	b.Files = nil
	keep(t, s, a)
	keep(t, s, b)
	for _, r := range []*store.Reader{s.Reader, openReader(t, path)} {
		for _, want := range []*revision.Revision{a, b} {
			got, err := r.Revision(t.Context(), want.ID)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "revision "+want.ID, got, want)
		}
		if got, err := r.Revision(t.Context(), "c"); !errors.Is(err, revision.ErrNotFound) || got != nil {
			t.Errorf("got %v, %v, want ErrNotFound", got, err)
		}
	}
	rep, err := s.Check(t.Context())
	if err != nil || rep.Blobs != len(a.Files) || len(rep.Faults) > 0 {
		t.Errorf("the check says %+v, %v", rep, err)
	}
}

func TestKeepingAgainChangesNothingButThatItIsListed(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "agentd.db"))
	served := rev("a", hookpoints.Project, false)
	keep(t, s, served)
	again := rev("a", hookpoints.Project, false)
	again.Note, again.Parent = "other", "other"
	keep(t, s, again)
	expect := func(want *revision.Revision) {
		t.Helper()
		got, err := s.Revision(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		same(t, "revision", got, want)
	}
	expect(served)
	published := rev("a", hookpoints.Project, true)
	published.Note, published.Parent, published.Created = "published", "head", published.Created.Add(time.Hour)
	keep(t, s, published)
	expect(published)
	keep(t, s, served)
	keep(t, s, rev("a", hookpoints.Project, true))
	expect(published)
}

func TestListedRevisionsComeNewestFirst(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "agentd.db"))
	for _, r := range []*revision.Revision{
		rev("served-first", hookpoints.Project, false), rev("z", hookpoints.Project, true), rev("user", hookpoints.User, true), rev("a", hookpoints.Project, true),
		rev("only-served", hookpoints.Project, false), rev("m", hookpoints.Project, true), rev("served-first", hookpoints.Project, true), rev("z", hookpoints.Project, true),
	} {
		keep(t, s, r)
	}
	for layer, want := range map[hookpoints.Layer]string{hookpoints.Project: "[served-first m a z]", hookpoints.User: "[user]", hookpoints.Shipped: "[]"} {
		list, err := s.Listed(t.Context(), layer)
		if err != nil {
			t.Fatal(err)
		}
		ids := []string{}
		for _, r := range list {
			ids = append(ids, r.ID)
			if r.Files != nil || len(r.Manifest) == 0 || !r.Listed {
				t.Errorf("listed is %+v", r)
			}
		}
		if got := fmt.Sprint(ids); got != want {
			t.Errorf("the %s layer lists %s, want %s", layer, got, want)
		}
	}
}

func TestOnlyAListedRevisionOfTheLayerCanServe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agentd.db")
	s := openStore(t, path)
	for _, r := range []*revision.Revision{rev("a", hookpoints.Project, true), rev("b", hookpoints.Project, true), rev("served", hookpoints.Project, false), rev("user", hookpoints.User, true)} {
		keep(t, s, r)
	}
	for _, c := range []struct {
		id, head string
		err      error
	}{
		{"served", "", revision.ErrNotFound}, {"a", "a", nil}, {"b", "b", nil}, {"user", "b", revision.ErrNotFound}, {"none", "b", revision.ErrNotFound}, {"a", "a", nil}, {"a", "a", nil},
	} {
		if err := s.SetHead(t.Context(), hookpoints.Project, c.id); !errors.Is(err, c.err) {
			t.Errorf("%s: got %v, want %v", c.id, err, c.err)
		}
		if head, err := openReader(t, path).Head(t.Context(), hookpoints.Project); head != c.head || err != nil {
			t.Errorf("after %s the head is %q, %v, want %q", c.id, head, err, c.head)
		}
	}
	if head, err := s.Head(t.Context(), hookpoints.User); head != "" || err != nil {
		t.Errorf("the user's head is %q, %v", head, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.SetHead(ctx, hookpoints.Project, "b"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestARevisionWithAFileTwiceIsRefusedWhole(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "agentd.db"))
	r := rev("a", hookpoints.Project, true)
	r.Files = append(r.Files, revision.File{Path: "agentd.yaml", Text: []byte("other")})
	if err := s.Keep(t.Context(), r); err == nil || !strings.Contains(err.Error(), "agentd.yaml") {
		t.Errorf("got %v", err)
	}
	if _, err := s.Revision(t.Context(), "a"); !errors.Is(err, revision.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
	r.Files = r.Files[:4]
	keep(t, s, r) // its blobs weren't taken for stored
	if got, err := s.Revision(t.Context(), "a"); err != nil || len(got.Files) != 4 {
		t.Errorf("got %+v, %v", got, err)
	}
}
