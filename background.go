package agentd

import (
	"context"
	"sync"

	"agentd/hookpoints"
	"agentd/operation"
)

// The bounds of what waits for its turn in the background: calls, and bytes of what they were handed.
const (
	maxBackground      = 1024
	maxBackgroundBytes = 64 << 20
)

// dropped is why a call of a background hook wasn't made.
const dropped = "dropped: too much waits in the background"

// Background counts the calls of background hooks since the runtime was opened.
type Background struct {
	Waiting int   `json:"waiting"`
	Ran     int64 `json:"ran"` // with those that failed
	Failed  int64 `json:"failed"`
	Dropped int64 `json:"dropped"`
}

// background makes the calls of background hooks one by one, in the order in which their chains became
// durable. Its goroutine is there only while something waits.
type background struct {
	ctx  context.Context
	end  context.CancelFunc
	told func(operation.Head, hookpoints.Record) // may be nil

	mu      sync.Mutex
	count   Background
	queue   []queued
	bytes   int  // of the queue
	full    bool // the last call was dropped
	closed  bool
	working bool
	worker  sync.WaitGroup
}

type queued struct {
	head operation.Head
	call hookpoints.Deferred
	size int
}

func newBackground(told func(operation.Head, hookpoints.Record)) *background {
	b := &background{told: told}
	b.ctx, b.end = context.WithCancel(context.Background())
	return b
}

// take queues a call, or drops it; it never blocks. Of calls that are dropped one after the other only
// the first is told.
func (b *background) take(h operation.Head, d hookpoints.Deferred) {
	size := d.Size()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || len(b.queue) >= maxBackground || len(b.queue) > 0 && b.bytes+size > maxBackgroundBytes {
		b.count.Dropped++
		if first := !b.full; first && b.told != nil {
			b.told(h, d.Skipped(dropped))
		}
		b.full = true
		return
	}
	b.full = false
	b.queue = append(b.queue, queued{h, d, size})
	b.bytes += size
	if !b.working {
		b.working = true
		b.worker.Go(b.work)
	}
}

func (b *background) work() {
	for {
		b.mu.Lock()
		if len(b.queue) == 0 {
			b.queue, b.working = nil, false
			b.mu.Unlock()
			return
		}
		next := b.queue[0]
		b.queue[0] = queued{} // the array behind the slice must not hold it
		b.queue = b.queue[1:]
		b.bytes -= next.size
		if b.ctx.Err() != nil {
			b.count.Dropped++
			b.mu.Unlock()
			continue
		}
		b.mu.Unlock()
		rec := next.call.Run(b.ctx)
		b.mu.Lock()
		switch {
		case !rec.Ran:
			b.count.Dropped++
		case rec.Error != "":
			b.count.Failed++
			fallthrough
		default:
			b.count.Ran++
		}
		b.mu.Unlock()
		if b.told != nil {
			b.told(next.head, rec)
		}
	}
}

// close takes nothing more, lets what waits run until ctx ends, and waits for the last call.
func (b *background) close(ctx context.Context) {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	stop := context.AfterFunc(ctx, b.end)
	b.worker.Wait()
	stop()
	b.end()
}

func (b *background) counts() Background {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.count
	c.Waiting = len(b.queue)
	return c
}

// Background counts the calls of background hooks.
func (r *Runtime) Background() Background { return r.background.counts() }

// Close lets the calls of background hooks that wait run until ctx ends; what is left then is dropped.
// It waits for the last one. Operations must have ended; those that don't lose their background hooks.
func (r *Runtime) Close(ctx context.Context) { r.background.close(ctx) }
