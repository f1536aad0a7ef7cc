package lua

import (
	"fmt"

	lua "github.com/yuin/gopher-lua"

	"agentd/hookpoints"
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

// errDecidesTooMuch: fields that are views cost next to nothing, and are written whole all the same.
var errDecidesTooMuch = fmt.Errorf("what it returned: %w", errTooLarge)

// decisions reads what a hook returned: nothing, a decision, or a list of decisions.
func (r *run) decisions(out lua.LValue) ([]hookpoints.Decision, error) {
	if out == lua.LNil {
		return nil, nil
	}
	if d := decisionOf(out); d != nil {
		if decisionSize(d.d) > hookpoints.MaxPayload {
			return nil, errDecidesTooMuch
		}
		return []hookpoints.Decision{d.d}, nil
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
	out := make([]hookpoints.Decision, n)
	size := 0
	for i := range out {
		d := decisionOf(item(t, i+1))
		if d == nil {
			return nil, fmt.Errorf("item %d of the list that it returned is a %s, want a decision", i+1, kindName(item(t, i+1)))
		}
		out[i] = d.d
		if size += decisionSize(d.d); size > hookpoints.MaxPayload {
			return nil, errDecidesTooMuch
		}
	}
	p := planter{r: r, room: hookpoints.MaxPayload}
	if err := p.noMore(t, n); err != nil {
		return nil, fmt.Errorf("the list that it returned: %w", err)
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
