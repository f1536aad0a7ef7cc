package starlark

import (
	"go.starlark.net/starlark"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
)

// ctxValue is the first argument of a hook. It is read-only and of no use after its call.
type ctxValue struct{ c *hookpoints.Call }

func (*ctxValue) String() string          { return "<ctx>" }
func (*ctxValue) Type() string            { return "ctx" }
func (*ctxValue) Freeze()                 {}
func (*ctxValue) Truth() starlark.Bool    { return true }
func (x *ctxValue) Hash() (uint32, error) { return 0, unhashable(x) }

// attr returns a field, nil if there is none of that name.
func (x *ctxValue) attr(r *run, name string) (starlark.Value, error) {
	v := interp.ContextField(x.c, name)
	if !v.Exists() {
		return nil, nil
	}
	return r.show(v)
}

// view shows an object, an empty one if it is absent.
func view(v payload.Value) starlark.Value { return object{interp.ObjectOf(v)} }

func (*ctxValue) names() []string { return interp.ContextNames() }
