package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"agentd/hookpoints/payload"
	"agentd/operation"
	"agentd/store"
)

// ticking is a clock that goes on by a second with each look.
type ticking struct {
	mu  sync.Mutex
	now time.Time
}

func (c *ticking) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(time.Second)
	return c.now
}

var zero = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func openTicking(t *testing.T, path string) *store.Store {
	t.Helper()
	s, err := store.Open(context.Background(), path, store.Options{Clock: &ticking{now: zero}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func begin(h operation.Head) operation.Row {
	return operation.IntentRow{State: operation.Running, Decided: operation.Decided{Head: h, Original: payload.NewString("in"), Final: payload.NewString("in")}}
}

func ended(op string) []operation.Row {
	return []operation.Row{operation.OutcomeRow{Op: op, Status: operation.Succeeded, Value: payload.NewString("out")}, operation.AfterRow{Op: op, Effective: payload.NewString("out")}}
}

// TestListingsAreRightAfterEveryRow compares what is listed with what the rows say, while the table
// of operations is behind by any number of rows, and after commits that came to nothing.
func TestListingsAreRightAfterEveryRow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agentd.db")
	s := openTicking(t, path)
	sums, updated, most := map[string]operation.Summary{}, map[string]time.Time{}, 0
	var order []string
	add := func(at time.Time, row operation.Row) {
		op := row.Key().Op
		if _, ok := sums[op]; !ok {
			order = append(order, op)
		}
		sums[op], updated[op] = sums[op].Advance(row), at
	}
	clock := zero
	tick := func() time.Time { clock = clock.Add(time.Second); return clock }
	id := func(i int) string { return fmt.Sprintf("op-%d", (i*37)%101) }
	for i := range 3 * store.IndexAfter {
		rows := []operation.Row{begin(operation.Head{ID: id(i), Kind: []string{"tool", "run"}[i%2], RunID: fmt.Sprint("run-", i%3), SessionID: "s", Began: zero.Add(time.Duration(i))})}
		if i > 100 {
			rows = []operation.Row{operation.RetryRow{Op: id(i), N: i}}
		}
		if i > 3 && i < 105 { // an operation's end comes once
			rows = append(rows, ended(id(i - 4))[:1+i%2]...)
		}
		if i%10 == 7 {
			tick() // together
			err := s.Commit(t.Context(), operation.Commit{Rows: []operation.Row{
				begin(operation.Head{ID: fmt.Sprint("lost-", i)}), operation.OutcomeRow{Op: id(i - 4), Status: "another"}, operation.OutcomeRow{Op: id(i - 4), Status: "yet another"}}})
			if !errors.Is(err, operation.ErrConflict) {
				t.Fatalf("got %v, want ErrConflict", err)
			}
		}
		at := tick()
		commit(t, s, rows...)
		for _, r := range rows {
			add(at, r)
		}
		n, err := s.Behind(t.Context())
		if err != nil || n >= store.IndexAfter {
			t.Fatalf("%d rows are behind, %v", n, err)
		}
		most = max(most, n)
		if i%5 > 0 && n > 2 {
			continue
		}
		var want []store.OperationRow
		var open []operation.Head
		for _, op := range order {
			sum := sums[op]
			want = append(want, store.OperationRow{Head: sum.Head, State: sum.State, Status: sum.Status, Attempts: sum.Attempts, Updated: updated[op], Done: sum.Done()})
			if !sum.Done() {
				open = append(open, sum.Head)
			}
		}
		l := seen(t, s.Reader)
		same(t, fmt.Sprint("listed after commit ", i), l.Operations, want)
		same(t, fmt.Sprint("open after commit ", i), l.Open, open)
		for _, limit := range []int{1, 3, 90, 1000} {
			got, err := s.Operations(t.Context(), store.Filter{Limit: limit, Kind: "tool"})
			if err != nil {
				t.Fatal(err)
			}
			tools := slices.DeleteFunc(slices.Clone(want), func(o store.OperationRow) bool { return o.Head.Kind != "tool" })
			same(t, "the last ones", got, tools[max(0, len(tools)-limit):])
		}
		if t.Failed() {
			return
		}
	}
	if most < store.IndexAfter-3 {
		t.Errorf("the table was never behind by more than %d rows", most)
	}
}

func TestOperationsCanBeChosen(t *testing.T) {
	s := openTicking(t, filepath.Join(t.TempDir(), "agentd.db"))
	for i, h := range []operation.Head{
		{ID: "r1", Kind: "run", RunID: "r1", SessionID: "s1", Agent: "default", Composite: true, Revisions: operation.Triple{Shipped: "a", User: "b", Project: "c"}},
		{ID: "t1", Kind: "tool", Parent: "r1", RunID: "r1", SessionID: "s1", Tool: "shell"},
		{ID: "f1", Kind: "tool", Client: "gemini", SessionID: "s2", Tool: "shell", Foreign: true},
		{ID: "r2", Kind: "run", RunID: "r2", SessionID: "s1", Composite: true},
		{ID: "f2", Kind: "tool", Client: "codex", SessionID: "s3", Tool: "edit", Foreign: true},
		{ID: "t2", Kind: "tool", Parent: "r2", RunID: "r2", SessionID: "s1", Tool: "edit"},
	} {
		h.Began = zero.Add(time.Duration(i) * time.Hour)
		commit(t, s, begin(h))
	}
	commit(t, s, ended("t1")...)
	commit(t, s, ended("f1")...)
	check := func() {
		t.Helper()
		for _, c := range []struct {
			f    store.Filter
			want []string
		}{
			{store.Filter{}, []string{"r1", "t1", "f1", "r2", "f2", "t2"}},
			{store.Filter{Limit: 2}, []string{"f2", "t2"}},
			{store.Filter{Run: "r1"}, []string{"r1", "t1"}},
			{store.Filter{Run: "r"}, nil},
			{store.Filter{Session: "s1"}, []string{"r1", "t1", "r2", "t2"}},
			{store.Filter{Kind: "run"}, []string{"r1", "r2"}},
			{store.Filter{Kind: "run", Limit: 1}, []string{"r2"}},
			{store.Filter{Client: "gemini"}, []string{"f1"}},
			{store.Filter{Tool: "edit"}, []string{"f2", "t2"}},
			{store.Filter{State: operation.Unknown}, []string{"t2"}},
			{store.Filter{State: operation.Finished, Kind: "tool"}, []string{"t1", "f1"}},
			{store.Filter{State: operation.Running}, []string{"r1", "r2"}},
			{store.Filter{State: operation.Unobserved}, []string{"f2"}},
			{store.Filter{Since: zero.Add(6 * time.Second)}, []string{"t1", "f1", "t2"}},
			{store.Filter{Since: zero.Add(8 * time.Second)}, []string{"f1"}},
			{store.Filter{Since: zero.Add(9 * time.Second)}, nil},
		} {
			list, err := s.Operations(t.Context(), c.f)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range list {
				got = append(got, o.Head.ID)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%+v chose %q, want %q", c.f, got, c.want)
			}
		}
		sessions, err := s.Sessions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		at := func(seconds int) time.Time { return zero.Add(time.Duration(seconds) * time.Second) }
		same(t, "sessions", sessions, []store.SessionRow{
			{ID: "s3", Began: zero.Add(4 * time.Hour), Updated: at(5), Operations: 1},
			{ID: "s1", Began: zero, Updated: at(7), Runs: 2, Operations: 4},
			{ID: "s2", Began: zero.Add(2 * time.Hour), Updated: at(8), Operations: 1},
		})
		heads, err := s.OpenForeign(t.Context(), "codex", "s3", "edit")
		if err != nil || len(heads) != 1 || heads[0].ID != "f2" {
			t.Errorf("open foreign ones are %+v, %v", heads, err)
		}
	}
	check()
	var fill []operation.Row
	for i := range store.IndexAfter { // so that the table of operations isn't behind
		fill = append(fill, operation.FailedRow{Op: "t2", N: i})
	}
	commit(t, s, fill...)
	if n, err := s.Behind(t.Context()); n != 0 || err != nil {
		t.Fatalf("%d rows are behind, %v", n, err)
	}
	for _, f := range []store.Filter{{Run: "r1"}, {Kind: "run"}, {State: operation.Running}, {State: operation.Unobserved}, {Client: "gemini"}} {
		list, err := s.Operations(t.Context(), f)
		if err != nil || len(list) == 0 {
			t.Errorf("%+v chose %v, %v", f, list, err)
		}
	}
}

func TestOneOperation(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "agentd.db"))
	if _, _, err := s.Operation(t.Context(), "none"); !errors.Is(err, store.ErrNoOperation) {
		t.Errorf("got %v, want ErrNoOperation", err)
	}
	rows := append([]operation.Row{begin(operation.Head{ID: "op", Kind: "tool", Began: zero})}, ended("op")...)
	commit(t, s, rows...)
	sum, got, err := s.Operation(t.Context(), "op")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "rows", got, rows)
	same(t, "summary", sum, operation.Summarise(rows))
}

