// Package hookpoints holds points, decisions, bindings and chains, and the small interfaces that
// hooks, facts and hosts fulfil. It knows no interpreter, clock, file or database.
//
// A [Point] is a named joint of the agent's life with a contract. A [Binding] puts a [Hook] at a
// point. A [Table] holds the bindings of a generation and plans the [Chain] of one call; running
// it gives a [Result], which is data only and is applied by whoever owns the session.
package hookpoints

import (
	"fmt"
	"slices"

	"agentd/hookpoints/contract"
	"agentd/hookpoints/payload"
)

// Phase says where a point stands to its action.
type Phase string

// The phases. Confirm is ours, the others are those of contract v2.
const (
	Before  Phase = "before"
	After   Phase = "after"
	Confirm Phase = "confirm"
	Error   Phase = "error"
	Finally Phase = "finally"
)

// The sets in which points are numbered. Base has a published hash, so it never changes; ours grows.
const (
	BaseSet  = "base/2"
	AddedSet = "agentd/1"
)

// ContractVersion is the version of the contracts; a hook says for which it was written.
const ContractVersion = 2

// Point is a row of the catalogue.
type Point struct {
	Name        string
	Set         string
	Phase       Phase
	Contract    *contract.Contract
	Writable    []string
	Reject      bool // allow_reject of the base contract
	Observation bool // only observation hooks may be bound here
	Allows      Verbs
	HasTarget   bool          // calls here have a target, so bindings may name targets
	Fires       string        // when it fires, one sentence
	Example     payload.Value // a payload that fulfils the contract
}

// Check checks a payload at the boundary and names the point in the error.
func (p *Point) Check(v payload.Value) error {
	if size := v.Size(); size > MaxPayload {
		return fmt.Errorf("%s: %w: the payload has %d bytes, at most %d are allowed", p.Name, ErrContract, size, MaxPayload)
	}
	if err := p.Contract.Check(v); err != nil {
		return fmt.Errorf("%s: %w: %w", p.Name, ErrContract, err)
	}
	return nil
}

// Guarded reports whether a guard has something to decide here.
func (p *Point) Guarded() bool { return p.Allows&byGuards&^SetOf(None) != 0 }

// CanWrite reports whether a patch may name a field.
func (p *Point) CanWrite(field string) bool { return slices.Contains(p.Writable, field) }

// Catalogue is the points by name. It is immutable.
type Catalogue struct {
	list []*Point
	at   map[string]*Point
}

// NewCatalogue makes a catalogue. It panics on a repeated or nameless point: points are program text.
func NewCatalogue(points ...*Point) *Catalogue {
	c := &Catalogue{points, make(map[string]*Point, len(points))}
	for _, p := range points {
		if p.Name == "" || c.at[p.Name] != nil {
			panic(fmt.Sprintf("hookpoints: point %q is nameless or declared twice", p.Name))
		}
		c.at[p.Name] = p
	}
	return c
}

// Point returns a point, nil if there is none.
func (c *Catalogue) Point(name string) *Point { return c.at[name] }

// All returns the points in the order of the documentation; the caller must not change them.
func (c *Catalogue) All() []*Point { return c.list }

// Standard is the sixteen base points and those that agentd adds.
func Standard() *Catalogue { return NewCatalogue(append(basePoints(), addedPoints()...)...) }
