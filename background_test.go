package agentd_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"agentd"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/operation"
	"agentd/operation/journaltest"
	"agentd/revision"
)

// backdrop is a runtime with one background hook at turn.after.
type backdrop struct {
	t       *testing.T
	rt      *agentd.Runtime
	journal *journaltest.Memory
	triple  operation.Triple

	mu   sync.Mutex
	told []string // what became of the calls
}

func newBackdrop(t *testing.T, run goRun, script string) *backdrop {
	t.Helper()
	leaks := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, leaks) })
	b := &backdrop{t: t, journal: journaltest.NewMemory()}
	var err error
	b.rt, err = agentd.Open(agentd.Options{Journal: b.journal, Clock: standing{}, Monotonic: standing{}, Background: func(h operation.Head, rec hookpoints.Record) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.told = append(b.told, strings.TrimSpace(fmt.Sprintf("%s %s %v %s", h.ID, rec.BindingID, rec.Ran, rec.Error+rec.Why)))
	}, Hooks: []agentd.GoHook{{ID: "watch", Version: "1", Points: []string{"turn.after"}, Observation: true, Background: true, Run: run}}})
	if err != nil {
		t.Fatal(err)
	}
	var layers []*revision.Layer
	for _, which := range []hookpoints.Layer{hookpoints.Shipped, hookpoints.Project} {
		var files []revision.File
		if which == hookpoints.Project {
			files = []revision.File{{Path: "hooks/a.star", Text: []byte(script)}}
		}
		l, err := b.rt.Build(t.Context(), which, files, layers)
		if err != nil {
			t.Fatal(err)
		}
		layers = append(layers, l)
	}
	g, err := b.rt.Serve(t.Context(), layers)
	if err != nil {
		t.Fatal(err)
	}
	b.triple = g.Triple
	return b
}

