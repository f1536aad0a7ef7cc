package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// trials does everything with a scenario, in a few lanes.
func (s *scenario) trials(ctx context.Context, dir string, p programs, o options, into *table) error {
	w, err := s.newWorld(filepath.Join(dir, s.name))
	if err != nil {
		return err
	}
	defer w.server.Close()
	calm := &trial{world: w, program: p.points}
	peace, err := calm.do(ctx)
	if err != nil {
		return fmt.Errorf("without a kill: %w", err)
	}
	if len(calm.verdict.details) > 0 {
		return fmt.Errorf("without a kill: %v", calm.verdict.details)
	}
	if got := slices.Sorted(maps.Keys(peace.lines)); !slices.Equal(got, s.want) {
		return fmt.Errorf("without a kill: %q was done, want %q; the runs are %+v", got, s.want, peace.runs)
	}
	took := time.Since(calm.began)
	work := make(chan job)
	errs := make(chan error, o.lanes)
	var lanes sync.WaitGroup
	for lane := range o.lanes {
		lanes.Go(func() {
			w, err := s.newWorld(filepath.Join(dir, fmt.Sprintf("%s-%d", s.name, lane)))
			if err != nil {
				errs <- err
				return
			}
			defer w.server.Close()
			want, err := (&trial{world: w, program: p.points}).do(ctx) // its server has an address of its own
			if err != nil {
				errs <- err
				return
			}
			for j := range work {
				t := &trial{world: w, program: j.program, plan: j.plan}
				got, err := t.do(ctx)
				if err != nil {
					t.verdict.add(&t.verdict.wrong, "%v", err)
				} else {
					t.check(want, got)
				}
				into.add(s.name, t)
			}
		})
	}
	for _, j := range s.jobs(calm.passed, took, p, o) {
		work <- j
	}
	close(work)
	lanes.Wait()
	close(errs)
	return <-errs
}

type job struct {
	program string
	plan    plan
}

// jobs are each place that was passed, and random moments. From the second time on the process that takes
// up what the first one left is killed too, at a place of its own.
func (s *scenario) jobs(places []passed, took time.Duration, p programs, o options) []job {
	var out []job
	step := 1
	if o.places > 0 {
		step = max(1, (len(places)+o.places-1)/o.places)
	}
	for again := range o.again {
		for i := (again % step); i < len(places); i += step {
			j := job{p.points, plan{life: places[i].life, place: places[i].place, n: places[i].n}}
			if again > 0 {
				second := places[rand.IntN(len(places))]
				j.plan.again = fmt.Sprintf("%s:%d", second.place, 1+rand.IntN(second.n))
			}
			out = append(out, j)
		}
	}
	if s.steady {
		return out
	}
	for range o.random {
		out = append(out, job{p.release, plan{after: 1 + time.Duration(rand.Int64N(int64(took)))}})
	}
	return out
}
