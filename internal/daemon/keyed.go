package daemon

import "sync"

// keyed are locks by name. One that nobody holds or waits for takes no memory.
type keyed struct {
	mu    sync.Mutex
	locks map[string]*counted
}

type counted struct {
	sync.Mutex
	users int // who hold it or wait for it
}

// lock takes the lock of a name.
func (k *keyed) lock(name string) (unlock func()) {
	k.mu.Lock()
	l := k.locks[name]
	if l == nil {
		l = &counted{}
		if k.locks == nil {
			k.locks = map[string]*counted{}
		}
		k.locks[name] = l
	}
	l.users++
	k.mu.Unlock()
	l.Lock()
	return func() {
		l.Unlock()
		k.mu.Lock()
		defer k.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(k.locks, name)
		}
	}
}
