// Package replay computes recorded operations again, through the hooks that they ran under or through
// others, and says what would have been decided otherwise. Hooks are pure, so what their chains were
// given decides: inputs, facts and answers as recorded, and the state of the session as the replayed
// hooks leave it. It only reads.
package replay

import (
	"context"
	"errors"
	"slices"
	"time"

	"agentd/hookpoints/payload"
	"agentd/operation"
)

// Journal is what is replayed.
type Journal interface {
	// Committed lists all rows without their contents, in commit order.
	Committed(ctx context.Context) ([]operation.Committed, error)
	// Rows returns the rows of one operation in commit order.
	Rows(ctx context.Context, op string) ([]operation.Row, error)
}

// Options say what is replayed, and through what.
type Options struct {
	Journal Journal
	// Chains finds the hooks. Their clock should stand still: fuel bounds them.
	Chains operation.Chains
	// Pinned: Chains finds the revisions that each operation is pinned to. Then rows are compared
	// whole, with all records, as nothing of them may differ.
	Pinned bool
	// Shape makes the action of a recorded operation, without what acts.
	Shape func(operation.Decided) (operation.Action, error)

	Since  time.Time // only operations that began then or later
	Point  string    // only these chains; "" means all
	Client string    // only operations of this client; "" means all
}

// Report is what came out. Every operation that was chosen is counted once: as the same, as changed,
// as follow-on or as unreplayable.
type Report struct {
	Operations int `json:"operations"`
	Same       int `json:"same"`
	// Changed are those that would come out otherwise, in the order in which they were decided.
	Changed []Change `json:"changed"`
	// FollowOn counts what came after a changed operation in its session, whose input would have been
	// another one anyway. Calls of the same reply aren't among them.
	FollowOn     int            `json:"follow_on"`
	Unreplayable []Unreplayable `json:"unreplayable"`
}

// Change is the first chain of an operation that comes out otherwise. Before and After are objects:
// the outcome, and of all else only what differs. Of a result they hold the hash.
type Change struct {
	ID     string        `json:"id"`
	Point  string        `json:"point"`
	Before payload.Value `json:"before"`
	After  payload.Value `json:"after"`
}

// Unreplayable is an operation that can't be computed again, and why.
type Unreplayable struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

// Run replays. The error is the journal's or the context's.
func Run(ctx context.Context, o Options) (Report, error) {
	committed, err := o.Journal.Committed(ctx)
	if err != nil {
		return Report{}, err
	}
	p := &player{o: o, ops: map[string]*op{}, sessions: map[string]*session{}, project: map[string]payload.Value{}}
	p.chains = &watched{Chains: o.Chains}
	if err := p.choose(ctx, committed); err != nil {
		return Report{}, err
	}
	for len(committed) > 0 {
		n := slices.IndexFunc(committed, func(c operation.Committed) bool { return c.Commit != committed[0].Commit })
		if n < 0 {
			n = len(committed)
		}
		if err := p.play(ctx, committed[:n]); err != nil {
			return Report{}, err
		}
		committed = committed[n:]
	}
	return p.report(), nil
}

// player is a replay on its way.
type player struct {
	o        Options
	chains   *watched
	ops      map[string]*op
	order    []*op // in the order of their first rows
	sessions map[string]*session
	project  map[string]payload.Value // state that all sessions share, as replayed
}

// op is an operation on its way.
type op struct {
	id     string
	head   operation.Head
	known  bool // head is
	chosen bool

	began  bool // its before chain was replayed, or skipped
	action *operation.Rehearsed
	points operation.Points
	fires  bool // a chain at the point that was asked for
	live   bool // its after chain can be replayed

	change *Change
	follow bool
	reason string
}

// choose finds the operations, and which of them count. What the others remembered holds.
func (p *player) choose(ctx context.Context, committed []operation.Committed) error {
	for _, c := range committed {
		if p.ops[c.Op] == nil {
			p.ops[c.Op] = &op{id: c.Op}
			p.order = append(p.order, p.ops[c.Op])
		}
	}
	for _, o := range p.order {
		if err := ctx.Err(); err != nil {
			return err
		}
		rows, err := p.o.Journal.Rows(ctx, o.id)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil { // the others can still be replayed
			o.chosen, o.fires, o.reason = p.o.Client == "" && p.o.Since.IsZero(), p.o.Point == "", err.Error()
			continue
		}
		d, ok := decidedOf(rows)
		if !ok {
			o.chosen = p.o.Client == "" && p.o.Since.IsZero()
			o.fires = p.o.Point == ""
			o.reason = "only that a hook of it failed is recorded, not what it was given"
			continue
		}
		o.head, o.known = d.Head, true
		o.chosen = !d.Head.Began.Before(p.o.Since) && (p.o.Client == "" || p.o.Client == d.Head.Client)
	}
	return nil
}

func (p *player) session(id string) *session {
	s := p.sessions[id]
	if s == nil {
		s = &session{p: p, Rehearsal: operation.NewRehearsal(p.chains, id)}
		p.sessions[id] = s
	}
	return s
}

func (p *player) report() Report {
	r := Report{Changed: []Change{}, Unreplayable: []Unreplayable{}}
	for _, o := range p.order {
		if !o.chosen || !o.fires {
			continue
		}
		r.Operations++
		switch {
		case o.change != nil && (p.o.Point == "" || p.o.Point == o.change.Point):
			r.Changed = append(r.Changed, *o.change)
		case o.follow:
			r.FollowOn++
		case o.reason != "":
			r.Unreplayable = append(r.Unreplayable, Unreplayable{o.id, o.reason})
		default:
			r.Same++
		}
	}
	return r
}

// errUnrecorded: a chain asked for what isn't recorded.
var errUnrecorded = errors.New("it isn't recorded")
