package starlark

import (
	"slices"

	"go.starlark.net/starlark"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// ctxValue is the first argument of a hook. It is read-only and of no use after its call.
type ctxValue struct{ c *hookpoints.Call }

func (*ctxValue) String() string          { return "<ctx>" }
func (*ctxValue) Type() string            { return "ctx" }
func (*ctxValue) Freeze()                 {}
func (*ctxValue) Truth() starlark.Bool    { return true }
func (x *ctxValue) Hash() (uint32, error) { return 0, unhashable(x) }

// nowLayout is RFC 3339 with milliseconds; the time is UTC.
const nowLayout = "2006-01-02T15:04:05.000Z"

var ctxNames = []string{"binding_id", "config", "facts", "kind", "missing", "now", "point", "scope", "seed", "state"}

var emptyObject = payload.NewObject()

// attr returns a field, nil if there is none of that name. The scope's fields are fields too.
func (x *ctxValue) attr(r *run, name string) (starlark.Value, error) {
	switch c := x.c; name {
	case "point":
		return starlark.String(c.Point.Name), nil
	case "binding_id":
		return starlark.String(c.Binding.BindingID), nil
	case "config":
		return view(c.Binding.Config), nil
	case "scope":
		return view(c.Scope.Value), nil
	case "kind":
		return r.show(c.Scope.Get("kind"))
	case "facts":
		return view(c.Facts), nil
	case "missing":
		return view(c.Missing), nil
	case "state":
		return view(c.State), nil
	case "now":
		return starlark.String(c.Now.UTC().Format(nowLayout)), nil
	case "seed":
		return starlark.String(c.Seed), nil
	}
	if v := x.c.Scope.Get(name); v.Exists() {
		return r.show(v)
	}
	return nil, nil
}

// view shows an object, an empty one if it is absent.
func view(v payload.Value) starlark.Value {
	if v.Kind() != payload.Object {
		v = emptyObject
	}
	return object{v}
}

func (*ctxValue) names() []string {
	names := append(hookpoints.ScopeFields(), ctxNames...)
	slices.Sort(names)
	return slices.Compact(names)
}
