package reload

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what has to come, on a machine that does much else.
const patience = 60 * time.Second

func scripts(rel string) bool { return strings.HasSuffix(rel, ".star") }

func write(t testing.TB, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tree is a set as names and texts, those of the first root.
func tree(s Snapshot) map[string]string {
	out := map[string]string{}
	for _, f := range s.Under(0) {
		out[f.Name] = string(f.Text)
	}
	return out
}

// following is a watcher that runs until the test ends.
type following struct {
	t    testing.TB
	w    *Watcher
	sets chan Snapshot
	logs chan string
}

func follow(t testing.TB, roots []Root, opts Options, targetErr func(Snapshot) error) *following {
	t.Helper()
	f := &following{t: t, sets: make(chan Snapshot, 1000), logs: make(chan string, 1000)}
	opts.Log = slog.New(logChannel{slog.DiscardHandler, f.logs})
	f.w = New(roots, func(_ context.Context, s Snapshot) error {
		f.sets <- s
		if targetErr != nil {
			return targetErr(s)
		}
		return nil
	}, opts)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return f
}

// until waits for a set with exactly these files.
func (f *following) until(want map[string]string) Snapshot {
	f.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	last := map[string]string{}
	for {
		select {
		case s := <-f.sets:
			if last = tree(s); cmp.Equal(want, last) {
				return s
			}
		case <-deadline.C:
			f.t.Fatalf("the set didn't come; the last one differs (-want +got):\n%s\nfault: %v", cmp.Diff(want, last), f.w.Err())
		}
	}
}

// logged waits for a message.
func (f *following) logged(part string) {
	f.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		select {
		case line := <-f.logs:
			if strings.Contains(line, part) {
				return
			}
		case <-deadline.C:
			f.t.Fatalf("%q was not logged", part)
		}
	}
}

type logChannel struct {
	slog.Handler
	lines chan string
}

func (l logChannel) Enabled(context.Context, slog.Level) bool { return true }

func (l logChannel) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool {
		line += " " + a.String()
		return true
	})
	l.lines <- line
	return nil
}