// A row may come long after the writer has forgotten its operation, and after a new start.
func TestRowsFindAnOperationThatIsOutOfMind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agentd.db")
	s := openStore(t, path)
	var want []operation.Row
	first := begin(operation.Head{ID: "old", RunID: "run", Kind: "tool", Began: zero})
	for i := range 3 {
		rows := []operation.Row{operation.RetryRow{Op: "old", N: i}}
		if i == 0 {
			rows = append([]operation.Row{first}, rows...)
		}
		commit(t, s, rows...)
		want = append(want, rows...)
		var others []operation.Row
		for n := range 5000 {
			others = append(others, operation.OutcomeRow{Op: fmt.Sprintf("other-%d-%d", i, n)})
		}
		commit(t, s, others...)
		if i == 1 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = openStore(t, path)
		}
		commit(t, s, want...) // all there already
		if err := s.Commit(t.Context(), operation.Commit{Rows: []operation.Row{operation.RetryRow{Op: "old", N: i, Why: "other"}}}); !errors.Is(err, operation.ErrConflict) {
			t.Errorf("got %v, want ErrConflict", err)
		}
	}
	got, err := s.RunRows(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "rows", got, want)
	list, err := s.Operations(t.Context(), store.Filter{Run: "run"})
	if err != nil || len(list) != 1 || list[0].Attempts != 4 {
		t.Errorf("listed are %+v, %v", list, err)
	}
}
