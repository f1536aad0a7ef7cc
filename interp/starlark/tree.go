package starlark

import (
	"fmt"
	"math"

	"go.starlark.net/starlark"

	"agentd/hookpoints/payload"
	"agentd/interp"
)

// nodeBytes is the charge for one node of a tree, beside its text.
const nodeBytes = 80

// floatFuel is what writing a float takes.
const floatFuel = 6

// tree turns a value into JSON, paying for each node before it is made. Nesting is counted in levels
// of lists and dicts, views included; a view gives back the very node that it shows.
func (r *run) tree(v starlark.Value, levels int) (payload.Value, error) {
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

var errTooManyDigits = fmt.Errorf("an integer has more than %d digits", maxDigits)

func (p *planter) plant(v starlark.Value, levels int) (payload.Value, error) {
	switch v := v.(type) {
	case object:
		return p.view(v.v, levels)
	case array:
		return p.view(v.v, levels)
	case *dict:
		return p.object(v, levels)
	case *starlark.List:
		return p.array(v, levels)
	case starlark.Tuple:
		return p.array(v, levels)
	}
	return p.scalar(v)
}

func (p *planter) scalar(v starlark.Value) (payload.Value, error) {
	fuel, bytes := int64(2), int64(nodeBytes)
	if s, ok := v.(starlark.String); ok {
		fuel, bytes = fuel+int64(len(s))/20, bytes+int64(len(s))
	}
	if err := p.r.charge(fuel, bytes); err != nil {
		return payload.Value{}, err
	}
	out, err := p.leaf(v)
	if err != nil {
		return out, err
	}
	return p.Leaf(out)
}

func (p *planter) leaf(v starlark.Value) (payload.Value, error) {
	switch v := v.(type) {
	case starlark.NoneType:
		return payload.NewNull(), nil
	case starlark.Bool:
		return payload.NewBool(bool(v)), nil
	case starlark.String:
		return payload.NewString(interp.Whole(string(v))), nil
	case number:
		return v.v, nil
	case starlark.Int:
		if i, ok := v.Int64(); ok {
			return payload.NewInt(i), nil
		}
		if v.BigInt().BitLen() > maxDigits*4 {
			return payload.Value{}, errTooManyDigits
		}
		if err := p.r.charge(digitsFuel/4, 2*maxDigits); err != nil {
			return payload.Value{}, err
		}
		text := v.String()
		if len(text)-len(signOf(text)) > maxDigits {
			return payload.Value{}, errTooManyDigits
		}
		return payload.NewNumber(text), nil
	case starlark.Float:
		if err := p.r.charge(floatFuel, 0); err != nil {
			return payload.Value{}, err
		}
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return payload.Value{}, fmt.Errorf("%s is no JSON number", v)
		}
		return payload.NewNumber(v.String()), nil
	}
	return payload.Value{}, fmt.Errorf("%s is no JSON value", v.Type())
}

func (p *planter) view(v payload.Value, levels int) (payload.Value, error) {
	if err := p.r.charge(2, 0); err != nil {
		return v, err
	}
	return p.Shown(v, levels)
}

func (p *planter) object(d *dict, levels int) (payload.Value, error) {
	fields, err := p.fields(d, levels)
	if err != nil {
		return payload.Value{}, err
	}
	return payload.NewObject(fields...), p.Grow(2)
}

func (p *planter) fields(d *dict, levels int) ([]payload.Field, error) {
	if levels <= 0 {
		return nil, interp.ErrTooNested
	}
	if err := p.r.charge(1+2*int64(d.live), nodeBytes+entryBytes*int64(d.live)); err != nil {
		return nil, err
	}
	fields := make([]payload.Field, 0, d.live)
	for k, v := range d.entries {
		name, err := p.name(k)
		if err != nil {
			return nil, err
		}
		kid, err := p.plant(v, levels-1)
		if err != nil {
			p.InMember(name)
			return nil, err
		}
		fields = append(fields, payload.Field{Name: name, Value: kid})
	}
	return fields, nil
}

// name checks the name of a member. One that is no text would be written as another one.
func (p *planter) name(k starlark.Value) (string, error) {
	s, ok := k.(starlark.String)
	if !ok {
		return "", fmt.Errorf("a key is %s, want string", k.Type())
	}
	if err := p.r.charge(int64(len(s))/20, int64(len(s))); err != nil {
		return "", err
	}
	return string(s), p.Name(string(s))
}

func (p *planter) array(list starlark.Indexable, levels int) (payload.Value, error) {
	if levels <= 0 {
		return payload.Value{}, interp.ErrTooNested
	}
	n := list.Len()
	if err := p.r.charge(1, nodeBytes+slotBytes*int64(n)); err != nil {
		return payload.Value{}, err
	}
	items := make([]payload.Value, n)
	for i := range items {
		kid, err := p.plant(list.Index(i), levels-1)
		if err != nil {
			p.InItem(i)
			return payload.Value{}, err
		}
		items[i] = kid
	}
	return payload.NewArray(items), p.Grow(2)
}
