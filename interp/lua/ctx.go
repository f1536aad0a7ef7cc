package lua

import (
	"fmt"

	lua "github.com/yuin/gopher-lua"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// ctxValue is the first argument of a hook. It is read-only and of no use after its call.
type ctxValue struct{ c *hookpoints.Call }

// nowLayout is RFC 3339 with milliseconds; the time is UTC.
const nowLayout = "2006-01-02T15:04:05.000Z"

var emptyObject = payload.NewObject()

// indexCtx is ctx.name.
func indexCtx(r *run, L *lua.LState) (int, error) {
	u, _ := L.Get(1).(*lua.LUserData)
	name, ok := L.Get(2).(lua.LString)
	if u == nil || !ok {
		return 0, cannot("index", L.Get(1))
	}
	x, ok := u.Value.(ctxValue)
	if !ok {
		return 0, cannot("index", u)
	}
	v, err := r.contextField(x.c, string(name))
	if err != nil {
		return 0, err
	}
	L.Push(v)
	return 1, nil
}

// contextField returns a field; the scope's fields are fields too.
func (r *run) contextField(c *hookpoints.Call, name string) (lua.LValue, error) {
	switch name {
	case "point":
		return lua.LString(c.Point.Name), nil
	case "binding_id":
		return lua.LString(c.Binding.BindingID), nil
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
		return lua.LString(c.Now.UTC().Format(nowLayout)), nil
	case "seed":
		return lua.LString(c.Seed), nil
	}
	if v := c.Scope.Get(name); v.Exists() {
		return r.show(v)
	}
	return nil, fmt.Errorf("ctx has no field %s", shortened(name))
}

// view shows an object, an empty one if it is absent.
func view(v payload.Value) lua.LValue {
	if v.Kind() != payload.Object {
		v = emptyObject
	}
	return handle(object{v}, viewMeta)
}
