package starlark

import (
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
)

// node is the node of a view, or the tree of anything else.
func (r *run) node(v starlark.Value) (payload.Value, error) {
	if o, ok := v.(object); ok {
		return o.v, nil
	}
	return r.tree(v, payload.MaxDepth)
}

// bounded refuses a tree that grew larger or deeper than a payload may be.
func (r *run) bounded(v payload.Value) (payload.Value, error) {
	if v.Size() > hookpoints.MaxPayload {
		return v, interp.ErrTooLarge
	}
	if v.Depth(payload.MaxDepth) > payload.MaxDepth {
		return v, interp.ErrTooNested
	}
	return v, nil
}

// combine is the set operators, and | of dicts. It returns nothing if they don't apply.
func (r *run) combine(op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	if a, ok := x.(*set); ok {
		b, ok := y.(*set)
		if !ok {
			return nil, nil
		}
		return r.setOp(op, a, b)
	}
	if op != syntax.PIPE {
		return nil, nil
	}
	a, ok := mappingOf(x)
	if !ok {
		return nil, nil
	}
	b, ok := mappingOf(y)
	if !ok {
		return nil, nil
	}
	if a.dict != nil && b.dict != nil {
		if err := r.payClone(&a.dict.table); err != nil {
			return nil, err
		}
		z := a.dict.copy()
		if err := r.meter.Charge(entries(int64(z.live), int64(b.dict.live))); err != nil {
			return nil, err
		}
		return z, r.update(z, b.dict)
	}
	return r.patched(x, y)
}

// patched is view | dict, dict | view and view | view: a view of x's tree with y's members over it.
func (r *run) patched(x, y starlark.Value) (starlark.Value, error) {
	a, err := r.node(x)
	if err != nil {
		return nil, err
	}
	fields, err := r.members(y)
	if err != nil {
		return nil, err
	}
	n := int64(a.Len() + len(fields))
	if err := r.charge(memberFuel*n, nodeBytes+entryBytes*n); err != nil {
		return nil, err
	}
	out, err := r.bounded(a.With(fields...))
	return object{out}, err
}

// members turns a dict or the view of one into fields.
func (r *run) members(v starlark.Value) ([]payload.Field, error) {
	if d, ok := v.(*dict); ok {
		p := r.planter()
		fields, err := p.fields(d, payload.MaxDepth)
		return fields, p.Located(err)
	}
	o := v.(object).v
	if err := r.charge(int64(o.Len())/copyPerFuel, 24*int64(o.Len())); err != nil {
		return nil, err
	}
	fields := make([]payload.Field, o.Len())
	for i := range fields {
		fields[i] = payload.Field{Name: o.Key(i), Value: o.At(i)}
	}
	return fields, nil
}

// update sets d's entries to those of e, which may be d.
func (r *run) update(d, e *dict) error {
	if err := d.mutable("insert into"); err != nil {
		return err
	}
	if d == e {
		return nil
	}
	for k, v := range e.entries {
		key, err := r.key(k)
		if err != nil {
			return err
		}
		d.set(key, k, v)
	}
	return nil
}
