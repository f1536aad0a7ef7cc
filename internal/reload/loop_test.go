package reload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// bubble runs a loop on real files, with a clock and hints of the test's own.
type bubble struct {
	t     *testing.T
	dir   string
	hints chan struct{}
	sets  chan Snapshot
	w     *Watcher
	reads atomic.Int64
	fail  []error     // of the next reads; set before a hint
	more  atomic.Bool // the next look finds a folder that wasn't watched
}

// inBubble starts the loop over dir/a.star, lets it hand over the first set, and runs f. Files are as
// old as the test says: the real clock is years ahead of the bubble's.
func inBubble(t *testing.T, opts Options, f func(b *bubble)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{t: t, dir: dir, hints: make(chan struct{}, 1), sets: make(chan Snapshot, 100)}
		b.w = New([]Root{{Dir: dir}}, func(_ context.Context, s Snapshot) error {
			b.sets <- s
			return nil
		}, opts)
		l := loop{
			w: b.w,
			read: func() (reading, error) {
				b.reads.Add(1)
				if len(b.fail) > 0 {
					err := b.fail[0]
					b.fail = b.fail[1:]
					return reading{}, err
				}
				return read(b.w.roots)
			},
			follow: func([]string) bool { return b.more.Swap(false) },
			hints:  b.hints,
			settle: settler{quiet: b.w.opts.Quiet},
		}
		b.write("first", time.Hour)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			l.run(ctx)
		}()
		b.expect("first")
		f(b)
		cancel()
		<-done
	})
}

// write saves a.star with a modification time that lies so far back.
func (b *bubble) write(text string, age time.Duration) {
	b.t.Helper()
	path := filepath.Join(b.dir, "a.star")
	write(b.t, path, text)
	at := time.Now().Add(-age)
	must(b.t, os.Chtimes(path, at, at))
	b.touch()
}

// touch gives the folder the bubble's time: the real one hardly moves while a test runs.
func (b *bubble) touch() {
	b.t.Helper()
	must(b.t, os.Chtimes(b.dir, time.Now(), time.Now()))
}

func (b *bubble) moveAway() {
	b.t.Helper()
	path := filepath.Join(b.dir, "a.star")
	must(b.t, os.Rename(path, path+"~"))
	b.touch()
}

func (b *bubble) hint() {
	b.hints <- struct{}{}
	synctest.Wait()
}

// pass lets time pass, and everything happen that is due.
func (b *bubble) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (b *bubble) expect(text string) {
	b.t.Helper()
	synctest.Wait()
	select {
	case s := <-b.sets:
		if got := tree(s)["a.star"]; got != text {
			b.t.Fatalf("%q was handed over, want %q", got, text)
		}
	default:
		b.t.Fatalf("nothing was handed over, want %q", text)
	}
}

func (b *bubble) nothing() {
	b.t.Helper()
	synctest.Wait()
	if len(b.sets) > 0 {
		b.t.Fatalf("%q was handed over too early", tree(<-b.sets)["a.star"])
	}
}

const ms = time.Millisecond

func TestASaveIsHandedOverAfterAGlanceAndOneQuietPeriod(t *testing.T) {
	inBubble(t, Options{Poll: -1}, func(b *bubble) {
		b.write("second", 0)
		b.hint()
		b.pass(54 * ms)
		b.nothing()
		b.pass(1 * ms)
		b.expect("second")
		if got := b.reads.Load(); got != 3 {
			t.Errorf("%d reads, want the first, a glance and one after quiet", got)
		}
	})
}

func TestEachHintProlongsTheWait(t *testing.T) {
	inBubble(t, Options{Poll: -1}, func(b *bubble) {
		b.write("second", 0)
		for range 5 {
			b.hint()
			b.pass(40 * ms)
		}
		b.nothing()
		b.pass(10 * ms)
		b.expect("second")
	})
}

func TestHintsWithoutEndDoNotPreventReading(t *testing.T) {
	inBubble(t, Options{Poll: -1}, func(b *bubble) {
		b.write("second", 0)
		for range 49 {
			b.hint()
			b.pass(10 * ms)
		}
		b.nothing()
		b.hint()
		b.pass(10 * ms)
		b.expect("second")
	})
}

func TestAYoungFileNeedsTwoEqualReads(t *testing.T) {
	inBubble(t, Options{Poll: -1}, func(b *bubble) {
		b.write("sec", 0)
		b.hint()
		b.pass(49 * ms)
		b.write("second", 0) // its hint is late
		b.pass(6 * ms)
		b.nothing()
		b.hint()
		b.pass(50 * ms)
		b.expect("second")
	})
}

func TestTheSameTextWrittenAgainIsNotTheSameRead(t *testing.T) {
	inBubble(t, Options{Poll: -1}, func(b *bubble) {
		b.write("second", 10*ms)
		b.hint()
		b.pass(10 * ms)
		b.write("second", 0)
		b.pass(45 * ms)
		b.nothing()
		b.pass(50 * ms)
		b.expect("second")
	})
}

func TestAnOldFileNeedsOneRead(t *testing.T) {
	inBubble(t, Options{Poll: 100 * ms}, func(b *bubble) {
		b.write("second", time.Hour)
		b.pass(100 * ms)
		b.expect("second")
	})
}

func TestAFileFromTheFutureNeedsTwoReads(t *testing.T) {
	inBubble(t, Options{Poll: 100 * ms}, func(b *bubble) {
		b.write("second", -time.Hour)
		b.pass(100 * ms)
		b.nothing()
		b.pass(50 * ms)
		b.expect("second")
	})
}

