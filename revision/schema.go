package revision

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"agentd/hookpoints/payload"
)

// Schema is a JSON Schema that was resolved once: for hook configs at load, never for points.
type Schema struct{ resolved *jsonschema.Resolved }

// NewSchema resolves a schema; see [CheckReferences] for the references that it may have.
func NewSchema(v payload.Value) (*Schema, error) {
	if err := checkTypes(v, "the schema"); err != nil {
		return nil, fmt.Errorf("no JSON Schema: %w", err)
	}
	if err := CheckReferences(v); err != nil {
		return nil, fmt.Errorf("no JSON Schema that can be used: %w", err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(v.JSON(), &s); err != nil {
		return nil, fmt.Errorf("no JSON Schema: %w", err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("no JSON Schema: %w", err)
	}
	return &Schema{r}, nil
}

// Check validates a value.
func (s *Schema) Check(v payload.Value) error {
	var plain any
	if err := json.Unmarshal(v.JSON(), &plain); err != nil {
		return err
	}
	return s.resolved.Validate(plain)
}

// Where a schema holds others: as a value, in a list, and by name.
var (
	typeNames  = []string{"array", "boolean", "integer", "null", "number", "object", "string"}
	subschema  = []string{"additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"}
	subschemas = []string{"$defs", "allOf", "anyOf", "definitions", "dependentSchemas", "oneOf", "patternProperties", "prefixItems", "properties"}
)

// checkTypes refuses types that there aren't: the library takes any name, and then nothing fits.
func checkTypes(v payload.Value, where string) error {
	for name, kid := range v.Members() {
		at := where + "." + name
		switch {
		case name == "type":
			names := kid.Strings()
			if kid.Kind() == payload.String {
				names = []string{kid.Text()}
			}
			for _, n := range names {
				if !slices.Contains(typeNames, n) {
					return fmt.Errorf("%s is %q, want one of %s", at, n, strings.Join(typeNames, ", "))
				}
			}
		case slices.Contains(subschema, name):
			if err := checkTypes(kid, at); err != nil {
				return err
			}
		case slices.Contains(subschemas, name):
			if err := checkEach(kid, at); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkEach(v payload.Value, where string) error {
	for i := range v.Len() {
		at := fmt.Sprintf("%s[%d]", where, i)
		if v.Kind() == payload.Object {
			at = where + "." + v.Key(i)
		}
		if err := checkTypes(v.At(i), at); err != nil {
			return err
		}
	}
	return nil
}
