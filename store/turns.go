package store

import (
	"context"
	"runtime"
	"sync"
)

// groupLimit bounds what shares a transaction, so that none waits for a long one.
const groupLimit = 256

// request is one thing to do in a transaction, alone or with others.
type request struct {
	ctx  context.Context
	do   func(*writer) error
	err  error         // how it went
	done chan struct{} // closed then, if somebody else does it
}

// turns gives requests their turn. One that comes when nothing goes on is done at once by who asks:
// to hand it to another goroutine and back costs a fifth of a commit. What comes meanwhile queues
// up, and the goroutine of turns does the queue, all that waits in one group.
type turns struct {
	do func([]*request)

	mu      sync.Mutex
	changed sync.Cond // the goroutine has the turn, or t is closed and nobody has it
	queue   []*request
	busy    bool // somebody has the turn
	handed  bool // it is the goroutine that has it
	closed  bool
	ended   chan struct{}
}

func newTurns(do func([]*request)) *turns {
	t := &turns{do: do, ended: make(chan struct{})}
	t.changed.L = &t.mu
	go t.work()
	return t
}

// take has a request done and returns how it went, or ErrClosed.
func (t *turns) take(r *request) error {
	t.mu.Lock()
	switch {
	case t.closed:
		t.mu.Unlock()
		return ErrClosed
	case t.busy:
		r.done = make(chan struct{})
		t.queue = append(t.queue, r)
		t.mu.Unlock()
		<-r.done
		return r.err
	}
	t.busy = true
	t.mu.Unlock()
	defer t.pass() // however it ends: who comes next must not wait for ever
	t.do([]*request{r})
	return r.err
}

// pass gives up the turn of one who asked, to the goroutine of turns if something waits.
func (t *turns) pass() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.handed = len(t.queue) > 0; !t.handed {
		t.busy = false
	}
	if t.handed || t.closed {
		t.changed.Signal()
	}
}

// work does what queues up until t is closed and nothing is left.
func (t *turns) work() {
	defer close(t.ended)
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		for !t.handed && (!t.closed || t.busy) {
			t.changed.Wait()
		}
		if !t.handed {
			return
		}
		t.drain()
		t.busy, t.handed = false, false
	}
}

// drain does the queue, group by group. It is called and returns with mu held.
func (t *turns) drain() {
	for len(t.queue) > 0 {
		group := t.queue[:min(len(t.queue), groupLimit)]
		if t.queue = t.queue[len(group):]; len(t.queue) == 0 {
			t.queue = nil
		}
		t.mu.Unlock()
		t.do(group)
		for _, r := range group {
			close(r.done)
		}
		// Those who have just been answered often ask for more at once: with them the group is twice
		// as large, and half the syncs do.
		runtime.Gosched()
		t.mu.Lock()
	}
}

// close waits until everything that was asked for is done, and reports whether it is the first.
func (t *turns) close() bool {
	t.mu.Lock()
	first := !t.closed
	t.closed = true
	t.changed.Signal()
	t.mu.Unlock()
	<-t.ended
	return first
}
