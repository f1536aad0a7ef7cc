package lua

import (
	"fmt"

	lua "github.com/yuin/gopher-lua"

	"agentd/hookpoints"
	"agentd/interp"
)

// decision is opaque: a script can hold it and hand it back. Only the decision builtins make one.
type decision struct{ d hookpoints.Decision }

// decisionOf is the decision in a value, nil if it is none.
func decisionOf(v lua.LValue) *decision {
	if u, ok := v.(*lua.LUserData); ok {
		d, _ := u.Value.(*decision)
		return d
	}
	return nil
}

// decisions reads what a hook returned: nothing, a decision, or a list of decisions.
func (r *run) decisions(out lua.LValue) ([]hookpoints.Decision, error) {
	if out == lua.LNil {
		return nil, nil
	}
	if d := decisionOf(out); d != nil {
		var one interp.Decided
		err := one.Add(d.d)
		return one.List, err
	}
	if t, ok := out.(*lua.LTable); ok {
		return r.decisionList(t)
	}
	return nil, fmt.Errorf("it returned a %s, want nil, a decision or a list of decisions", kindName(out))
}

func (r *run) decisionList(t *lua.LTable) ([]hookpoints.Decision, error) {
	n := r.length(t)
	if err := r.charge(int64(n), 2*nodeBytes*int64(n)); err != nil {
		return nil, err
	}
	out := interp.Decided{List: make([]hookpoints.Decision, 0, n)}
	for i := range n {
		d := decisionOf(item(t, i+1))
		if d == nil {
			return nil, fmt.Errorf("item %d of the list that it returned is a %s, want a decision", i+1, kindName(item(t, i+1)))
		}
		if err := out.Add(d.d); err != nil {
			return nil, err
		}
	}
	p := r.planter()
	if err := p.noMore(t, n); err != nil {
		return nil, fmt.Errorf("the list that it returned: %w", err)
	}
	return out.List, nil
}
