package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"agentd/hookpoints/payload"
	"agentd/operation"
	"agentd/operation/journaltest"
	"agentd/store"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		os.Exit(childOf(path))
	}
	goleak.VerifyTestMain(m)
}

// Whatever the suite did to a journal, the database is sound, and a reader, a writer that opens it
// again and one that opens it after a crash all see the same.
func TestStoreIsAJournal(t *testing.T) {
	for name, key := range map[string]*store.Key{"plain": nil, "encrypted": someKey(1)} {
		t.Run(name, func(t *testing.T) {
			journaltest.Run(t, func(t *testing.T) operation.Journal { return soundAtTheEnd(t, key) })
		})
	}
}

func soundAtTheEnd(t *testing.T, key *store.Key) *store.Store {
	path := filepath.Join(t.TempDir(), "agentd.db")
	s := openUnder(t, path, key)
	t.Cleanup(func() {
		want := seen(t, s.Reader)
		beside := readUnder(t, path, key)
		same(t, "beside the writer", seen(t, beside), want)
		crashed := copyOf(t, path)
		same(t, "after a crash", seen(t, readUnder(t, crashed, key)), want)
		same(t, "after a crash and a start", seen(t, openUnder(t, crashed, key).Reader), want)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		same(t, "after the end", seen(t, readUnder(t, path, key)), want)
		same(t, "after another start", seen(t, openUnder(t, path, key).Reader), want)
	})
	return s
}

// someKey is one of several keys.
func someKey(n byte) *store.Key {
	secret := make([]byte, store.KeySize)
	secret[0] = n
	k, err := store.NewKey(secret)
	if err != nil {
		panic(err)
	}
	return k
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
	return openUnder(t, path, nil)
}

func openUnder(t testing.TB, path string, key *store.Key) *store.Store {
	t.Helper()
	s, err := store.Open(context.Background(), path, store.Options{Key: key})
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
	return readUnder(t, path, nil)
}

func readUnder(t testing.TB, path string, key *store.Key) *store.Reader {
	t.Helper()
	r, err := store.OpenReader(context.Background(), path, key)
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

// TestWhatReadersAreToldIsWhatTheyWouldFind: after each commit, also one that fails, whoever reads in the writing
// process sees what another process finds.
func TestWhatReadersAreToldIsWhatTheyWouldFind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agentd.db")
	s := openStore(t, path)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		var c operation.Commit
		for n := range 1 + random.IntN(3) {
			op := fmt.Sprint("op-", random.IntN(40))
			c.Rows = append(c.Rows, operation.RetryRow{Op: op, N: 10*i + n})
			if random.IntN(4) == 0 {
				c.Rows = append(c.Rows, operation.OutcomeRow{Op: fmt.Sprint("op-", 100*i+n)})
			}
		}
		refused := random.IntN(10) == 0
		if refused {
			c.Cells = []operation.Cell{{Name: "wide", Version: 7, Value: payload.NewInt(1)}} // it isn't at that version
		}
		if err := s.Commit(t.Context(), c); refused != errors.Is(err, operation.ErrStale) || err != nil && !refused {
			t.Fatal(err)
		}
		fresh, err := store.OpenReader(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		want, err := fresh.Operations(t.Context(), store.Filter{})
		got, err2 := s.Operations(t.Context(), store.Filter{})
		if err := errors.Join(err, err2, fresh.Close()); err != nil {
			t.Fatal(err)
		}
		same(t, fmt.Sprint("after commit ", i), got, want)
	}
}
