package tool

import (
	"fmt"
	"strings"

	"agentd/hookpoints/payload"
)

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

// maxMisfit bounds what a schema library says, since it quotes values whole.
const maxMisfit = 300

// misfit says in words for a model why arguments were refused: which one, and what it should be. It
// knows the usual faults of flat objects, and leaves others to the words of the library.
func misfit(schema, arguments payload.Value, refused error) string {
	props := schema.Get("properties")
	for name := range arguments.Members() {
		if open := schema.Get("additionalProperties"); !props.Get(name).Exists() && open.Kind() == payload.Bool && !open.IsTrue() {
			return fmt.Sprintf("there is no argument %.100q: it takes %s", name, memberNames(props))
		}
	}
	for _, name := range schema.Get("required").Strings() {
		if !arguments.Get(name).Exists() {
			return name + " is missing"
		}
	}
	for name, v := range arguments.Members() {
		prop := props.Get(name)
		low, lowest := prop.Get("minimum").Float64()
		high, highest := prop.Get("maximum").Float64()
		f, number := v.Float64()
		switch kind := prop.Get("type").Text(); {
		case kind != "" && !fits(v, kind):
			return fmt.Sprintf("%s must be of type %s", name, kind)
		case number && (lowest && f < low || highest && f > high):
			return name + " must be " + bounds(prop)
		case v.Kind() == payload.String && v.Text() == "" && prop.Get("minLength").Exists():
			return name + " must not be empty"
		}
	}
	said := strings.ToValidUTF8(strings.TrimPrefix(refused.Error(), "validating root: "), "\uFFFD")
	if runes := []rune(said); len(runes) > maxMisfit {
		said = string(runes[:maxMisfit]) + "..."
	}
	return said
}

func memberNames(v payload.Value) string {
	var names []string
	for name := range v.Members() {
		names = append(names, name)
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ", ")
}

func fits(v payload.Value, kind string) bool {
	if kind == "integer" {
		f, ok := v.Float64()
		return ok && f == float64(int64(f))
	}
	return v.Kind().String() == kind
}

func bounds(prop payload.Value) string {
	low, high := prop.Get("minimum"), prop.Get("maximum")
	switch {
	case !high.Exists():
		return "at least " + low.Text()
	case !low.Exists():
		return "at most " + high.Text()
	}
	return "between " + low.Text() + " and " + high.Text()
}
