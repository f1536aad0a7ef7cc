package revision

import (
	"fmt"
	"strings"
	"testing"

	"agentd/hookpoints/payload"
)

func TestSchemasThatWouldBeFollowedForTooLongAreRefused(t *testing.T) {
	doubling := `"a0": {"type": "object"}`
	for i := 1; i <= 40; i++ {
		doubling += fmt.Sprintf(`, "a%d": {"allOf": [{"$ref": "#/$defs/a%d"}, {"$ref": "#/$defs/a%d"}]}`, i, i-1, i-1)
	}
	for text, says := range map[string]string{
		`{"$ref": "#"}`:                        "no end",
		`{"allOf": [{"$ref": "#"}]}`:           "no end",
		`{"properties": {"a": {"$ref": "#"}}}`: "no end",
		`{"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}`: "no end",
		`{"$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}}`:                                         "no end",
		`{"$defs": {"a/b": {"$ref": "#/$defs/a~1b"}}}`:                                             "no end",
		`{"allOf": [{"$ref": "#/allOf/0"}]}`:                                                       "no end",
		`{"$ref": "#/allOf/0", "allOf": [{"if": {"$ref": "#"}}]}`:                                  "no end",
		`{"$defs": {` + doubling + `}, "$ref": "#/$defs/a40"}`:                                     "more than 10000",
		`{"$defs": {` + doubling + `}}`:                                                            "more than 10000",
		`{"anyOf": [` + strings.Repeat(`{},`, 10_000) + `{}]}`:                                     "more than 10000",
		`{"$ref": ""}`:           "isn't by place",
		`{"$ref": "other.json"}`: "isn't by place",
		`{"$id": "https://example.com/s", "$ref": "https://example.com/s"}`: "isn't by place",
		`{"$ref": "#a"}`: "isn't by place",
		`{"$defs": {"a": {}}, "$ref": "#/%24defs/a"}`:                                                "isn't by place",
		`{"$ref": "#/$defs/a"}`:                                                                      "refers to nothing",
		`{"$dynamicRef": "#"}`:                                                                       "$dynamicRef",
		`{"$dynamicAnchor": "a", "$dynamicRef": "#a"}`:                                               "$dynamicAnchor",
		`{"$recursiveAnchor": true, "$recursiveRef": "#"}`:                                           "$recursiveAnchor",
		`{"$anchor": "a", "properties": {"a": {"$ref": "#a"}}}`:                                      "$anchor",
		`{"properties": {"a": {"$id": "x", "properties": {"b": {"$ref": "#"}}}}}`:                    "$id",
		`{"$defs": {"a": {"$id": "x"}}}`:                                                             "$id",
		`{"type": "object", "properties": {"a": {"items": {"$ref": "#/properties/a"}}}}`:             "no end",
		`{"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {"$ref":"#"}}}`: "no end",
	} {
		v, err := payload.ParseString(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := NewSchema(v); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.100s: %v, want %s", text, err, says)
		}
	}
}

func TestReferencesByPlaceAreFollowed(t *testing.T) {
	v, err := payload.ParseString(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "$comment": "x",
		"$defs": {"small": {"type": "integer", "maximum": 9}, "pair": {"type": "array", "items": {"$ref": "#/$defs/small"}}},
		"properties": {"a": {"$ref": "#/$defs/small"}, "b": {"$ref": "#/$defs/pair"}, "$c": {"$ref": "#/properties/a"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSchema(v)
	if err != nil {
		t.Fatal(err)
	}
	for text, fits := range map[string]bool{`{"a": 9, "b": [1, 2], "$c": 3}`: true, `{"a": 10}`: false, `{"b": [1, 10]}`: false, `{"$c": "x"}`: false} {
		v, err := payload.ParseString(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Check(v); (err == nil) != fits {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// FuzzSchema looks for schemas that the library doesn't survive.
func FuzzSchema(f *testing.F) {
	for _, s := range [][2]string{
		{`{"type": ["object", "null"], "required": ["a"], "additionalProperties": false, "properties": {"a": {"type": "integer", "minimum": 1, "multipleOf": 3}}}`, `{"a": 3}`},
		{`{"$defs": {"a": {"enum": [1, null, "x"]}}, "items": {"$ref": "#/$defs/a"}, "prefixItems": [{"const": {}}], "uniqueItems": true, "contains": true, "minContains": 0, "unevaluatedItems": false}`, `[{}, 1, null]`},
		{`{"allOf": [{"if": {"minLength": 2}, "then": {"pattern": "^a"}, "else": {"maxLength": 1}}, {"oneOf": [true, false]}], "anyOf": [{}], "not": false}`, `"ab"`},
		{`{"patternProperties": {"^a": {"type": "string"}}, "propertyNames": {"maxLength": 3}, "dependentRequired": {"a": ["b"]}, "dependentSchemas": {"a": {}}, "minProperties": 1, "unevaluatedProperties": {"type": "null"}}`, `{"a": "x", "b": null}`},
		{`{"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {"$ref": "#/definitions/b"}, "b": true}, "dependencies": {"a": ["b"]}, "items": [{"$ref": "#/definitions/a"}], "additionalItems": false}`, `[1]`},
		{`{"$id": "https://example.com/", "$comment": "c", "title": "t", "default": 1, "format": "date", "$vocabulary": {"x": true}}`, `1e400`},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, schema, value string) {
		v, err := payload.ParseString(schema)
		if err != nil {
			return
		}
		s, err := NewSchema(v)
		if err != nil {
			return
		}
		if v, err = payload.ParseString(value); err == nil {
			_ = s.Check(v)
		}
	})
}
