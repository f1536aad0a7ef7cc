package facts_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"agentd/internal/facts"
	"agentd/operation"
	"agentd/store"
)

// spent is a history that knows only what was used.
type spent struct {
	of  store.Usage
	err error
}

func (s spent) Trail(context.Context, string, int) ([]store.TrailRow, error) { return nil, nil }
func (s spent) Usage(context.Context, string, string) (store.Usage, store.Usage, error) {
	return store.Usage{}, s.of, s.err
}

func TestTheBudgetIsWhatIsLeftOfTheSessions(t *testing.T) {
	for name, c := range map[string]struct {
		limit int64
		used  spent
		head  operation.Head
		want  string // with "- " it is absent
	}{
		"nothing yet":          {1000, spent{}, operation.Head{SessionID: "s"}, `{"limit":1000,"used":0,"left":1000,"share":0.0000}`},
		"most":                 {3000, spent{of: store.Usage{Total: 2400, ModelCalls: 3}}, operation.Head{SessionID: "s"}, `{"limit":3000,"used":2400,"left":600,"share":0.8000}`},
		"a little too much":    {3, spent{of: store.Usage{Total: 4}}, operation.Head{SessionID: "s"}, `{"limit":3,"used":4,"left":0,"share":1.3333}`},
		"nothing configured":   {0, spent{}, operation.Head{SessionID: "s"}, "- configuration sets no budget for this agent"},
		"not counted":          {1000, spent{of: store.Usage{Total: 5, ModelCalls: 3, Uncounted: 2}}, operation.Head{SessionID: "s"}, "- the model's server didn't count the tokens of 2 of 3 calls"},
		"a client":             {1000, spent{}, operation.Head{SessionID: "s", Foreign: true}, "- agentd doesn't see what a client's model uses"},
		"no session":           {1000, spent{}, operation.Head{}, "- this belongs to no session"},
		"a journal that fails": {1000, spent{err: errors.New("disk")}, operation.Head{SessionID: "s"}, "- "},
	} {
		r := facts.NewReader(facts.ReaderOptions{Allow: everything, History: c.used, Budget: func(operation.Head) int64 { return c.limit }})
		got := told(r.Open(c.head, "step.before", nil).Fact(t.Context(), "budget"))
		if got != c.want && (c.want != "- " || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
