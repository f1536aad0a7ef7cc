package charges

import (
	"context"
	"strings"
	"testing"

	"agentd/interp/starlark"
)

func TestEverythingThatIsChargedHasARow(t *testing.T) {
	has := map[string]bool{}
	for _, r := range Rows {
		for name := range strings.SplitSeq(r.Names, "; ") {
			has[name] = true
		}
	}
	for _, name := range starlark.Callables() {
		if !has[name] {
			t.Errorf("%s has no row", name)
		}
	}
}

func TestRowsRun(t *testing.T) {
	for _, r := range Rows {
		if r.Source != nil {
			continue
		}
		s, err := r.open(context.Background(), 10)
		if err == nil {
			_, _, err = s.times(t.Context(), 2)
		}
		if err != nil {
			t.Errorf("%s %s: %v", r.Names, r.Note, err)
			continue
		}
		if s.fuel[0] <= s.fuel[1] {
			t.Errorf("%s %s: it uses %v fuel", r.Names, r.Note, s.fuel)
		}
	}
}
