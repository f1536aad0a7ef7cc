package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"agentd/operation"
	"agentd/operation/journaltest"
	"agentd/store"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		os.Exit(child(path))
	}
	goleak.VerifyTestMain(m)
}

// Whatever the suite did to a journal, the database is sound, and a reader, a writer that opens it
// again and one that opens it after a crash all see the same.
func TestStoreIsAJournal(t *testing.T) {
	journaltest.Run(t, func(t *testing.T) operation.Journal {
		path := filepath.Join(t.TempDir(), "agentd.db")
		s := openStore(t, path)
		t.Cleanup(func() {
			want := seen(t, s.Reader)
			beside := openReader(t, path)
			same(t, "beside the writer", seen(t, beside), want)
			crashed := copyOf(t, path)
			same(t, "after a crash", seen(t, openReader(t, crashed)), want)
			same(t, "after a crash and a start", seen(t, openStore(t, crashed).Reader), want)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			same(t, "after the end", seen(t, openReader(t, path)), want)
			same(t, "after another start", seen(t, openStore(t, path).Reader), want)
		})
		return s
	})
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got, journaltest.Same()); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// look is all that can be seen of the operations.
type look struct {
	Report     *store.Report
	Operations []store.OperationRow
	Open       []operation.Head
	Sessions   []store.SessionRow
}

func seen(t *testing.T, r *store.Reader) (l look) {
	t.Helper()
	var errs [4]error
	ctx := context.Background()
	l.Report, errs[0] = r.Check(ctx)
	l.Operations, errs[1] = r.Operations(ctx, store.Filter{})
	l.Open, errs[2] = r.Open(ctx)
	l.Sessions, errs[3] = r.Sessions(ctx)
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	for _, f := range l.Report.Faults {
		t.Error(f)
	}
	return l
}

// openStore opens a store that the test closes.
func openStore(t testing.TB, path string) *store.Store {
	t.Helper()
	s, err := store.Open(context.Background(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func openReader(t testing.TB, path string) *store.Reader {
	t.Helper()
	r, err := store.OpenReader(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return r
}

// copyOf copies a database and its log as they lie on the disk while nothing is written, which is
// what a crash leaves.
func copyOf(t testing.TB, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "crashed.db")
	for _, suffix := range []string{"", "-wal"} {
		text, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to+suffix, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

func commit(t testing.TB, s *store.Store, rows ...operation.Row) {
	t.Helper()
	if err := s.Commit(context.Background(), operation.Commit{Rows: rows}); err != nil {
		t.Fatal(err)
	}
}
