package daemon

import (
	"context"
	"sync"
)

// keyed are locks by name. One that nobody holds or waits for takes no memory.
type keyed struct {
	mu    sync.Mutex
	locks map[string]*counted
}

type counted struct {
	held  chan struct{} // full while somebody holds it
	users int           // who hold it or wait for it
}

// lock takes the lock of a name.
func (k *keyed) lock(name string) (unlock func()) {
	unlock, _ = k.lockUntil(context.Background(), name)
	return unlock
}

// lockUntil takes the lock of a name if it comes free before the context ends.
func (k *keyed) lockUntil(ctx context.Context, name string) (unlock func(), err error) {
	k.mu.Lock()
	l := k.locks[name]
	if l == nil {
		l = &counted{held: make(chan struct{}, 1)}
		if k.locks == nil {
			k.locks = map[string]*counted{}
		}
		k.locks[name] = l
	}
	l.users++
	k.mu.Unlock()
	leave := func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(k.locks, name)
		}
	}
	select {
	case l.held <- struct{}{}:
		return func() { <-l.held; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
