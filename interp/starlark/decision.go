package starlark

import (
	"fmt"

	"go.starlark.net/starlark"

	"agentd/hookpoints"
	"agentd/interp"
)

// decision is opaque: a script can hold it and hand it back. Only the decision builtins make one, and
// it shows nothing but its kind.
type decision struct{ d hookpoints.Decision }

func (d *decision) String() string        { return "<decision " + d.d.Verb.String() + ">" }
func (d *decision) Type() string          { return "decision" }
func (d *decision) Freeze()               {}
func (d *decision) Truth() starlark.Bool  { return true }
func (d *decision) Hash() (uint32, error) { return 0, unhashable(d) }

// decisions reads what a hook returned: None, a decision, or a list or tuple of decisions.
func (r *run) decisions(out starlark.Value) ([]hookpoints.Decision, error) {
	switch out := out.(type) {
	case starlark.NoneType:
		return nil, nil
	case *decision:
		var one interp.Decided
		err := one.Add(out.d)
		return one.List, err
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
	out := interp.Decided{List: make([]hookpoints.Decision, 0, n)}
	for i := range n {
		d, ok := list.Index(i).(*decision)
		if !ok {
			return nil, fmt.Errorf("item %d of the list that it returned is %s, want a decision", i, list.Index(i).Type())
		}
		if err := out.Add(d.d); err != nil {
			return nil, err
		}
	}
	return out.List, nil
}
