package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"agentd/operation"
	"agentd/store"
)

// makeFile makes a database by other means than ours.
func makeFile(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func writeFile(t *testing.T, path string, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefusesWhatItMustNotTouch(t *testing.T) {
	for name, c := range map[string]struct {
		make           func(t *testing.T, path string)
		writer, reader error  // nil: opens
		says           string // in the message of both
	}{
		"a database with tables of another program": {
			func(t *testing.T, path string) { makeFile(t, path, `CREATE TABLE bookmarks (url TEXT)`) },
			store.ErrForeign, store.ErrForeign, "move it away or choose another state folder"},
		"a database of another application": {
			func(t *testing.T, path string) { makeFile(t, path, `PRAGMA application_id = 42`) },
			store.ErrForeign, store.ErrForeign, "move it away or choose another state folder"},
		"another program's database that has only a version": {
			func(t *testing.T, path string) { makeFile(t, path, `PRAGMA user_version = 1`) },
			store.ErrForeign, store.ErrForeign, "move it away"},
		"a database of a newer agentd": {
			func(t *testing.T, path string) {
				openStore(t, path).Close()
				makeFile(t, path, `PRAGMA user_version = 1000`)
			},
			store.ErrNewer, store.ErrNewer, "install the newer agentd"},
		"a text": {
			func(t *testing.T, path string) {
				writeFile(t, path, strings.Repeat("this is no database; ", 1000))
			},
			store.ErrDamaged, store.ErrDamaged, "put a copy back"},
		"a database whose first page is overwritten": {
			func(t *testing.T, path string) {
				openStore(t, path).Close()
				overwrite(t, path, 0, strings.Repeat("x", 4096))
			},
			store.ErrDamaged, store.ErrDamaged, "put a copy back"},
		"a database without a table": {
			func(t *testing.T, path string) {
				openStore(t, path).Close()
				makeFile(t, path, `DROP TABLE rows`)
			},
			store.ErrDamaged, nil, ""},
		"an empty file": {
			func(t *testing.T, path string) { writeFile(t, path, "") },
			nil, store.ErrNoDatabase, ""},
		"nothing":   {func(*testing.T, string) {}, nil, store.ErrNoDatabase, ""},
		"no folder": {func(t *testing.T, path string) { os.Remove(filepath.Dir(path)) }, nil, store.ErrNoDatabase, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state", "agentd.db")
			if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			c.make(t, path)
			before := contents(path)
			r, err := store.OpenReader(t.Context(), path, nil)
			told(t, "the reader", err, c.reader, c.says)
			if err == nil {
				r.Close()
			}
			if now := contents(path); now != before {
				t.Error("the reader changed the file")
			}
			s, err := store.Open(t.Context(), path, store.Options{})
			told(t, "the writer", err, c.writer, c.says)
			if err == nil {
				commit(t, s, operation.OutcomeRow{Op: "op"})
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				return
			}
			if now := contents(path); now != before {
				t.Error("the writer changed the file")
			}
			// The lock is free again.
			_, err = store.Open(t.Context(), path, store.Options{})
			told(t, "the writer", err, c.writer, c.says)
		})
	}
}

func contents(path string) string {
	text, err := os.ReadFile(path)
	return fmt.Sprint(string(text), err)
}

func told(t *testing.T, who string, err, want error, says string) {
	t.Helper()
	if !errors.Is(err, want) || want == nil && err != nil {
		t.Errorf("%s got %v, want %v", who, err, want)
	}
	if err != nil && (!strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n")) {
		t.Errorf("%s is told %q, which isn't a sentence with %q", who, err, says)
	}
}

func overwrite(t *testing.T, path string, at int64, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(text), at); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAReaderDoesNotMigrate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agentd.db")
	openStore(t, path).Close()
	makeFile(t, path, `DROP TABLE heads`, `DROP TABLE revision_files`, `DROP TABLE revisions`, `PRAGMA user_version = 1`)
	_, err := store.OpenReader(t.Context(), path, nil)
	told(t, "the reader", err, store.ErrOlder, "start agentd serve once")
	s := openStore(t, path)
	if id, err := s.Head(t.Context(), 0); id != "" || err != nil {
		t.Errorf("after the migration the head is %q, %v", id, err)
	}
	openReader(t, path)
}

func TestOneWriterAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agentd.db")
	first := openStore(t, path)
	_, err := store.Open(t.Context(), path, store.Options{})
	told(t, "the second", err, store.ErrInUse, fmt.Sprintf("process %d", os.Getpid()))
	_, err = store.Open(t.Context(), filepath.Join(filepath.Dir(path), "other.db"), store.Options{})
	told(t, "one with another file in the folder", err, store.ErrInUse, "")

	ended, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	_, err = store.Open(ended, path, store.Options{Wait: true})
	told(t, "one that has no time to wait", err, store.ErrInUse, "")

	got := make(chan error)
	go func() {
		s, err := store.Open(t.Context(), path, store.Options{Wait: true})
		if err == nil {
			err = s.Close()
		}
		got <- err
	}()
	commit(t, first, operation.OutcomeRow{Op: "op"})
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Errorf("one that waits got %v", err)
	}
	openStore(t, path)
}

func TestCloseLeavesOneFileAndNothingToFoldIn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agentd.db")
	s := openStore(t, path)
	commit(t, s, operation.OutcomeRow{Op: "op"})
	if n, err := s.Behind(t.Context()); n != 1 || err != nil {
		t.Errorf("%d rows are behind, %v", n, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var names []string
	entries, err := os.ReadDir(filepath.Dir(path))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if err != nil || !slices.Equal(names, []string{"agentd.db", store.LockName}) {
		t.Errorf("left are %q, %v", names, err)
	}
	if n, err := openReader(t, path).Behind(t.Context()); n != 0 || err != nil {
		t.Errorf("%d rows are behind, %v", n, err)
	}
}

func TestClosedStoresSaySo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agentd.db")
	s := openStore(t, path)
	r := openReader(t, path)
	for range 2 {
		if err := errors.Join(s.Close(), r.Close()); err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	check := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s gave %v, want ErrClosed", what, err)
		}
	}
	check("Commit", s.Commit(ctx, operation.Commit{Rows: []operation.Row{operation.OutcomeRow{Op: "op"}}}))
	check("SetHead", s.SetHead(ctx, 0, "x"))
	_, err := s.Rows(ctx, "op")
	check("Rows of the store", err)
	_, err = r.Open(ctx)
	check("Open of the reader", err)
}

func TestPathsMayHoldAnything(t *testing.T) {
	for _, name := range []string{"a?mode=memory", "100%41", "#x", "with space & é", "file:y", "a;b'c"} {
		dir := filepath.Join(t.TempDir(), name)
		path := filepath.Join(dir, name+".db")
		s := openStore(t, path)
		commit(t, s, operation.OutcomeRow{Op: "op"})
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		if rows, err := openReader(t, path).Rows(t.Context(), "op"); err != nil || len(rows) != 1 {
			t.Errorf("%q: %v, %v", name, rows, err)
		}
	}
}

func TestNobodyElseMayReadTheState(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions are others there")
	}
	dir := filepath.Join(t.TempDir(), "state")
	s := openStore(t, filepath.Join(dir, "agentd.db"))
	commit(t, s, operation.OutcomeRow{Op: "op"})
	for _, name := range []string{"", "agentd.db", "agentd.db-wal", "agentd.db-shm", store.LockName} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%q has the permissions %v", name, info.Mode())
		}
	}
}

func TestADatabaseThatActsByItselfIsntInert(t *testing.T) {
	for _, bad := range []string{
		"CREATE TRIGGER t AFTER INSERT ON rows BEGIN DELETE FROM blobs; END",
		"CREATE VIEW w AS SELECT 1",
		"CREATE VIRTUAL TABLE v USING fts4(x)",
	} {
		path := filepath.Join(t.TempDir(), "agentd.db")
		s, err := store.Open(t.Context(), path, store.Options{})
		if err == nil {
			err = errors.Join(s.Inert(t.Context()), s.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite3", path)
		if err == nil {
			_, err = db.Exec(bad)
			err = errors.Join(err, db.Close())
		}
		if err != nil && strings.Contains(err.Error(), "no such module") {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		r, err := store.OpenReader(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Inert(t.Context()); !errors.Is(err, store.ErrForeign) {
			t.Errorf("%s: %v", bad, err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestADatabaseIsKnownByItsOrigin(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agentd.db")
	s, err := store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if name, newest, err := s.Origin(t.Context()); name != "" || newest != 0 || err != nil {
		t.Errorf("%q, %d, %v", name, newest, err)
	}
	for _, want := range []string{"one", "two"} {
		if err := s.SetOrigin(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		if name, _, err := s.Origin(t.Context()); name != want || err != nil {
			t.Errorf("%q, %v", name, err)
		}
	}
}
