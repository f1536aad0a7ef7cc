package daemon

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"agentd/internal/api"
)

// bus hands events to whoever listens. It keeps the last ones for those who come back; a listener
// that falls too far behind is cut off instead of slowing anybody down.
type bus struct {
	epoch string // of this process, so that ids of an earlier one aren't taken for ours

	mu     sync.Mutex
	next   int64
	kept   []api.Event
	subs   map[*subscription]bool
	closed bool
}

const (
	keptEvents   = 4096
	queuedEvents = 4096
)

func newBus(epoch string) *bus { return &bus{epoch: epoch, subs: map[*subscription]bool{}} }

// publish never blocks.
func (b *bus) publish(kind, run string, data []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.next++
	e := api.Event{ID: fmt.Sprintf("%s-%d", b.epoch, b.next), Type: kind, Run: run, Data: data}
	if len(b.kept) == 2*keptEvents {
		b.kept = append([]api.Event(nil), b.kept[keptEvents:]...)
	}
	b.kept = append(b.kept, e)
	for s := range b.subs {
		select {
		case s.queue <- e:
		default:
			b.drop(s)
		}
	}
}

func (b *bus) drop(s *subscription) {
	if b.subs[s] {
		delete(b.subs, s)
		close(s.queue)
	}
}

// subscribe begins after the event of that id, if it is still known; else with the next one.
func (b *bus) subscribe(after string) *subscription {
	b.mu.Lock()
	defer b.mu.Unlock()
	var missed []api.Event
	if epoch, n, ok := strings.Cut(after, "-"); ok && epoch == b.epoch {
		if seq, err := strconv.ParseInt(n, 10, 64); err == nil {
			first := b.next - int64(len(b.kept)) + 1
			if at := seq + 1 - first; at >= 0 && at <= int64(len(b.kept)) {
				missed = append(missed, b.kept[at:]...)
			}
		}
	}
	s := &subscription{bus: b, queue: make(chan api.Event, queuedEvents+len(missed))}
	for _, e := range missed {
		s.queue <- e
	}
	if b.closed {
		close(s.queue)
	} else {
		b.subs[s] = true
	}
	return s
}

func (b *bus) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for s := range b.subs {
		b.drop(s)
	}
}

type subscription struct {
	bus   *bus
	queue chan api.Event
}

// Next implements api.Subscription.
func (s *subscription) Next(ctx context.Context) (api.Event, bool) {
	select {
	case e, ok := <-s.queue:
		return e, ok
	case <-ctx.Done():
		return api.Event{}, false
	}
}

// Close implements api.Subscription.
func (s *subscription) Close() {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	s.bus.drop(s)
}
