package elicit

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"agentd/hookpoints/payload"
)

// What a schema may cost: a model writes it, and the daemon runs it on what a person writes.
const (
	maxSchema      = 8 << 10 // bytes
	maxSchemaDepth = 16
	maxPattern     = 500  // characters of one pattern
	maxSteps       = 2000 // of all patterns, compiled
)

// compile makes the checks of a schema. References are refused: without them its cost is bounded by
// its size.
func compile(schema payload.Value) (*jsonschema.Resolved, error) {
	if schema.Kind() != payload.Object {
		return nil, errors.New("its schema is no object")
	}
	text := schema.JSON()
	if len(text) > maxSchema || schema.Depth(maxSchemaDepth) > maxSchemaDepth {
		return nil, fmt.Errorf("its schema has more than %d bytes or %d levels", maxSchema, maxSchemaDepth)
	}
	steps := 0
	if err := cheap(schema, &steps); err != nil {
		return nil, err
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("its schema is no JSON Schema: %s", brief(err.Error()))
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("its schema is no JSON Schema: %s", brief(err.Error()))
	}
	return resolved, nil
}

// cheap looks for references and for patterns that would take long. What only looks like a keyword,
// a property of that name, is taken for one.
func cheap(v payload.Value, steps *int) error {
	for name, m := range v.Members() {
		if strings.HasPrefix(name, "$") && name != "$schema" && name != "$comment" {
			return fmt.Errorf("its schema has %.40s, which can't be used here", name)
		}
		if name == "pattern" && m.Kind() == payload.String {
			if err := cheapPattern(m.Text(), steps); err != nil {
				return err
			}
		}
		if name == "patternProperties" {
			for p := range m.Members() {
				if err := cheapPattern(p, steps); err != nil {
					return err
				}
			}
		}
		if err := cheap(m, steps); err != nil {
			return err
		}
	}
	for m := range v.Items() {
		if err := cheap(m, steps); err != nil {
			return err
		}
	}
	return nil
}

func cheapPattern(pattern string, steps *int) error {
	if len(pattern) > maxPattern {
		return fmt.Errorf("a pattern has more than %d characters", maxPattern)
	}
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return fmt.Errorf("the pattern %q is no regular expression: %s", pattern, brief(err.Error()))
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return fmt.Errorf("the pattern %q is no regular expression: %s", pattern, brief(err.Error()))
	}
	if *steps += len(prog.Inst); *steps > maxSteps {
		return errors.New("its patterns would take too long; repeat less in them")
	}
	return nil
}

// fits checks a value against a schema.
func fits(schema, v payload.Value) (err error) {
	resolved, err := compile(schema)
	if err != nil {
		return err
	}
	defer func() { // the library meets schemas that nobody has tried
		if recover() != nil {
			err = errors.New("it can't be checked against its schema")
		}
	}()
	var plain any
	if err := json.Unmarshal(v.JSON(), &plain); err != nil {
		return fmt.Errorf("it can't be read: %s", brief(err.Error()))
	}
	if err := resolved.Validate(plain); err != nil {
		return errors.New(brief(strings.TrimPrefix(err.Error(), "validating root: ")))
	}
	return nil
}
