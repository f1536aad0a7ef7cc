package lua

import (
	"fmt"

	lua "github.com/yuin/gopher-lua"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
	"agentd/interp"
)

// ctxValue is the first argument of a hook. It is read-only and of no use after its call.
type ctxValue struct{ c *hookpoints.Call }

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

// contextField returns a field of ctx.
func (r *run) contextField(c *hookpoints.Call, name string) (lua.LValue, error) {
	v := interp.ContextField(c, name)
	if !v.Exists() {
		return nil, fmt.Errorf("ctx has no field %s", shortened(name))
	}
	return r.show(v)
}

// view shows an object, an empty one if it is absent.
func view(v payload.Value) lua.LValue { return handle(object{interp.ObjectOf(v)}, viewMeta) }
