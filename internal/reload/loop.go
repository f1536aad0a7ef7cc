package reload

import (
	"context"
	"errors"
	"time"
)

// loop is the life of a running watcher. It owns all that happens in it; a hint is the only thing
// that comes from elsewhere.
type loop struct {
	w      *Watcher
	read   func() (reading, error)
	follow func(folders []string) (more bool) // watches these and no others; more: some weren't before
	hints  <-chan struct{}
	settle settler

	timer  *time.Timer
	first  time.Time // hint of those that are waited out; zero: nothing is waited for
	glance bool      // the timer is for the glance after the first hint
}

func (l *loop) run(ctx context.Context) {
	l.timer = time.NewTimer(time.Hour)
	l.timer.Stop()
	defer l.timer.Stop()
	var poll <-chan time.Time
	if l.w.opts.Poll > 0 {
		ticker := time.NewTicker(l.w.opts.Poll)
		defer ticker.Stop()
		poll = ticker.C
	}
	l.step(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.hints:
			l.hint()
		case <-l.timer.C:
			if l.glance {
				l.takeGlance()
				continue
			}
			l.first = time.Time{}
			l.step(ctx)
		case <-poll:
			if l.first.IsZero() {
				l.step(ctx)
			}
		}
	}
}

// hint begins or prolongs the wait for quiet. Shortly after the first hint comes a glance: for a file
// that was saved in one go that is the first of the two equal looks, and the second comes a quiet
// time later, nearly when it would have come anyway.
func (l *loop) hint() {
	switch {
	case l.first.IsZero():
		l.first, l.glance = time.Now(), true
		l.timer.Reset(l.w.opts.Quiet / 10)
	case !l.glance:
		l.wait(l.w.opts.Quiet)
	}
}

func (l *loop) takeGlance() {
	l.glance = false
	if r, err := l.look(); err == nil {
		l.settle.note(r)
	}
	l.wait(l.w.opts.Quiet)
}

// wait sets the timer, but never beyond the longest wait for quiet.
func (l *loop) wait(d time.Duration) {
	now := time.Now()
	if l.first.IsZero() {
		l.first = now
	}
	l.timer.Reset(max(min(d, l.first.Add(l.w.opts.MaxWait).Sub(now)), 0))
}

// step reads everything and hands it over if it is new and settled.
func (l *loop) step(ctx context.Context) {
	f := *l.w.faults.Load()
	r, err := l.look()
	if err != nil {
		f.scan = err
		l.w.report(f)
		if errors.Is(err, ErrChanging) {
			l.wait(l.w.opts.Quiet)
		}
		return
	}
	hand, wait, err := l.settle.decide(r)
	if wait > 0 {
		l.wait(wait)
		return
	}
	if f.scan = err; hand {
		f.target = l.w.target(ctx, r.Snapshot)
	}
	l.w.report(f)
}

// look reads, and watches what it has seen. Between the two a folder can have got files that nobody
// told about, so a new watch is a reason to look again.
func (l *loop) look() (reading, error) {
	r, err := l.read()
	if l.follow(r.folders) {
		l.wait(l.w.opts.Quiet)
	}
	if l.w.opts.OnScan != nil {
		l.w.opts.OnScan(r.Snapshot, err)
	}
	return r, err
}
