package hookpoints

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// maxPlans bounds the plans that a Table remembers: targets come from models.
const maxPlans = 1024

// Table is the bindings of a generation, indexed by point and target. It is immutable but for the
// plans it remembers, and safe for concurrent use.
type Table struct {
	points *Catalogue
	clock  Clock
	all    []*Binding
	index  map[string]*pointIndex

	mu    sync.Mutex
	plans map[Key]*Chain
}

// pointIndex is the bindings of one point: those for certain targets, and those for all.
type pointIndex struct {
	targeted map[string][]*Binding
	open     []*Binding
}

// NewTable indexes bindings, whose points must be in the catalogue.
func NewTable(points *Catalogue, clock Clock, bindings []*Binding) *Table {
	t := &Table{points: points, clock: clock, all: bindings, index: map[string]*pointIndex{}, plans: map[Key]*Chain{}}
	for _, b := range bindings {
		ix := t.index[b.Point]
		if ix == nil {
			ix = &pointIndex{targeted: map[string][]*Binding{}}
			t.index[b.Point] = ix
		}
		if len(b.Targets) == 0 {
			ix.open = append(ix.open, b)
		}
		for _, target := range b.Targets {
			ix.targeted[target] = append(ix.targeted[target], b)
		}
	}
	return t
}

// Bindings returns all bindings; the caller must not change them.
func (t *Table) Bindings() []*Binding { return t.all }

// Chain plans a call at a point, or recalls the plan. It returns nil if there is no such point.
func (t *Table) Chain(point string, s Scope) *Chain {
	k := s.at(point)
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.plans[k]; c != nil {
		return c
	}
	p := t.points.Point(point)
	if p == nil {
		return nil
	}
	c := NewChain(p, t.clock, t.match(k))
	if len(t.plans) >= maxPlans {
		clear(t.plans)
	}
	t.plans[k] = c
	return c
}

// at is what matching looks at, with the point and the defaults filled in.
func (s Scope) at(point string) Key {
	k := s.Key
	k.Point = point
	if k.Purpose == "" {
		k.Purpose = "action"
	}
	if k.Instance == "" {
		k.Instance = Main
	}
	return k
}

// Unmatched is a binding of a point that doesn't want a call, and why.
type Unmatched struct {
	*Binding
	Why string
}

// Unmatched lists the bindings of a point that Chain leaves out, in the order in which they were loaded.
func (t *Table) Unmatched(point string, s Scope) (out []Unmatched) {
	k := s.at(point)
	for _, b := range t.all {
		if b.Point != point {
			continue
		}
		field, wants, has := b.mismatch(k)
		if len(b.Targets) > 0 && !slices.Contains(b.Targets, k.Target) {
			field, wants, has = "targets", b.Targets, k.Target
		}
		if field == "" {
			continue
		}
		why := fmt.Sprintf("its %s are %s, and this call has ", field, strings.Join(wants, ", "))
		if len(wants) == 0 {
			why = fmt.Sprintf("its %s are an empty list, and this call has ", field)
		}
		if has == "" {
			has = "none"
		}
		out = append(out, Unmatched{b, why + has})
	}
	return out
}

func (t *Table) match(k Key) []*Binding {
	ix := t.index[k.Point]
	if ix == nil {
		return nil
	}
	var out []*Binding
	for _, list := range [][]*Binding{ix.open, ix.targeted[k.Target]} {
		for _, b := range list {
			if b.matches(k) {
				out = append(out, b)
			}
		}
	}
	return out
}

// matches decides everything but point and target, which the index did.
func (b *Binding) matches(k Key) bool {
	field, _, _ := b.mismatch(k)
	return field == ""
}

// mismatch says by which of its fields a binding doesn't want a call of its point and target: what it
// asks for, and what the call has. The field is "" if it wants it.
func (b *Binding) mismatch(k Key) (field string, wants []string, has string) {
	switch {
	case b.Instances != nil && !slices.Contains(b.Instances, k.Instance):
		return "instances", b.Instances, k.Instance
	case len(b.Kinds) > 0 && !slices.Contains(b.Kinds, k.Kind):
		return "kinds", b.Kinds, k.Kind
	case len(b.Clients) > 0 && !slices.Contains(b.Clients, k.Client):
		return "clients", b.Clients, k.Client
	}
	if wants := b.wantedPurposes(k.Point); wants != nil && !slices.ContainsFunc(wants, func(p string) bool { return purposeClass(p) == k.Purpose }) {
		return "purposes", wants, k.Purpose
	}
	return "", nil, ""
}

// wantedPurposes are those that a binding says, or the default of the base contract: document and query
// for embeddings, action for other models; nil is no filter.
func (b *Binding) wantedPurposes(point string) []string {
	switch {
	case b.Purposes != nil:
		return b.Purposes
	case strings.HasPrefix(point, "model.embedding."):
		return []string{"document", "query"}
	case strings.HasPrefix(point, "model."):
		return []string{"action"}
	}
	return nil
}

// purposes are those that a call can have.
var purposes = []string{"action", "compaction", "completion", "verification", "document", "query"}

// MatchFault says why a binding could never match, and what would be right; both are "" if it can.
// Targets aren't checked: they come from models and servers.
func (b *Binding) MatchFault(p *Point) (message, fix string) {
	switch {
	case b.Purposes != nil && len(b.Purposes) == 0:
		return "purposes is empty, so it can never match", "leave purposes out, or name one of " + strings.Join(purposes, ", ")
	case b.Instances != nil && len(b.Instances) == 0:
		return "instances is empty, so it can never match", "leave instances out, or name main or child"
	case b.Kinds != nil && len(b.Kinds) == 0:
		return "kinds is empty, so it can never match", "leave kinds out, or name one of " + strings.Join(kinds, ", ")
	case b.Clients != nil && len(b.Clients) == 0:
		return "clients is empty, so it can never match", "leave clients out, or name a client"
	case len(b.Targets) > 0 && !p.HasTarget:
		return p.Name + " has no targets, so it can never match", "leave targets out"
	}
	for _, check := range []struct {
		field       string
		got, choice []string
	}{{"purposes", b.Purposes, purposes}, {"instances", b.Instances, []string{Main, Child}}, {"kinds", b.Kinds, kinds}, {"targets", b.Targets, nil}, {"clients", b.Clients, nil}} {
		for _, s := range check.got {
			if check.choice == nil && s == "" {
				return check.field + ` has "", which nothing has`, "write a name, or leave " + check.field + " out"
			}
			if check.choice != nil && !slices.Contains(check.choice, s) {
				return check.field + " has " + `"` + s + `", which nothing has`, "use one of " + strings.Join(check.choice, ", ")
			}
		}
	}
	return "", ""
}
