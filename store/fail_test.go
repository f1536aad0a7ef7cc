package store_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentd/hookpoints/payload"
	"agentd/operation"
	"agentd/store"
)

// noise is a text that doesn't compress.
func noise(n int) payload.Value {
	letters := make([]byte, n)
	for i := range letters {
		letters[i] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[rand.IntN(64)]
	}
	return payload.NewString(string(letters))
}

func TestAFullDiskLosesOneCommitOnly(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "agentd.db"))
	var kept []operation.Row
	keep := func(op string) {
		t.Helper()
		row := operation.OutcomeRow{Op: op, Value: payload.NewString(op)}
		commit(t, s, row)
		kept = append(kept, row)
	}
	for i := range 10 { // so that there is something that only the rows know
		keep(strings.Repeat("x", i+1))
	}
	if err := s.Exec(t.Context(), `PRAGMA max_page_count = 40`); err != nil {
		t.Fatal(err)
	}
	c := operation.Commit{
		Rows:  []operation.Row{operation.OutcomeRow{Op: "small"}, operation.OutcomeRow{Op: "big", Value: noise(1 << 20)}},
		Cells: []operation.Cell{{Name: "n", Value: payload.NewInt(1)}},
	}
	for range 3 {
		err := s.Commit(t.Context(), c)
		if err == nil || !strings.Contains(err.Error(), "free some space") {
			t.Fatalf("got %v", err)
		}
		keep(strings.Repeat("y", len(kept)))
	}
	for _, op := range []string{"small", "big"} {
		if rows, err := s.Rows(t.Context(), op); err != nil || len(rows) > 0 {
			t.Errorf("%s has %v, %v", op, rows, err)
		}
	}
	if cells, err := s.Cells(t.Context(), ""); err != nil || len(cells) > 0 {
		t.Errorf("cells are %v, %v", cells, err)
	}
	if err := s.Exec(t.Context(), `PRAGMA max_page_count = 100000`); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(t.Context(), c); err != nil { // the blob isn't taken for stored
		t.Fatal(err)
	}
	for _, want := range append(kept, c.Rows...) {
		rows, err := s.Rows(t.Context(), want.Key().Op)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "rows", rows, []operation.Row{want})
	}
	seen(t, s.Reader)
}

func TestAFailedCommitDoesNotFailItsNeighbours(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "agentd.db"))
	commit(t, s, operation.OutcomeRow{Op: "taken", Status: "a"})
	good, bad := make(chan error, 100), make(chan error, 100)
	for i := range cap(good) {
		go func() {
			good <- s.Commit(context.Background(), operation.Commit{Rows: []operation.Row{operation.OutcomeRow{Op: strings.Repeat("g", i+1), Value: noise(2000)}}})
		}()
		go func() {
			bad <- s.Commit(context.Background(), operation.Commit{Rows: []operation.Row{operation.OutcomeRow{Op: strings.Repeat("b", i+1)}, operation.OutcomeRow{Op: "taken", Status: "b"}}})
		}()
	}
	for range cap(good) {
		if err := <-good; err != nil {
			t.Error(err)
		}
		if err := <-bad; !errors.Is(err, operation.ErrConflict) {
			t.Errorf("got %v, want ErrConflict", err)
		}
	}
	if l := seen(t, s.Reader); l.Report.Operations != 101 || l.Report.Rows != 101 {
		t.Errorf("there are %d operations and %d rows", l.Report.Operations, l.Report.Rows)
	}
}

func TestWhatQueuedBeforeCloseIsWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agentd.db")
	s := openStore(t, path)
	results := make(chan error, 200)
	started := make(chan struct{}, cap(results))
	for i := range cap(results) {
		go func() {
			started <- struct{}{}
			results <- s.Commit(context.Background(), operation.Commit{Rows: []operation.Row{operation.OutcomeRow{Op: strings.Repeat("o", i+1)}}})
		}()
	}
	for range cap(results) / 2 {
		<-started
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	written := 0
	for range cap(results) {
		switch err := <-results; {
		case err == nil:
			written++
		case !errors.Is(err, store.ErrClosed):
			t.Error(err)
		}
	}
	if l := seen(t, openReader(t, path)); l.Report.Rows != written {
		t.Errorf("%d commits were acknowledged and %d are there", written, l.Report.Rows)
	}
}

func TestAReadOnlyFolderIsSaidSo(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("nothing is read-only for root")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	_, err := store.Open(t.Context(), filepath.Join(dir, "agentd.db"), store.Options{})
	told(t, "the writer", err, os.ErrPermission, "writable for this user")
}

func TestAFileInPlaceOfTheFolderIsSaidSo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	writeFile(t, dir, "")
	if _, err := store.Open(t.Context(), filepath.Join(dir, "agentd.db"), store.Options{}); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v", err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "agentd.db"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 2 { // the lock is let go
		if _, err := store.Open(t.Context(), filepath.Join(dir, "agentd.db"), store.Options{}); err == nil || errors.Is(err, store.ErrInUse) {
			t.Errorf("try %d: got %v", i, err)
		}
	}
}

// A writer whose database becomes read-only under it fails, keeps what it had, and goes on when the
// cause is gone.
func TestAWriterThatMayNotWriteGoesOnLater(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "agentd.db"))
	commit(t, s, operation.OutcomeRow{Op: "before"})
	if err := s.Exec(t.Context(), `PRAGMA query_only = 1`); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		err := s.Commit(t.Context(), operation.Commit{Rows: []operation.Row{operation.OutcomeRow{Op: "during"}}})
		if err == nil || !strings.Contains(err.Error(), "writable for this user") {
			t.Fatalf("got %v", err)
		}
	}
	if err := s.Exec(t.Context(), `PRAGMA query_only = 0`); err != nil {
		t.Fatal(err)
	}
	commit(t, s, operation.OutcomeRow{Op: "after"})
	if rows, err := s.Rows(t.Context(), "during"); err != nil || len(rows) > 0 {
		t.Errorf("a failed commit left %v, %v", rows, err)
	}
	if l := seen(t, s.Reader); l.Report.Rows != 2 {
		t.Errorf("there are %d rows, want 2", l.Report.Rows)
	}
}
