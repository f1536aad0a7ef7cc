package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agentd/hookpoints"
	"agentd/internal/agent"
	"agentd/internal/config"
	"agentd/internal/replay"
	"agentd/operation"
	"agentd/revision"
	"agentd/store"
)

// ReplayOptions say which operations of a project are replayed, and through what: the heads, the
// working files (Dev), a revision over what serves below it, or those of each operation (Pinned).
type ReplayOptions struct {
	Since         time.Duration // 0: all
	Point, Client string
	Dev, Pinned   bool
	Revision      string
}

// Replay computes recorded operations again. It only reads. Notes say what isn't served.
func Replay(ctx context.Context, p config.Places, getenv func(string) string, q ReplayOptions) (rep replay.Report, notes []string, err error) {
	v, err := openView(ctx, p, getenv, still{}) // fuel bounds the hooks
	if err != nil {
		return rep, nil, err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	o := replay.Options{Pinned: q.Pinned, Shape: shapes(v.Runtime.Points()), Point: q.Point, Client: q.Client}
	if o.Point != "" && v.Runtime.Points().Point(o.Point) == nil {
		return rep, nil, fmt.Errorf("there is no point %q; see agentd points", o.Point)
	}
	if o.Journal, err = v.Reader(); err != nil {
		return rep, nil, err
	}
	if q.Since > 0 {
		o.Since = v.Runtime.Now().Add(-q.Since)
	}
	if q.Pinned {
		o.Chains = v.Runtime.Planner()
	} else {
		if err := v.load(ctx, q.Dev); err != nil {
			return rep, nil, err
		}
		if q.Revision != "" {
			if err := v.At(ctx, q.Revision); err != nil {
				return rep, nil, err
			}
		}
		if len(v.Faults) > 0 {
			return rep, nil, fmt.Errorf("%w (%d in all; see agentd test)", v.Faults[0], len(v.Faults))
		}
		o.Chains = through{v.Generation}
	}
	rep, err = replay.Run(ctx, o)
	return rep, v.Notes, err
}

// through gives the chains of one generation, whatever an operation is pinned to.
type through struct{ *revision.Generation }

// Chain implements operation.Chains.
func (t through) Chain(_ context.Context, _ operation.Triple, point string, s hookpoints.Scope) (*hookpoints.Chain, error) {
	return t.Table.Chain(point, s), nil
}

// still is a monotonic clock for hooks that only fuel bounds.
type still struct{}

// Nanos implements hookpoints.Clock.
func (still) Nanos() int64 { return 0 }

// shapes makes the actions of recorded operations, our own and those of clients.
func shapes(points *hookpoints.Catalogue) func(operation.Decided) (operation.Action, error) {
	return func(d operation.Decided) (operation.Action, error) {
		if !d.Head.Foreign {
			return agent.Shape(points, d)
		}
		a := operation.Action{}
		if d.Head.Kind == "tool" {
			a = foreignShape(d.Scope.Get("kind").Text())
		} else {
			a.Validate, a.Answer, a.Allowed = pointChecks(points, d.Head.Kind, d.Original, d.Scope.Get("absent").Strings())
		}
		a.Head, a.Input, a.Policy = d.Head, d.Original, d.Policy
		return a, nil
	}
}

var _ replay.Journal = (*store.Reader)(nil)
