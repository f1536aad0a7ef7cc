package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"agentd/hookpoints"
	"agentd/interp"
)

// Options are those of a pool.
type Options struct {
	// Program is this program, absolute: it is run again as a worker.
	Program string
	// Open leaves out the walls. Without it a machine that can't build them all runs no worker.
	Open bool
	// Most is how many workers there are at once; 0 means 4.
	Most int
}

// Pool keeps workers: those that work, and one that is warm.
type Pool struct {
	o     Options
	next  atomic.Int64  // numbers scripts
	trips atomic.Int64  // for tests, which count them
	slot  chan struct{} // one for each that may exist
	idle  chan *process
	wg    sync.WaitGroup // who starts a spare
	ctx   context.Context
	end   context.CancelFunc
}

// ErrClosed: the pool was closed.
var ErrClosed = errors.New("the workers have been stopped")

// New makes a pool that starts nothing yet.
func New(o Options) *Pool {
	if o.Most == 0 {
		o.Most = 4
	}
	p := &Pool{o: o, slot: make(chan struct{}, o.Most), idle: make(chan *process, o.Most)}
	p.ctx, p.end = context.WithCancel(context.Background())
	return p
}

// Close kills all workers that nobody works with, and those of others once they are given back.
func (p *Pool) Close() {
	p.end()
	p.wg.Wait()
	for {
		select {
		case w := <-p.idle:
			p.drop(w)
		default:
			return
		}
	}
}

// take gets a worker, which is the caller's until give or drop.
func (p *Pool) take(ctx context.Context) (*process, error) {
	if p.ctx.Err() != nil {
		return nil, ErrClosed
	}
	select {
	case w := <-p.idle:
		p.spare()
		return w, nil
	default:
	}
	select {
	case w := <-p.idle:
		return w, nil
	case p.slot <- struct{}{}:
		w, err := p.start(ctx)
		if err == nil {
			p.spare()
		}
		return w, err
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: no worker is free", hookpoints.ErrHostTimeout)
	case <-p.ctx.Done():
		return nil, ErrClosed
	}
}

// start needs a slot, which goes with the process.
func (p *Pool) start(ctx context.Context) (*process, error) {
	if missing := Missing(); len(missing) > 0 && !p.o.Open {
		<-p.slot
		return nil, fmt.Errorf("%w: %v; allow_unconfined in your own configuration runs scripts without them", ErrNoWalls, missing)
	}
	w, err := start(context.WithoutCancel(ctx), p.o.Program, p.o.Open)
	if err != nil {
		<-p.slot
		return nil, err
	}
	return w, nil
}

// spare sees to it that one is warm when the next is needed.
func (p *Pool) spare() {
	if len(p.idle) > 0 {
		return
	}
	select {
	case p.slot <- struct{}{}:
	default:
		return // all that may be are at work
	}
	p.wg.Go(func() {
		w, err := p.start(p.ctx)
		if err != nil {
			return // whoever needs one is told
		}
		p.give(w)
	})
}

func (p *Pool) give(w *process) {
	if p.ctx.Err() != nil {
		p.drop(w)
		return
	}
	p.idle <- w // there is room for all
}

func (p *Pool) drop(w *process) {
	w.kill()
	<-p.slot
}

// Engine makes an engine whose scripts run in workers. Suffix is that of its files, as Main's engines are
// named; inner only says who it is.
func (p *Pool) Engine(suffix string, inner interp.Engine) interp.Engine {
	return &engine{p, suffix, inner.Identity()}
}
