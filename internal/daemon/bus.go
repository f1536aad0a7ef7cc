package daemon

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"agentd/internal/api"
)

// bus hands events to whoever listens. It keeps the last ones, bounded by number and size; every
// listener reads them there at its own pace. One that falls behind what is kept is cut off instead of
// slowing anybody down, and can come back with the id of the last event that it had.
type bus struct {
	epoch string // of this process, so that ids of an earlier one aren't taken for ours
	limit keep

	mu     sync.Mutex
	first  int64 // the number of kept[0]; events count from 1
	kept   []api.Event
	size   int           // of their data
	more   chan struct{} // closed with the next event; nil while nobody waits
	closed bool
}

// keep bounds what a bus keeps. The last event is always kept.
type keep struct{ events, bytes int }

var keepDefault = keep{events: 8192, bytes: 16 << 20}

// missedEvents is what a listener is told first if events got lost between its last one and now.
const missedEvents = "events.missed"

func newBus(epoch string, limit keep) *bus { return &bus{epoch: epoch, limit: limit, first: 1} }

// publish never blocks.
func (b *bus) publish(kind, run string, data []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.kept = append(b.kept, api.Event{ID: b.id(b.next()), Type: kind, Run: run, Data: data})
	b.size += len(data)
	for len(b.kept) > 1 && (len(b.kept) > b.limit.events || b.size > b.limit.bytes) {
		b.size -= len(b.kept[0].Data)
		b.kept[0] = api.Event{} // the array behind the slice must not hold it
		b.kept, b.first = b.kept[1:], b.first+1
	}
	b.wake()
}

// next is the number of the event that comes next.
func (b *bus) next() int64 { return b.first + int64(len(b.kept)) }

func (b *bus) id(n int64) string { return b.epoch + "-" + strconv.FormatInt(n, 10) }

// number is what an id says; ok is false for those of another process and for what is no id.
func (b *bus) number(id string) (n int64, ok bool) {
	text, ours := strings.CutPrefix(id, b.epoch+"-")
	n, err := strconv.ParseInt(text, 10, 64)
	return n, ours && err == nil
}

func (b *bus) wake() {
	if b.more != nil {
		close(b.more)
		b.more = nil
	}
}

// subscribe begins after the event of that id, or with the next one if it is "". Where events after
// it aren't known any more, the first that comes says so.
func (b *bus) subscribe(after string) *subscription {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &subscription{bus: b, at: b.next()}
	if after == "" {
		return s
	}
	if n, ok := b.number(after); ok && n+1 >= b.first && n < b.next() {
		s.at = n + 1
		return s
	}
	s.at, s.missed = b.first, true
	return s
}

// close lets listeners have what is kept, and nothing after it.
func (b *bus) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.wake()
}

// subscription is a place in the flow. It belongs to one goroutine.
type subscription struct {
	bus    *bus
	at     int64 // the number of the event that comes next
	missed bool
}

// Next implements api.Subscription.
func (s *subscription) Next(ctx context.Context) (api.Event, bool) {
	for ctx.Err() == nil {
		e, more, ok := s.take()
		if more == nil {
			return e, ok
		}
		select {
		case <-more:
		case <-ctx.Done():
		}
	}
	return api.Event{}, false
}

// take returns the next event, or what to wait for.
func (s *subscription) take() (e api.Event, more <-chan struct{}, ok bool) {
	b := s.bus
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case s.missed:
		s.missed, s.at = false, b.first
		return api.Event{ID: b.id(b.first - 1), Type: missedEvents, Data: []byte(`{"type":"` + missedEvents + `"}`)}, nil, true
	case s.at < b.first: // too slow
		return api.Event{}, nil, false
	case s.at < b.next():
		s.at++
		return b.kept[s.at-1-b.first], nil, true
	case b.closed:
		return api.Event{}, nil, false
	}
	if b.more == nil {
		b.more = make(chan struct{})
	}
	return api.Event{}, b.more, false
}

// Close implements api.Subscription.
func (s *subscription) Close() {}
