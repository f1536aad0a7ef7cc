package contract

import (
	"fmt"
	"slices"

	"agentd/hookpoints/payload"
)

// Contract is the closed record of one point in one version. It is immutable.
type Contract struct {
	fields []Field
	at     map[string]int
	rules  []Rule
}

// Rule is a condition over several fields: a check, and the same thing as JSON Schema keywords.
type Rule struct {
	Over   []string                   // the fields it looks at, the first is blamed
	Check  func(payload.Value) string // what is wrong, or ""
	Schema []payload.Field            // keywords beside "properties"
}

// Fault says which field broke its contract and how. Field is "" for the payload as a whole.
type Fault struct{ Field, Message string }

// Error implements error.
func (f *Fault) Error() string {
	if f.Field == "" {
		return "the payload " + f.Message
	}
	return fmt.Sprintf("field %q %s", f.Field, f.Message)
}

// New makes a contract. It panics on a repeated field: contracts are program text.
func New(fields []Field, rules ...Rule) *Contract {
	c := &Contract{fields, make(map[string]int, len(fields)), rules}
	for i, f := range fields {
		if _, dup := c.at[f.Name]; dup {
			panic("contract: field declared twice: " + f.Name)
		}
		c.at[f.Name] = i
	}
	return c
}

// Fields returns the fields in their order; the caller must not change them.
func (c *Contract) Fields() []Field { return c.fields }

// Has reports whether the contract knows a field.
func (c *Contract) Has(name string) bool { _, ok := c.at[name]; return ok }

// Check checks a whole payload and returns a *Fault.
func (c *Contract) Check(v payload.Value) error {
	if v.Kind() != payload.Object {
		return &Fault{"", "is not an object"}
	}
	seen := 0
	for i := range c.fields {
		f := &c.fields[i]
		kid := v.Get(f.Name)
		if !kid.Exists() {
			if f.Required {
				return &Fault{f.Name, "is missing"}
			}
			continue
		}
		seen++
		if why := f.Type.check(kid); why != "" {
			return &Fault{f.Name, why}
		}
	}
	if seen != v.Len() {
		for name := range v.Members() {
			if !c.Has(name) {
				return &Fault{name, "is not part of this point"}
			}
		}
	}
	return c.hold(v, nil)
}

// CheckPatch checks only the fields of a patch and the rules over them; after is the patched tree.
func (c *Contract) CheckPatch(after payload.Value, fields []payload.Field) error {
	for _, p := range fields {
		i, ok := c.at[p.Name]
		if !ok {
			return &Fault{p.Name, "is not part of this point"}
		}
		if why := c.fields[i].Type.check(p.Value); why != "" {
			return &Fault{p.Name, why}
		}
	}
	return c.hold(after, fields)
}

// hold checks the rules that look at one of the fields; nil means all of them.
func (c *Contract) hold(v payload.Value, fields []payload.Field) error {
	for _, r := range c.rules {
		touched := fields == nil || slices.ContainsFunc(fields, func(f payload.Field) bool { return slices.Contains(r.Over, f.Name) })
		if !touched {
			continue
		}
		if why := r.Check(v); why != "" {
			return &Fault{r.Over[0], why}
		}
	}
	return nil
}
