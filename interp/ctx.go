package interp

import (
	"slices"

	"agentd/hookpoints"
	"agentd/hookpoints/payload"
)

// nowLayout is RFC 3339 with milliseconds; the time is UTC.
const nowLayout = "2006-01-02T15:04:05.000Z"

// contextFields are those of ctx beside the scope's.
var contextFields = map[string]func(*hookpoints.Call) payload.Value{
	"binding_id": func(c *hookpoints.Call) payload.Value { return payload.NewString(c.Binding.BindingID) },
	"config":     func(c *hookpoints.Call) payload.Value { return ObjectOf(c.Binding.Config) },
	"facts":      func(c *hookpoints.Call) payload.Value { return ObjectOf(c.Facts) },
	"kind":       func(c *hookpoints.Call) payload.Value { return orNull(c.Scope.Get("kind")) },
	"missing":    func(c *hookpoints.Call) payload.Value { return ObjectOf(c.Missing) },
	"now":        func(c *hookpoints.Call) payload.Value { return payload.NewString(c.Now.UTC().Format(nowLayout)) },
	"point":      func(c *hookpoints.Call) payload.Value { return payload.NewString(c.Point.Name) },
	"scope":      func(c *hookpoints.Call) payload.Value { return ObjectOf(c.Scope.Value) },
	"seed":       func(c *hookpoints.Call) payload.Value { return payload.NewString(c.Seed) },
	"state":      func(c *hookpoints.Call) payload.Value { return ObjectOf(c.State) },
}

// ContextField is a field of ctx, a hook's first argument, absent if there is none of that name. The
// scope's fields are fields too.
func ContextField(c *hookpoints.Call, name string) payload.Value {
	if field := contextFields[name]; field != nil {
		return field(c)
	}
	return c.Scope.Get(name)
}

// ContextNames are the names of all fields that ctx can have, sorted.
func ContextNames() []string {
	names := hookpoints.ScopeFields()
	for name := range contextFields {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

var emptyObject = payload.NewObject()

// ObjectOf is an object as it is, and an empty one in the place of anything else.
func ObjectOf(v payload.Value) payload.Value {
	if v.Kind() != payload.Object {
		return emptyObject
	}
	return v
}

func orNull(v payload.Value) payload.Value {
	if !v.Exists() {
		return payload.NewNull()
	}
	return v
}
