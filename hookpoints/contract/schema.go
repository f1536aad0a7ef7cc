package contract

import (
	"strconv"

	"agentd/hookpoints/payload"
)

// Schema writes the contract as JSON Schema 2020-12. With closed it requires what must be there and
// refuses unknown fields (contract version 2); without it only the fields' types stand, which is
// the form of version 1.
func (c *Contract) Schema(closed bool) payload.Value {
	props := make([]payload.Field, len(c.fields))
	var required []string
	for i, f := range c.fields {
		props[i] = payload.Field{Name: f.Name, Value: f.Type.Schema()}
		if f.Required {
			required = append(required, f.Name)
		}
	}
	out := []payload.Field{
		{Name: "type", Value: payload.NewString("object")},
		{Name: "properties", Value: payload.NewObject(props...)},
	}
	if closed {
		out = append(out,
			payload.Field{Name: "required", Value: payload.NewStrings(required)},
			payload.Field{Name: "additionalProperties", Value: payload.NewBool(false)})
		for _, r := range c.rules {
			out = append(out, r.Schema...)
		}
	}
	return payload.NewObject(out...)
}

// Schema writes the type as JSON Schema: enum and const stand without a type, any is {}.
func (t *Type) Schema() payload.Value {
	var out []payload.Field
	add := func(name string, v payload.Value) { out = append(out, payload.Field{Name: name, Value: v}) }
	switch {
	case t.Const != "" && t.Kinds&payload.Null == 0:
		add("const", payload.NewString(t.Const))
	case t.Const != "" || t.Enum != nil:
		add("enum", t.enumKeyword())
	case t.Kinds != 0:
		add("type", t.typeKeyword())
	}
	if t.HasMin && t.ExclusiveMin {
		add("exclusiveMinimum", number(t.Min))
	} else if t.HasMin {
		add("minimum", number(t.Min))
	}
	if t.HasMax {
		add("maximum", number(t.Max))
	}
	if t.MinLength > 0 {
		add("minLength", payload.NewInt(int64(t.MinLength)))
	}
	if t.MinItems > 0 {
		add("minItems", payload.NewInt(int64(t.MinItems)))
	}
	if t.Items != nil {
		add("items", t.Items.Schema())
	}
	if t.Members != nil {
		props := make([]payload.Field, len(t.Members))
		for i := range t.Members {
			props[i] = payload.Field{Name: t.Members[i].Name, Value: t.Members[i].Type.Schema()}
		}
		add("properties", payload.NewObject(props...))
	}
	if t.Required != nil {
		add("required", payload.NewStrings(t.Required))
	}
	if t.Closed {
		add("additionalProperties", payload.NewBool(false))
	}
	return payload.NewObject(out...)
}

func (t *Type) enumKeyword() payload.Value {
	var items []payload.Value
	for _, s := range t.Enum {
		items = append(items, payload.NewString(s))
	}
	if t.Const != "" {
		items = append(items, payload.NewString(t.Const))
	}
	if t.Kinds&payload.Null != 0 {
		items = append(items, payload.NewNull())
	}
	return payload.NewArray(items)
}

func (t *Type) typeKeyword() payload.Value {
	var names []string
	for bit := payload.Object; bit >= payload.Null; bit >>= 1 {
		if t.Kinds&bit == 0 {
			continue
		}
		name := bit.String()
		if bit == payload.Number && t.Integer {
			name = "integer"
		}
		names = append(names, name)
	}
	if len(names) == 1 {
		return payload.NewString(names[0])
	}
	return payload.NewStrings(names)
}

func number(f float64) payload.Value {
	return payload.NewNumber(strconv.FormatFloat(f, 'f', -1, 64))
}
