package tool

import (
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"agentd/hookpoints/payload"
	"agentd/revision"
)

// Schema holds arguments to the parameters of a tool.
type Schema struct {
	name       string
	parameters payload.Value
	resolved   *jsonschema.Resolved
}

// NewSchema makes the schema of a tool of this name.
func NewSchema(name string, parameters payload.Value) (*Schema, error) {
	if err := revision.CheckReferences(parameters); err != nil {
		return nil, fmt.Errorf("the parameters of the tool %q are no JSON Schema that can be used: %w", name, err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(parameters.JSON(), &schema); err != nil {
		return nil, fmt.Errorf("the parameters of the tool %q are no JSON Schema: %w", name, err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("the parameters of the tool %q are no JSON Schema: %w", name, err)
	}
	return &Schema{name, parameters, resolved}, nil
}

// Validate says why arguments don't fit; it wraps ErrArguments.
func (s *Schema) Validate(arguments payload.Value) error {
	if arguments.Kind() != payload.Object {
		return fmt.Errorf("%w the tool %s: they must be an object", ErrArguments, s.name)
	}
	var plain any
	err := json.Unmarshal(arguments.JSON(), &plain)
	if err == nil {
		err = s.resolved.Validate(plain)
	}
	if err != nil {
		return fmt.Errorf("%w the tool %s: %s", ErrArguments, s.name, misfit(s.parameters, arguments, err))
	}
	return nil
}
