package builtins

import "sync"

// maxCached bounds a cache by the instructions of its programs, some megabytes.
const maxCached = 32 << 10

// patterns remembers compiled patterns. Whether one was remembered changes the time of a call, never
// its charge or its result. It keeps two generations: a pattern that is used moves to the young one,
// and when that is full the old one is dropped.
type patterns struct {
	compile func(text string) (*pattern, error)

	mu         sync.Mutex
	young, old map[string]*pattern
	size       int64 // of young
}

func newPatterns(compile func(string) (*pattern, error)) *patterns {
	return &patterns{compile: compile, young: map[string]*pattern{}}
}

// get compiles text or finds it. Two callers may compile the same text at once.
func (c *patterns) get(text string) (*pattern, error) {
	if p := c.find(text); p != nil {
		return p, nil
	}
	p, err := c.compile(text)
	if err != nil {
		return nil, err
	}
	c.keep(text, p)
	return p, nil
}

func (c *patterns) find(text string) *pattern {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.young[text]
	if p == nil {
		if p = c.old[text]; p != nil {
			c.add(text, p)
		}
	}
	return p
}

func (c *patterns) keep(text string, p *pattern) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.young[text] == nil {
		c.add(text, p)
	}
}

func (c *patterns) add(text string, p *pattern) {
	size := p.insts + 64 // what an entry costs beside its program
	if c.size+size > maxCached/2 {
		c.old, c.young, c.size = c.young, map[string]*pattern{}, 0
	}
	c.young[text] = p
	c.size += size
}
