// Package reload follows folders and hands whole, settled sets of files to whoever builds something
// of them.
//
// It trusts no event. Whatever the system reports about a watched folder is only a hint that makes
// it wait for quiet, read everything again and compare hashes; a slow poll stands behind that for
// what no event tells. A set is handed over only when it was read twice without a difference, so a
// file that is just being written is never part of one.
package reload

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"
)

// Root is a folder to follow. It needn't exist yet.
type Root struct {
	Dir     string
	Match   func(rel string) bool // files that count, by path below Dir with forward slashes; nil: all
	Descend func(rel string) bool // folders that are looked into, likewise; nil: all
}

// Target builds something of a set and puts it to use. After an error it goes on with what it has;
// the same set isn't handed over again.
type Target func(ctx context.Context, s Snapshot) error

// Options may be left zero.
type Options struct {
	Quiet   time.Duration // without a hint before everything is read; default 50 ms
	MaxWait time.Duration // after which hints that don't end are no excuse; default 500 ms
	Poll    time.Duration // between reads without a hint; default 2 s, negative: never
	Log     *slog.Logger  // default: nothing
	OnScan  func(s Snapshot, err error)
}

// Errors of a scan. They name the file.
var (
	ErrTooMany  = errors.New("too many files")
	ErrTooLarge = errors.New("too large")
	ErrEmptied  = errors.New("the file is empty and wasn't before")
	ErrChanging = errors.New("files change while they are read")
)

// Watcher follows the roots while it runs.
type Watcher struct {
	roots   []Root
	target  Target
	opts    Options
	running atomic.Bool
	faults  atomic.Pointer[faults]
}

// faults are why what is active isn't what lies in the folders.
type faults struct{ scan, target error }

// New makes a watcher that does nothing yet. A target is needed to run it, not to scan.
func New(roots []Root, target Target, opts Options) *Watcher {
	if opts.Quiet <= 0 {
		opts.Quiet = 50 * time.Millisecond
	}
	if opts.MaxWait <= 0 {
		opts.MaxWait = 500 * time.Millisecond
	}
	opts.MaxWait = max(opts.MaxWait, opts.Quiet)
	if opts.Poll == 0 {
		opts.Poll = 2 * time.Second
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	w := &Watcher{target: target, opts: opts}
	for _, r := range roots {
		r.Dir = filepath.Clean(r.Dir)
		w.roots = append(w.roots, r)
	}
	w.faults.Store(&faults{})
	return w
}

// Scan reads the files of all roots now, whether the watcher runs or not. It returns [ErrChanging] if
// they don't hold still; what it can't know is whether somebody is about to write the second half.
func (w *Watcher) Scan() (Snapshot, error) {
	r, err := read(w.roots)
	return r.Snapshot, err
}

// Err says why the last good set is still the active one: a fault of the last scan, or what the
// target said. It is nil when what was handed over is what lies in the folders.
func (w *Watcher) Err() error {
	f := w.faults.Load()
	if f.scan != nil {
		return f.scan
	}
	return f.target
}

// Run hands the first set over as soon as it has settled, and then each that differs from the one
// before. It returns nil when ctx ends, after all that it started has ended too. Without a way to
// watch folders (the system's watches can run out) it goes on with polling, and says so in the log.
func (w *Watcher) Run(ctx context.Context) error {
	if w.target == nil {
		return errors.New("reload: a watcher without a target can only scan")
	}
	if !w.running.CompareAndSwap(false, true) {
		return errors.New("reload: the watcher is already running")
	}
	defer w.running.Store(false)
	n, err := newNotifier(w.opts.Log)
	if err != nil {
		w.opts.Log.Warn("folders can't be watched, only polled", "every", w.opts.Poll, "err", err)
		n = &notifier{}
	}
	defer n.close()
	l := loop{
		w:      w,
		read:   func() (reading, error) { return read(w.roots) },
		follow: n.follow,
		hints:  n.hints,
		settle: settler{quiet: w.opts.Quiet},
	}
	l.run(ctx)
	return nil
}

// report keeps the faults for [Watcher.Err] and logs each once.
func (w *Watcher) report(f faults) {
	before := w.faults.Swap(&f)
	switch {
	case f.scan != nil && (before.scan == nil || before.scan.Error() != f.scan.Error()):
		w.opts.Log.Warn("the files can't be taken over; the last good ones stay active", "err", f.scan)
	case f.scan == nil && before.scan != nil:
		w.opts.Log.Info("the files can be taken over again")
	}
}

func fault(cause error, root Root, rel, what string) error {
	return fmt.Errorf("%s: %w%s", filepath.Join(root.Dir, filepath.FromSlash(rel)), cause, what)
}
