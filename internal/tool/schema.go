package tool

import "agentd/hookpoints/payload"

// parameters writes a closed object schema; the first required of the properties must be given.
func parameters(required int, props ...payload.Field) payload.Value {
	names := make([]string, 0, required)
	for _, p := range props[:required] {
		names = append(names, p.Name)
	}
	fields := []payload.Field{
		text("type", "object"),
		{Name: "properties", Value: object(props...)},
	}
	if required > 0 {
		fields = append(fields, payload.Field{Name: "required", Value: payload.NewStrings(names)})
	}
	return object(append(fields, flag("additionalProperties", false))...)
}

func stringParam(name, description string, more ...payload.Field) payload.Field {
	return param(name, "string", description, more...)
}

func integerParam(name, description string, bounds ...payload.Field) payload.Field {
	return param(name, "integer", description, bounds...)
}

func atLeast(i int64) payload.Field { return integer("minimum", i) }

func atMost(i int64) payload.Field { return integer("maximum", i) }

func boolParam(name, description string) payload.Field { return param(name, "boolean", description) }

func param(name, kind, description string, more ...payload.Field) payload.Field {
	fields := append([]payload.Field{text("type", kind), text("description", description)}, more...)
	return payload.Field{Name: name, Value: object(fields...)}
}

// intArgument is an optional whole number, which a model may also write as 3.0.
func intArgument(arguments payload.Value, name string, otherwise int64) int64 {
	v := arguments.Get(name)
	if i, ok := v.Int64(); ok {
		return i
	}
	if f, ok := v.Float64(); ok {
		return int64(f)
	}
	return otherwise
}
