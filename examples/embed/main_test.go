package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"agentd/operation"
)

func ledger(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "ledger"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

func TestAnOrderIsPaidOnce(t *testing.T) {
	dir := t.TempDir()
	for range 3 {
		done, err := pay(t.Context(), dir, nil)
		if err != nil || done.State != operation.Finished || done.Effective.Text() != "paid" {
			t.Fatal(done, err)
		}
		if got := ledger(t, dir); got != "reserve 100\npay 100\n" {
			t.Errorf("the ledger is %q", got)
		}
	}
}

func TestItCanBeKilledAnywhere(t *testing.T) {
	for place, want := range map[string]struct {
		ledger   string
		recovery bool
		state    operation.State
	}{
		"hook.tool":   {"", true, ""}, // nobody knows whether it reserved
		"hooked.tool": {"reserve 100\npay 100\n", false, operation.Finished},
		"intent.tool": {"reserve 100\n", false, operation.Unknown}, // nobody knows whether it was paid
		"action.tool": {"reserve 100\npay 100\n", false, operation.Unknown},
		"after.tool":  {"reserve 100\npay 100\n", false, operation.Finished},
	} {
		dir := t.TempDir()
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: it never came there", place)
				}
			}()
			_, err := pay(t.Context(), dir, func(here string) {
				if here == place {
					panic("killed")
				}
			})
			t.Errorf("%s: %v", place, err)
		}()
		for range 2 {
			done, err := pay(t.Context(), dir, nil)
			if errors.Is(err, operation.ErrRecovery) != want.recovery || err != nil && !want.recovery || done.State != want.state {
				t.Errorf("%s: %+v %v", place, done, err)
			}
		}
		if got := ledger(t, dir); got != want.ledger {
			t.Errorf("%s: the ledger is %q, want %q", place, got, want.ledger)
		}
	}
}
