package interp_test

import (
	"errors"
	"slices"
	"testing"

	"agentd/interp"
)

func TestTheNearestNameIsTheOneThatWasMeantOrNone(t *testing.T) {
	names := []string{"limit", "max_limit", "arguments", "items", "a", "shell"}
	for name, want := range map[string]string{
		"limt": "limit", "Limit": "limit", "maxLimit": "max_limit", "argumnts": "arguments", "SHELL": "shell", "limit": "", "payload": "", "b": "", "": "",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": "",
	} {
		got, err := interp.Nearest(name, slices.Values(names), func(int64) error { return nil })
		if err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
	spent := errors.New("spent")
	if _, err := interp.Nearest("limt", slices.Values(names), func(int64) error { return spent }); err != spent {
		t.Errorf("got %v", err)
	}
}
