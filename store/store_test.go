package store_test

import (
	"path/filepath"
	"testing"

	"agentd/operation"
	"agentd/operation/journaltest"
	"agentd/store"
)

func TestStoreIsAJournal(t *testing.T) {
	journaltest.Run(t, func(t *testing.T) operation.Journal { return open(t, filepath.Join(t.TempDir(), "agentd.db")) })
}

// open opens a store that the test closes.
func open(t testing.TB, path string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), path, store.Options{})
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
