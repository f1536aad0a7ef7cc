package starlark

import (
	"fmt"

	"go.starlark.net/starlark"

	"agentd/hookpoints"
)

// decision is opaque: a script can hold it and hand it back. Only the decision builtins make one, and
// it shows nothing but its kind.
type decision struct{ d hookpoints.Decision }

func (d *decision) String() string        { return "<decision " + d.d.Verb.String() + ">" }
func (d *decision) Type() string          { return "decision" }
func (d *decision) Freeze()               {}
func (d *decision) Truth() starlark.Bool  { return true }
func (d *decision) Hash() (uint32, error) { return 0, unhashable(d) }

// errDecidesTooMuch: fields that are views cost next to nothing, and are written whole all the same.
var errDecidesTooMuch = fmt.Errorf("what it returned: %w", errTooLarge)

// decisions reads what a hook returned: None, a decision, or a list or tuple of decisions.
func (r *run) decisions(out starlark.Value) ([]hookpoints.Decision, error) {
	switch out := out.(type) {
	case starlark.NoneType:
		return nil, nil
	case *decision:
		if decisionSize(out.d) > hookpoints.MaxPayload {
			return nil, errDecidesTooMuch
		}
		return []hookpoints.Decision{out.d}, nil
	case *starlark.List, starlark.Tuple:
		return r.decisionList(out.(starlark.Indexable))
	}
	return nil, fmt.Errorf("it returned %s, want None, a decision or a list of decisions", out.Type())
}

func (r *run) decisionList(list starlark.Indexable) ([]hookpoints.Decision, error) {
	n := list.Len()
	if err := r.charge(8+int64(n), 2*nodeBytes*int64(n)); err != nil {
		return nil, err
	}
	out := make([]hookpoints.Decision, n)
	size := 0
	for i := range out {
		d, ok := list.Index(i).(*decision)
		if !ok {
			return nil, fmt.Errorf("item %d of the list that it returned is %s, want a decision", i, list.Index(i).Type())
		}
		out[i] = d.d
		if size += decisionSize(d.d); size > hookpoints.MaxPayload {
			return nil, errDecidesTooMuch
		}
	}
	return out, nil
}

func decisionSize(d hookpoints.Decision) int {
	n := len(d.Text) + len(d.Name) + d.Value.Size()
	for _, f := range d.Fields {
		n += len(f.Name) + f.Value.Size()
	}
	return n
}
