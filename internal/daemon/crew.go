package daemon

import "sync"

// crew does things on goroutines that stay for the next one: deciding an event takes a deep stack, which
// a new one has to grow first. The zero value is ready.
type crew struct {
	all sync.WaitGroup

	mu    sync.Mutex
	idle  []chan func()
	ended bool
}

// idlers is how many stay.
const idlers = 16

// Go has f done at once, on a goroutine of its own.
func (c *crew) Go(f func()) {
	c.mu.Lock()
	if n := len(c.idle); n > 0 {
		next := c.idle[n-1] // the last one to work is the warmest
		c.idle = c.idle[:n-1]
		c.mu.Unlock()
		next <- f
		return
	}
	c.mu.Unlock()
	c.all.Go(func() {
		next := make(chan func(), 1)
		for f != nil {
			f()
			if !c.rest(next) {
				return
			}
			f = <-next
		}
	})
}

// rest reports whether one that is done is to wait for what comes next.
func (c *crew) rest(next chan func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || len(c.idle) >= idlers {
		return false
	}
	c.idle = append(c.idle, next)
	return true
}

// Wait returns when all is done. What comes later is done too, and nobody stays for more.
func (c *crew) Wait() {
	c.mu.Lock()
	c.ended = true
	for _, next := range c.idle {
		close(next)
	}
	c.idle = nil
	c.mu.Unlock()
	c.all.Wait()
}