func TestAMissingFileNeedsTwoReads(t *testing.T) {
	inBubble(t, Options{Poll: -1}, func(b *bubble) {
		b.moveAway() // the first half of a save
		b.hint()
		b.pass(49 * ms)
		b.write("second", 0)
		b.pass(6 * ms)
		b.nothing()
		b.pass(50 * ms)
		b.expect("second")
		b.moveAway()
		b.hint()
		b.pass(55 * ms)
		b.expect("")
	})
}

func TestPollingSeesWhatNobodyTold(t *testing.T) {
	inBubble(t, Options{}, func(b *bubble) {
		b.pass(1 * time.Second)
		b.write("second", 0)
		b.pass(999 * ms)
		b.nothing()
		b.pass(51 * ms)
		b.expect("second")
	})
}

// What was put into a new folder before it was watched is told by nobody.
func TestANewWatchIsAReasonToLookAgain(t *testing.T) {
	inBubble(t, Options{Poll: time.Second}, func(b *bubble) {
		b.pass(999 * ms)
		reads := b.reads.Load()
		b.more.Store(true) // at the poll
		b.pass(1 * ms)
		b.write("second", time.Hour)
		b.pass(50 * ms)
		b.expect("second")
		if got := b.reads.Load() - reads; got != 2 {
			t.Errorf("%d reads, want the poll and another", got)
		}
	})
}

func TestAnEmptiedFileIsRefusedHoweverLongItStays(t *testing.T) {
	inBubble(t, Options{}, func(b *bubble) {
		b.write("", 0)
		b.hint()
		b.pass(49 * ms)
		if err := b.w.Err(); err != nil {
			t.Errorf("a file that was just opened for writing is a fault: %v", err)
		}
		b.pass(6 * ms)
		b.nothing()
		if err := b.w.Err(); !errors.Is(err, ErrEmptied) {
			t.Errorf("the fault is %v, want %v", err, ErrEmptied)
		}
		b.pass(time.Hour)
		b.nothing()
		b.write("second", 0)
		b.hint()
		b.pass(55 * ms)
		b.expect("second")
		if err := b.w.Err(); err != nil {
			t.Errorf("the fault stays: %v", err)
		}
	})
}

func TestAnEmptiedFileThatIsWrittenAgainIsNoChange(t *testing.T) {
	inBubble(t, Options{Poll: -1}, func(b *bubble) {
		b.write("", 0)
		b.hint()
		b.pass(50 * ms)
		b.write("first", 0)
		b.hint()
		b.pass(100 * ms)
		b.nothing()
		if err := b.w.Err(); err != nil {
			t.Errorf("the fault stays: %v", err)
		}
	})
}

func TestFilesThatChangeWhileTheyAreReadAreReadAgain(t *testing.T) {
	inBubble(t, Options{Poll: -1}, func(b *bubble) {
		b.write("second", time.Hour)
		b.fail = []error{ErrChanging, ErrChanging}
		b.hint()
		b.pass(55 * ms)
		b.nothing()
		if err := b.w.Err(); !errors.Is(err, ErrChanging) {
			t.Errorf("the fault is %v, want %v", err, ErrChanging)
		}
		b.pass(50 * ms)
		b.expect("second")
	})
}

func TestOtherFaultsWaitForTheNextHintOrPoll(t *testing.T) {
	inBubble(t, Options{Poll: time.Second}, func(b *bubble) {
		b.write("second", time.Hour)
		b.fail = []error{os.ErrPermission, os.ErrPermission}
		b.hint()
		b.pass(55 * ms)
		if err := b.w.Err(); !errors.Is(err, os.ErrPermission) {
			t.Errorf("the fault is %v, want %v", err, os.ErrPermission)
		}
		b.pass(944 * ms)
		b.nothing()
		b.pass(1 * ms)
		b.expect("second")
	})
}

// A writer never rests for as long as a quiet period within a save. It truncates or moves the old file
// away, writes in parts, and a third of what it does isn't told by any event.
func TestNoHalfWrittenFileIsHandedOver(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		inBubble(t, Options{Poll: 130 * ms}, func(b *bubble) {
			t := b.t
			whole := map[string]bool{"first": true}
			last := "first"
			told := func() {
				if random.IntN(3) > 0 {
					select {
					case b.hints <- struct{}{}:
					default: // one waits already
					}
				}
			}
			handed, final := 0, ""
			check := func() {
				synctest.Wait()
				for len(b.sets) > 0 {
					s := <-b.sets
					handed, final = handed+1, tree(s)["a.star"]
					if got := tree(s); !whole[got["a.star"]] || len(got) != 1 {
						t.Fatalf("seed %d: %v was handed over", seed, got)
					}
				}
			}
			for n := range 60 {
				last = fmt.Sprintf("%d %s.", n, strings.Repeat("x", random.IntN(20)))
				whole[last] = true
				if random.IntN(2) == 0 {
					b.moveAway()
				} else {
					b.write("", 0)
				}
				told()
				parts := 1 + random.IntN(4)
				for part := 1; part <= parts; part++ {
					b.pass(time.Duration(random.IntN(50)) * ms)
					check()
					b.write(last[:len(last)*part/parts], 0)
					told()
				}
				b.pass(time.Duration(random.IntN(300)) * ms)
				check()
			}
			b.pass(time.Second)
			check()
			if final != last {
				t.Errorf("seed %d: the last set has %q, want %q", seed, final, last)
			}
			if handed < 10 {
				t.Errorf("seed %d: only %d of 60 saves were handed over", seed, handed)
			}
		})
	}
}
