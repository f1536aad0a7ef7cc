package elicit

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"agentd/hookpoints/payload"
)

// Parse reads a question as a model or a host writes it, and as [Question.Payload] does:
//
//	{"kind", "prompt", "options": [TEXT], "fields": [{"name", "kind", "prompt", "required", "options", "schema"}],
//	 "schema": JSON Schema, "pattern", "min", "max"}
//
// Pattern, min and max, the least and greatest length in characters, are short for the schema of a
// text. Without a kind it is text. The error wraps ErrQuestion.
func Parse(v payload.Value) (Question, error) {
	q, err := parse(v)
	if err != nil {
		return Question{}, fmt.Errorf("%w: %w", ErrQuestion, err)
	}
	return q, q.Check()
}

func parse(v payload.Value) (Question, error) {
	if v.Kind() != payload.Object {
		return Question{}, errors.New("it is no object")
	}
	whole, err := parseField(v)
	if err != nil {
		return Question{}, err
	}
	q := Question{Kind: whole.Kind, Prompt: whole.Prompt, Options: whole.Options, Schema: whole.Schema}
	fields := v.Get("fields")
	if given(fields) && fields.Kind() != payload.Array {
		return q, errors.New("its fields are no list")
	}
	for f := range fields.Items() {
		if f.Kind() != payload.Object {
			return q, errors.New("a field is no object")
		}
		field, err := parseField(f)
		if err != nil {
			return q, fmt.Errorf("field %.64s: %w", f.Get("name").Text(), err)
		}
		field.Name, field.Required = f.Get("name").Text(), f.Get("required").IsTrue()
		q.Fields = append(q.Fields, field)
	}
	return q, nil
}

func parseField(v payload.Value) (Field, error) {
	f := Field{Kind: Kind(v.Get("kind").Text()), Prompt: v.Get("prompt").Text()}
	if f.Kind == "" {
		f.Kind = Text
	}
	if options := v.Get("options"); given(options) {
		if f.Options = options.Strings(); options.Kind() != payload.Array || len(f.Options) != options.Len() {
			return f, errors.New("its options are no list of texts")
		}
	}
	var err error
	f.Schema, err = schemaOf(v)
	return f, err
}

// given: null says as little as nothing.
func given(v payload.Value) bool { return v.Exists() && v.Kind() != payload.Null }

// schemaOf is the schema of an answer, spelled out where pattern, min and max stand for one.
func schemaOf(v payload.Value) (payload.Value, error) {
	schema, pattern, least, most := v.Get("schema"), v.Get("pattern"), v.Get("min"), v.Get("max")
	short := given(pattern) || given(least) || given(most)
	switch {
	case given(schema) && short:
		return payload.Value{}, errors.New("pattern, min and max stand in the schema where there is one")
	case given(schema):
		return schema, nil
	case !short:
		return payload.Value{}, nil
	}
	fields := []payload.Field{field("type", payload.NewString("string"))}
	if given(pattern) {
		fields = append(fields, field("pattern", pattern))
	}
	if given(least) {
		fields = append(fields, field("minLength", least))
	}
	if given(most) {
		fields = append(fields, field("maxLength", most))
	}
	return payload.NewObject(fields...), nil
}

// Payload is the question as the point elicit shows it: kind, prompt, options, fields, sensitive, and
// schema if there is one. Prompts are as they were asked.
func (q Question) Payload() payload.Value {
	fields := make([]payload.Value, len(q.Fields))
	for i, f := range q.Fields {
		fields[i] = payload.NewObject(field("name", payload.NewString(f.Name)), field("kind", payload.NewString(string(f.Kind))), field("prompt", payload.NewString(f.Prompt)),
			field("required", payload.NewBool(f.Required)), field("options", payload.NewStrings(f.Options)), field("schema", f.Schema))
	}
	return payload.NewObject(field("kind", payload.NewString(string(q.Kind))), field("prompt", payload.NewString(q.Prompt)),
		field("options", payload.NewStrings(q.Options)), field("fields", payload.NewArray(fields)),
		field("sensitive", payload.NewBool(q.Sensitive())), field("schema", q.Schema))
}

// Label is what a person is shown for a field.
func (f Field) Label() string {
	if strings.TrimSpace(f.Prompt) != "" {
		return f.Prompt
	}
	return f.Name
}

func field(name string, v payload.Value) payload.Field { return payload.Field{Name: name, Value: v} }

// brief cuts a message, which may quote what it is about.
func brief(s string) string {
	const most = 300
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "..."
}
