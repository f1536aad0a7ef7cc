package revision

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"agentd/hookpoints"
	"agentd/operation"
)

// ErrDrift: a kept revision doesn't come to the same manifest any more, as another interpreter,
// schedule or contract loads it.
var ErrDrift = errors.New("the revision was made for another agentd")

// Generation is what serves, or what a run is pinned to: three layers, composed. It is immutable.
type Generation struct {
	Triple operation.Triple
	Layers []*Layer // shipped, user, project; those without a revision are left out
	Table  *hookpoints.Table
}

// Compose puts layers over each other, lowest first.
func Compose(points *hookpoints.Catalogue, clock hookpoints.Clock, layers []*Layer) *Generation {
	g := &Generation{Layers: layers}
	var bindings []*hookpoints.Binding
	for i, l := range layers {
		switch l.Layer {
		case hookpoints.Shipped:
			g.Triple.Shipped = l.ID
		case hookpoints.User:
			g.Triple.User = l.ID
		case hookpoints.Project:
			g.Triple.Project = l.ID
		}
		for _, b := range l.Bindings {
			if !overruled(b, layers[i:]) {
				bindings = append(bindings, b)
			}
		}
		bindings = append(bindings, l.Replaces...)
	}
	for i, b := range bindings { // which of the layers grants is known only now
		bindings[i] = granted(b, layers)
	}
	g.Table = hookpoints.NewTable(points, clock, bindings)
	return g
}

// overruled reports whether a layer, or one above it, switches a binding off or replaces it.
func overruled(b *hookpoints.Binding, layers []*Layer) bool {
	for _, l := range layers {
		if slices.Contains(l.Disables, b.BindingID) || slices.ContainsFunc(l.Replaces, func(r *hookpoints.Binding) bool { return r.BindingID == b.BindingID }) {
			return true
		}
	}
	return false
}

// Agent finds an agent, the highest layer first, with the defaults filled in.
func (g *Generation) Agent(name string) (Agent, error) {
	if name == "" {
		name = DefaultAgent
	}
	for _, l := range slices.Backward(g.Layers) {
		if a, ok := l.Agent(name); ok {
			return a.withDefaults(), nil
		}
	}
	return Agent{}, fmt.Errorf("there is no agent %q; name it under agents in %s", name, ConfigFile)
}

// DefaultAgent is the agent of runs that name none.
const DefaultAgent = "default"

func (a Agent) withDefaults() Agent {
	if a.Confirm == "" {
		a.Confirm = "ask"
	}
	if a.MaxSteps == 0 {
		a.MaxSteps = 64
	}
	return a
}

// maxKept bounds the layers and generations that a Planner remembers.
const maxKept = 32

// Planner finds generations by their triple. It is safe for concurrent use.
type Planner struct {
	Builder *Builder
	Source  Source
	Clock   hookpoints.Clock
	// Accept says why a revision from the store may not be loaded; nil accepts all.
	Accept func(ctx context.Context, r *Revision) error

	mu          sync.Mutex
	layers      map[string]*Layer
	generations map[operation.Triple]*Generation
	accepted    map[operation.Triple]*Generation // that another agentd made
}

// Adopt remembers a layer that was built from files, so that it isn't built again from the store.
func (p *Planner) Adopt(l *Layer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remember(l)
}

func (p *Planner) remember(l *Layer) {
	if p.layers == nil || len(p.layers) >= maxKept {
		p.layers = map[string]*Layer{}
	}
	p.layers[l.ID] = l
}

// Generation composes the layers of a triple, from the store if they aren't at hand.
func (p *Planner) Generation(ctx context.Context, t operation.Triple) (*Generation, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if g := p.generations[t]; g != nil {
		return g, nil
	}
	if g := p.accepted[t]; g != nil {
		return g, nil
	}
	layers, _, err := p.layersOf(ctx, t, false)
	if err != nil {
		return nil, err
	}
	if p.generations == nil || len(p.generations) >= maxKept {
		p.generations = map[operation.Triple]*Generation{}
	}
	g := Compose(p.Builder.Points, p.Clock, layers)
	p.generations[t] = g
	return g, nil
}

// layersOf loads the layers of a triple. With any, also those that another agentd made; the differences
// are listed.
func (p *Planner) layersOf(ctx context.Context, t operation.Triple, any bool) (layers []*Layer, list []Difference, err error) {
	for _, which := range hookpoints.Layers() {
		id := t.Of(which)
		if id == "" {
			continue
		}
		l, differs, err := p.layer(ctx, which, id, layers)
		if err == nil && len(differs) > 0 && !any {
			err = drifted(differs)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("revision %.12s of the %s layer: %w", id, which, err)
		}
		layers, list = append(layers, l), append(list, differs...)
	}
	return layers, list, nil
}

func (p *Planner) layer(ctx context.Context, which hookpoints.Layer, id string, below []*Layer) (*Layer, []Difference, error) {
	if l := p.layers[id]; l != nil {
		return l, nil, nil
	}
	if p.Source == nil {
		return nil, nil, fmt.Errorf("%w: there is no store", ErrNotFound)
	}
	kept, err := p.Source.Revision(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	if err := intact(kept); err != nil {
		return nil, nil, err
	}
	if p.Accept != nil {
		if err := p.Accept(ctx, kept); err != nil {
			return nil, nil, err
		}
	}
	terms, err := TermsOf(kept.Manifest)
	if err != nil {
		return nil, nil, err
	}
	l, err := p.Builder.BuildUnder(ctx, kept.Layer, kept.Files, below, terms)
	if err != nil {
		return nil, nil, err
	}
	if err := l.Err(); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrDrift, err)
	}
	if l.ID != id {
		list, err := differences(which.String(), kept.Manifest, l.Manifest)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: it comes to %.12s here", err, l.ID)
		}
		l.ID = id // which it runs under, if a person says so
		return l, list, nil
	}
	p.remember(l)
	return l, nil, nil
}

// Chain implements operation.Chains.
func (p *Planner) Chain(ctx context.Context, t operation.Triple, point string, s hookpoints.Scope) (*hookpoints.Chain, error) {
	g, err := p.Generation(ctx, t)
	if err != nil {
		return nil, err
	}
	return g.Table.Chain(point, s), nil
}