func (b *backdrop) session() *operation.Session {
	b.t.Helper()
	s, err := b.rt.Session(b.t.Context(), "s")
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// turn fires turn.after for the n-th turn, with a response of so many bytes.
func (b *backdrop) turn(s *operation.Session, n, size int) error {
	h := operation.Head{ID: fmt.Sprintf("t%d", n), Kind: "turn", RunID: "r", SessionID: "s", Revisions: b.triple}
	in := payload.NewObject(payload.Field{Name: "prompt", Value: payload.NewString("p")}, payload.Field{Name: "response", Value: payload.NewString(strings.Repeat("x", size))},
		payload.Field{Name: "continuation", Value: payload.NewInt(0)})
	_, err := s.Point(b.t.Context(), h, 0, "turn.after", &hookpoints.Around{Seed: h.ID}, in)
	return err
}

func (b *backdrop) close(ctx context.Context) []string {
	b.rt.Close(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.told
}

func count(t *testing.T, got agentd.Background, want agentd.Background) {
	t.Helper()
	if got != want {
		t.Errorf("the counts are %+v, want %+v", got, want)
	}
}

func TestABackgroundHookRunsOnceItsChainIsDurableWhileTheOperationGoesOn(t *testing.T) {
	goOn := make(chan struct{})
	var b *backdrop
	var durable []int
	b = newBackdrop(t, func(_ context.Context, c *hookpoints.Call) ([]hookpoints.Decision, error) {
		<-goOn // it would hang here if it ran on the path
		rows, err := b.journal.Rows(context.Background(), c.Seed)
		durable = append(durable, len(rows))
		return nil, err
	}, "")
	s := b.session()
	for n := range 2 {
		if err := b.turn(s, n, 1); err != nil {
			t.Fatal(err)
		}
	}
	count(t, b.rt.Background(), agentd.Background{}) // nothing is durable, so nothing is handed over
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows, err := b.journal.Rows(t.Context(), "t1")
	if err != nil || len(rows) != 1 {
		t.Fatal(rows, err)
	}
	if rec := rows[0].(operation.PointRow).Records[0]; rec.Ran || rec.Why != hookpoints.InBackground || rec.Error != "" {
		t.Errorf("the row's record is %+v", rec)
	}
	close(goOn)
	if got, want := fmt.Sprint(b.close(t.Context())), "[t0 shipped/watch true t1 shipped/watch true]"; got != want {
		t.Errorf("told %s, want %s", got, want)
	}
	if fmt.Sprint(durable) != "[1 1]" {
		t.Errorf("rows that were durable when it ran: %v", durable)
	}
	count(t, b.rt.Background(), agentd.Background{Ran: 2})
}

func TestABackgroundHookOfAChainThatIsntDurableNeverRuns(t *testing.T) {
	b := newBackdrop(t, func(context.Context, *hookpoints.Call) ([]hookpoints.Decision, error) {
		t.Error("it ran")
		return nil, nil
	}, "")
	b.journal.FailAt(1, nil)
	s := b.session()
	if err := b.turn(s, 0, 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(t.Context()); !errors.Is(err, operation.ErrPersistence) {
		t.Fatal(err)
	}
	if told := b.close(t.Context()); len(told) > 0 {
		t.Errorf("told %q", told)
	}
}

func TestWhatABackgroundHookGetsWrongIsCountedAndHurtsNobody(t *testing.T) {
	b := newBackdrop(t, func(context.Context, *hookpoints.Call) ([]hookpoints.Decision, error) { panic("no") }, `
def decides(ctx, turn):
    return annotate(n = 1)

hook(id = "decides", version = "1", run = decides, point = "turn.after", observation = True, background = True)

def spins(ctx, turn):
    for i in range(100000000):
        pass

hook(id = "spins", version = "1", run = spins, point = "turn.after", observation = True, background = True)

def looks(ctx, turn):
    return annotate(n = 2)

hook(id = "looks", version = "1", run = looks, point = "turn.after", observation = True)
`)
	s := b.session()
	if err := b.turn(s, 0, 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := "[t0 shipped/watch true hook_failed t0 project/decides true not_permitted t0 project/spins true budget]"
	if got := fmt.Sprint(b.close(t.Context())); got != want {
		t.Errorf("told %s, want %s", got, want)
	}
	count(t, b.rt.Background(), agentd.Background{Ran: 3, Failed: 3})
}

func TestWhatWaitsInTheBackgroundIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		turns, size, waiting int
	}{"by number": {1030, 1, 1024}, "by size": {20, 7 << 20, 9}} {
		t.Run(name, func(t *testing.T) {
			begun, goOn := make(chan struct{}, 2000), make(chan struct{})
			b := newBackdrop(t, func(context.Context, *hookpoints.Call) ([]hookpoints.Decision, error) {
				begun <- struct{}{}
				<-goOn
				return nil, nil
			}, "")
			s := b.session()
			for n := range c.turns {
				if err := b.turn(s, n, c.size); err != nil {
					t.Fatal(err)
				}
				if err := s.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				if n == 0 {
					<-begun // so it doesn't wait any more
				}
			}
			dropped := int64(c.turns - 1 - c.waiting)
			count(t, b.rt.Background(), agentd.Background{Waiting: c.waiting, Dropped: dropped})
			close(goOn)
			told := b.close(t.Context())
			if len(told) != c.waiting+2 || told[0] != fmt.Sprintf("t%d shipped/watch false dropped: too much waits in the background", c.waiting+1) {
				t.Errorf("%d were told, the first is %s", len(told), told[0])
			}
			count(t, b.rt.Background(), agentd.Background{Ran: int64(c.waiting + 1), Dropped: dropped})
		})
	}
}

func TestClosingDropsWhatWaitsTooLongAndWaitsForTheLastCall(t *testing.T) {
	begun := make(chan struct{})
	ended := false
	b := newBackdrop(t, func(ctx context.Context, _ *hookpoints.Call) ([]hookpoints.Decision, error) {
		close(begun)
		<-ctx.Done()
		ended = true
		return nil, ctx.Err()
	}, "")
	s := b.session()
	for n := range 3 {
		if err := b.turn(s, n, 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-begun
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if got, want := fmt.Sprint(b.close(over)), "[t0 shipped/watch false cut off]"; got != want || !ended {
		t.Errorf("told %s, want %s; it had ended: %v", got, want, ended)
	}
	count(t, b.rt.Background(), agentd.Background{Dropped: 3})
	if err := b.turn(s, 3, 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	count(t, b.rt.Background(), agentd.Background{Dropped: 4})
}

func TestDecideMakesTheCallsOfBackgroundHooksItself(t *testing.T) {
	ran := 0
	b := newBackdrop(t, func(context.Context, *hookpoints.Call) ([]hookpoints.Decision, error) {
		ran++
		return nil, errors.New("no")
	}, "")
	res := decide(t, b.rt, b.rt.Serving(), "turn.after")
	if rec := res.Records[0]; ran != 1 || !rec.Ran || rec.Error != "hook_failed" || res.Outcome != hookpoints.Continued {
		t.Errorf("it ran %d times: %+v", ran, res)
	}
	count(t, b.rt.Background(), agentd.Background{})
}
