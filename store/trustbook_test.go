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
