package store_test

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"agentd/store"
)

func TestATrustBookKeepsWhatIsTrusted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "of", "mine", "trust.db")
	if list, err := store.ReadTrust(t.Context(), path, ""); err != nil || list != nil {
		t.Fatalf("without a book: %v, %v", list, err)
	}
	b, err := store.OpenTrustBook(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	one := store.Trust{Project: "/a", Kind: store.TrustFiles, Hash: "1", Powers: []string{"fact git.*", "grant x: run"}, At: time.Unix(10, 0).UTC()}
	two := store.Trust{Project: "/a", Kind: store.TrustRevision, Hash: "2", At: time.Unix(20, 0).UTC()}
	other := store.Trust{Project: "/b", Kind: store.TrustFiles, Hash: "1", At: time.Unix(30, 0).UTC()}
	if err := b.Add(t.Context(), one, two, other); err != nil {
		t.Fatal(err)
	}
	read := func(project string, want ...store.Trust) {
		t.Helper()
		got, err := store.ReadTrust(t.Context(), path, project)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	}
	read("/a", one, two)
	read("", one, two, other)
	one.Powers, one.At = []string{"fact git.*"}, time.Unix(15, 0).UTC()
	if err := b.Add(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	read("/a", one, two)
	if n, err := b.Revoke(t.Context(), "/a", "2"); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	read("/a", one)
	if n, err := b.Revoke(t.Context(), "/a", ""); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	read("", other)
}

func TestSeveralProcessesWriteToATrustBook(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trust.db")
	var wg sync.WaitGroup
	for _, project := range []string{"/a", "/b", "/c", "/d"} {
		wg.Go(func() {
			b, err := store.OpenTrustBook(t.Context(), path)
			if err != nil {
				t.Error(err)
				return
			}
			defer b.Close()
			if err := b.Add(t.Context(), store.Trust{Project: project, Kind: store.TrustFiles, Hash: "h"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if list, err := store.ReadTrust(t.Context(), path, ""); err != nil || len(list) != 4 {
		t.Error(list, err)
	}
}

func TestAnotherFileIsNoTrustBook(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trust.db")
	makeFile(t, path, "CREATE TABLE other (x)")
	if _, err := store.OpenTrustBook(t.Context(), path); !errors.Is(err, store.ErrForeign) {
		t.Error(err)
	}
	if _, err := store.ReadTrust(t.Context(), path, ""); !errors.Is(err, store.ErrForeign) {
		t.Error(err)
	}
}

func TestATrustBookKnowsDatabases(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trust.db")
	known := func(project, origin string, want int64, ok bool) {
		t.Helper()
		if got, is, err := store.KnownState(t.Context(), path, project, origin); got != want || is != ok || err != nil {
			t.Errorf("%s %s: %d, %v, %v", project, origin, got, is, err)
		}
	}
	known("/p", "a", 0, false)
	b, err := store.OpenTrustBook(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := errors.Join(b.Know(t.Context(), "/p", "a", 7), b.Know(t.Context(), "/q", "b", 0)); err != nil {
		t.Fatal(err)
	}
	known("/p", "a", 7, true)
	known("/q", "b", 0, true)
	known("/p", "b", 0, false) // it is another folder's
	known("/q", "a", 0, false)
	if err := b.Know(t.Context(), "/p", "a", 0); err != nil {
		t.Fatal(err)
	}
	known("/p", "a", 0, true)
	if n, err := b.Revoke(t.Context(), "/p", ""); err != nil || n != 0 {
		t.Errorf("%d, %v", n, err)
	}
	known("/p", "a", 0, true) // whose runs these are doesn't change with what is trusted
}
