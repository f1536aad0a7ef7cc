package lua

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	lua "github.com/yuin/gopher-lua"

	"agentd/hookpoints/payload"
	"agentd/interp"
)

// nodeBytes is the charge for one node of a tree, beside its text.
const nodeBytes = 80

// listMeta marks a table that is a list even when it is empty: array{}.
var listMeta = lockedMeta()

// tree turns a value into JSON, paying for each node before it is made. A table with the keys 1 to n
// is a list, one with text as keys an object, an empty one an object unless array{} made it. A view
// gives back the very node that it shows. Nesting is counted in levels of tables and views.
func (r *run) tree(v lua.LValue, levels int) (payload.Value, error) {
	p := r.planter()
	out, err := p.plant(v, levels)
	if err != nil {
		return payload.Value{}, p.Located(err)
	}
	return out, nil
}

// planter converts one value.
type planter struct {
	interp.Growth
	r *run
}

func (r *run) planter() planter { return planter{interp.NewGrowth(), r} }

var errMixed = errors.New("a table has list items and named fields; JSON has lists or objects")

func (p *planter) plant(v lua.LValue, levels int) (payload.Value, error) {
	switch v := v.(type) {
	case *lua.LUserData:
		switch x := v.Value.(type) {
		case object:
			return p.view(x.v, levels)
		case array:
			return p.view(x.v, levels)
		}
	case *lua.LTable:
		return p.table(v, levels)
	}
	return p.scalar(v)
}

func (p *planter) scalar(v lua.LValue) (payload.Value, error) {
	fuel, bytes := int64(1), int64(nodeBytes)
	if s, ok := v.(lua.LString); ok {
		fuel, bytes = fuel+int64(len(s))/scanPerFuel, bytes+int64(len(s))
	}
	if err := p.r.charge(fuel, bytes); err != nil {
		return payload.Value{}, err
	}
	out, err := leaf(v)
	if err != nil {
		return out, err
	}
	return p.Leaf(out)
}

func leaf(v lua.LValue) (payload.Value, error) {
	switch v := v.(type) {
	case lua.LBool:
		return payload.NewBool(bool(v)), nil
	case lua.LString:
		return payload.NewString(interp.Whole(string(v))), nil
	case lua.LNumber:
		return numberTree(float64(v))
	case *lua.LUserData:
		switch x := v.Value.(type) {
		case null:
			return payload.NewNull(), nil
		case number:
			return x.v, nil
		case *decision:
			return payload.Value{}, errors.New("a decision is no JSON value")
		}
	}
	return payload.Value{}, fmt.Errorf("a %s is no JSON value", kindName(v))
}

// numberTree writes a number so that reading it gives the same one.
func numberTree(f float64) (payload.Value, error) {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return payload.Value{}, fmt.Errorf("%s is no JSON number", numberText(lua.LNumber(f)))
	case f == math.Trunc(f) && math.Abs(f) <= maxExact:
		return payload.NewInt(int64(f)), nil
	case math.Abs(f) < 1e21 && math.Abs(f) >= 1e-6:
		return payload.NewNumber(strconv.FormatFloat(f, 'f', -1, 64)), nil
	}
	return payload.NewNumber(strconv.FormatFloat(f, 'e', -1, 64)), nil
}

func (p *planter) view(v payload.Value, levels int) (payload.Value, error) {
	if err := p.r.charge(1+int64(v.Size())/1024, 0); err != nil {
		return v, err
	}
	return p.Shown(v, levels)
}

func (p *planter) table(t *lua.LTable, levels int) (payload.Value, error) {
	if levels <= 0 {
		return payload.Value{}, interp.ErrTooNested
	}
	if err := p.r.charge(4, nodeBytes); err != nil {
		return payload.Value{}, err
	}
	first, _, err := p.r.next(t, lua.LNil)
	if err != nil {
		return payload.Value{}, err
	}
	_, text := first.(lua.LString)
	if t.Metatable == listMeta || first != lua.LNil && !text {
		return p.list(t, levels)
	}
	fields, err := p.fields(t, levels)
	if err != nil {
		return payload.Value{}, err
	}
	return payload.NewObject(fields...), p.Grow(2)
}

// fields are the entries of a table whose keys are text, in the order in which they came.
func (p *planter) fields(t *lua.LTable, levels int) ([]payload.Field, error) {
	var out []payload.Field
	k, v, err := p.r.next(t, lua.LNil)
	for ; k != lua.LNil && err == nil; k, v, err = p.r.next(t, k) {
		name, nerr := p.name(k)
		if nerr != nil {
			return nil, nerr
		}
		kid, kerr := p.plant(v, levels-1)
		if kerr != nil {
			p.InMember(name)
			return nil, kerr
		}
		out = append(out, payload.Field{Name: name, Value: kid})
	}
	return out, err
}

// name checks the name of a member. One that is no text would be written as another one.
func (p *planter) name(k lua.LValue) (string, error) {
	s, ok := k.(lua.LString)
	if !ok {
		if _, ok := k.(lua.LNumber); ok {
			return "", errMixed
		}
		return "", fmt.Errorf("a key is a %s, want string", kindName(k))
	}
	if err := p.r.charge(2+int64(len(s))/scanPerFuel, entryBytes+int64(len(s))); err != nil {
		return "", err
	}
	return string(s), p.Name(string(s))
}

// list is a table with the keys 1 to n and no others.
func (p *planter) list(t *lua.LTable, levels int) (payload.Value, error) {
	n := p.r.length(t)
	if err := p.r.charge(int64(n)/copyPerFuel, slotBytes*int64(n)); err != nil {
		return payload.Value{}, err
	}
	items := make([]payload.Value, n)
	for i := range items {
		v := item(t, i+1)
		if v == lua.LNil {
			return payload.Value{}, fmt.Errorf("the list has nothing at %d of %d; null stands for what is empty", i+1, n)
		}
		kid, err := p.plant(v, levels-1)
		if err != nil {
			p.InItem(i + 1)
			return payload.Value{}, err
		}
		items[i] = kid
	}
	return payload.NewArray(items), p.noMore(t, n)
}

// noMore makes sure that a list holds nothing beside its items.
func (p *planter) noMore(t *lua.LTable, n int) error {
	left := n
	k, _, err := p.r.next(t, lua.LNil)
	for ; k != lua.LNil && err == nil; k, _, err = p.r.next(t, k) {
		if err := p.r.charge(1, 0); err != nil {
			return err
		}
		i, ok := k.(lua.LNumber)
		switch {
		case !ok:
			return errMixed
		case float64(i) != math.Trunc(float64(i)) || i < 1 || float64(i) > float64(n):
			return fmt.Errorf("the list has %d items in a row and one at %s; null stands for what is empty", n, numberText(i))
		}
		left--
	}
	if err == nil && left != 0 {
		err = errors.New("the list has holes; null stands for what is empty")
	}
	if err != nil {
		return err
	}
	return p.Grow(2)
}
