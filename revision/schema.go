package revision

import (
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"agentd/hookpoints/payload"
)

// Schema is a JSON Schema that was resolved once: for hook configs at load, never for points.
type Schema struct{ resolved *jsonschema.Resolved }

// NewSchema resolves a schema; remote references are refused.
func NewSchema(v payload.Value) (*Schema, error) {
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
