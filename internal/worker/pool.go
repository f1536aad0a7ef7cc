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
	// Open runs workers also where this machine can't build all walls: with those that it can. Without it
	// there is no worker then.
	Open bool
	// Most is how many workers a side has at once; 0 means 4.
	Most int
	// Env is what a worker's environment has beside the little that it needs.
	Env []string

	missing func() []Wall // for tests; nil: Missing
}

// Pool keeps workers on two sides that share none: whoever got out of the interpreter in a script that
// nobody trusts could answer for every script that is loaded beside it.
type Pool struct {
	o       Options
	next    atomic.Int64 // numbers scripts
	trusted *side
	strange *side
	mu      sync.Mutex     // between the end and who starts a spare
	wg      sync.WaitGroup // for those
	ctx     context.Context
	end     context.CancelFunc
}

// side keeps workers: those that work, and one that is warm.
type side struct {
	*Pool
	slot chan struct{} // one for each that may exist
	idle chan *process
}

// ErrClosed: the pool was closed.
var ErrClosed = errors.New("the workers have been stopped")

// New makes a pool that starts nothing yet.
func New(o Options) *Pool {
	if o.Most == 0 {
		o.Most = 4
	}
	if o.missing == nil {
		o.missing = Missing
	}
	p := &Pool{o: o}
	for _, s := range []**side{&p.trusted, &p.strange} {
		*s = &side{p, make(chan struct{}, o.Most), make(chan *process, o.Most)}
	}
	p.ctx, p.end = context.WithCancel(context.Background())
	return p
}

// Close kills all workers that nobody works with, and those of others once they are given back.
func (p *Pool) Close() {
	p.mu.Lock()
	p.end()
	p.mu.Unlock()
	p.wg.Wait()
	p.trusted.empty()
	p.strange.empty()
}

func (s *side) empty() {
	for {
		select {
		case w := <-s.idle:
			s.drop(w)
		default:
			return
		}
	}
}

// use does something with a worker. One that failed is never used again; one that was dead before it was
// asked anything has failed nobody, and the next is taken.
func (s *side) use(ctx context.Context, do func(*process) error) error {
	for left := cap(s.idle); ; left-- {
		w, err := s.take(ctx)
		if err != nil {
			return fmt.Errorf("%w: %w", hookpoints.ErrHookFailed, err)
		}
		err = do(w)
		var script *interp.Error
		if err == nil || errors.As(err, &script) { // the script's own fault, which it told
			s.give(w)
			return err
		}
		s.drop(w)
		if !errors.Is(err, errGone) {
			return err
		}
		if left == 0 {
			return fmt.Errorf("%w: %w", hookpoints.ErrHookFailed, err)
		}
	}
}

// take gets a worker, which is the caller's until give or drop.
func (s *side) take(ctx context.Context) (*process, error) {
	if s.ctx.Err() != nil {
		return nil, ErrClosed
	}
	select {
	case w := <-s.idle:
		s.spare()
		w.heard = false
		return w, nil
	default:
	}
	select {
	case w := <-s.idle:
		w.heard = false
		return w, nil
	case s.slot <- struct{}{}:
		w, err := s.start(ctx)
		if err == nil {
			s.spare()
		}
		return w, err
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: no worker is free", hookpoints.ErrHostTimeout)
	case <-s.ctx.Done():
		return nil, ErrClosed
	}
}

// start needs a slot, which goes with the process.
func (s *side) start(ctx context.Context) (*process, error) {
	missing := s.o.missing()
	if len(missing) > 0 && !s.o.Open {
		<-s.slot
		return nil, fmt.Errorf("%w: %v; allow_unconfined in your own configuration runs scripts without them", ErrNoWalls, missing)
	}
	w, err := start(context.WithoutCancel(ctx), s.o.Program, missing, s.o.Env)
	if err != nil {
		<-s.slot
		return nil, err
	}
	return w, nil
}

// spare sees to it that one is warm when the next is needed.
func (s *side) spare() {
	if len(s.idle) > 0 {
		return
	}
	select {
	case s.slot <- struct{}{}:
	default:
		return // all that may be are at work
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		<-s.slot
		return
	}
	s.wg.Go(func() {
		w, err := s.start(s.ctx)
		if err != nil {
			return // whoever needs one is told
		}
		s.give(w)
	})
}

func (s *side) give(w *process) {
	if s.ctx.Err() != nil || w.worn() {
		s.drop(w)
		return
	}
	s.idle <- w // there is room for all
}

func (s *side) drop(w *process) {
	w.kill()
	<-s.slot
}

// Engine makes an engine whose scripts run in workers: those that say isolate, or, strange, those that
// nobody trusts. Suffix is that of its files, as Main's engines are named; inner only says who it is.
func (p *Pool) Engine(suffix string, inner interp.Engine, strange bool) interp.Engine {
	s := p.trusted
	if strange {
		s = p.strange
	}
	return &engine{s, suffix, inner.Identity()}
}
