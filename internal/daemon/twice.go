package daemon

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"agentd"
	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/internal/worker"
	"agentd/interp/scripttest"
	"agentd/revision"
)

// elsewhere is the environment of the process in which hooks decide the second time.
var elsewhere = []string{"TZ=Asia/Tokyo", "LC_ALL=tr_TR.UTF-8", "LANG=tr_TR.UTF-8"}

// second is a layer once more, as it might be on another machine: loaded anew, its files in the other order,
// and its hooks in a process with another time zone and language, where there is a program to be one.
type second struct {
	layer *revision.Layer
	hooks *revision.Generation
	pool  *worker.Pool
}

func again(ctx context.Context, rt *agentd.Runtime, layer *revision.Layer, files []revision.File, program string) (*second, error) {
	b := *rt.Builder()
	b.Backwards = true
	s := &second{}
	if program != "" {
		s.pool = worker.New(worker.Options{Program: program, Open: true, Env: elsewhere})
		b.Engines = revision.Engines{}
		for suffix, engine := range rt.Builder().Engines {
			b.Engines[suffix] = s.pool.Engine(suffix, engine, false)
		}
		b.Isolated = b.Engines
	}
	var below []*revision.Layer
	if layer.Layer != hookpoints.Shipped {
		base, err := shipped(ctx, rt)
		if err != nil {
			return s, err
		}
		below = []*revision.Layer{base}
	}
	var err error
	if s.layer, err = b.BuildUnder(ctx, layer.Layer, files, below, layer.Terms); err != nil {
		return s, err
	}
	if err := s.layer.Err(); err != nil {
		return s, fmt.Errorf("the files can't be loaded again: %w", err)
	}
	s.hooks = rt.Compose([]*revision.Layer{s.layer})
	return s, nil
}

func (s *second) close() {
	if s.pool != nil {
		s.pool.Close()
	}
}

// differs is all that may differ: the time that a hook took, and the id of a layer that was read in another order.
var differs = regexp.MustCompile(`"us":\d+|"revisions":\{[^}]*\}`)

// noted keeps what is decided.
func noted(decide scripttest.Decide, said *[]string) scripttest.Decide {
	return func(ctx context.Context, q scripttest.Request) (payload.Value, error) {
		v, err := decide(ctx, q)
		text := differs.ReplaceAllString(v.String(), `"":0`)
		if err != nil {
			text = err.Error()
		}
		*said = append(*said, text)
		return v, err
	}
}

// compare fails results that didn't come to the same again: their outcome, output, fuel, and all that was decided.
func compare(results, again []scripttest.TestResult, first, second []string) {
	if !slices.Equal(first, second) {
		i := 0
		for i < min(len(first), len(second)) && first[i] == second[i] {
			i++
		}
		for k := range results {
			if results[k].OK {
				results[k].OK, results[k].Message = false, fmt.Sprintf("of %d decisions of this file the one at %d wasn't the same twice:\n%s\n%s", len(first), i+1, at(first, i), at(second, i))
			}
		}
		return
	}
	for i := range results {
		if results[i].OK && (i >= len(again) || !again[i].OK || again[i].Fuel != results[i].Fuel || again[i].Output != results[i].Output) {
			results[i].OK, results[i].Message = false, "it didn't do the same twice"
		}
	}
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return "(none)"
}
