package store

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
)

// waiting waits until n requests are in the queue.
func (t *turns) waiting(n int) {
	for {
		t.mu.Lock()
		now := len(t.queue)
		t.mu.Unlock()
		if now == n {
			return
		}
		runtime.Gosched()
	}
}

func TestWhatQueuesUpIsDoneTogether(t *testing.T) {
	var sizes []int
	var mu sync.Mutex
	begun, goOn := make(chan int), make(chan struct{})
	q := newTurns(func(group []*request) {
		mu.Lock()
		sizes = append(sizes, len(group))
		mu.Unlock()
		for _, r := range group {
			r.err = r.ctx.Err()
		}
		begun <- len(group)
		<-goOn
	})
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	var wg sync.WaitGroup
	ask := func(n int) {
		for range n {
			wg.Go(func() {
				if err := q.take(&request{ctx: t.Context()}); err != nil {
					t.Error(err)
				}
			})
		}
	}
	ask(1) // nothing goes on: it is done alone, by who asks
	<-begun
	ask(5)
	q.waiting(5)
	wg.Go(func() {
		if err := q.take(&request{ctx: cancelled}); !errors.Is(err, context.Canceled) {
			t.Errorf("one got the answer of another: %v", err)
		}
	})
	q.waiting(6)
	goOn <- struct{}{}
	<-begun
	ask(groupLimit + 1)
	q.waiting(groupLimit + 1)
	closed := make(chan bool)
	go func() { closed <- q.close() }()
	for {
		q.mu.Lock()
		now := q.closed
		q.mu.Unlock()
		if now {
			break
		}
		runtime.Gosched()
	}
	if err := q.take(&request{ctx: t.Context()}); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
	for range 2 {
		goOn <- struct{}{}
		<-begun
	}
	goOn <- struct{}{}
	wg.Wait()
	if !<-closed || q.close() {
		t.Error("close is the first or not")
	}
	for i, want := range []int{1, 6, groupLimit, 1} {
		if i >= len(sizes) || sizes[i] != want {
			t.Fatalf("the groups were of %v", sizes)
		}
	}
}
