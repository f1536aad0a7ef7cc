package hookpoints

import (
	"fmt"
	"slices"
	"strings"

	"agentd/hookpoints/payload"
)

// The fields of a scope: the fifteen of the base contract, then ours. It is a closed set.
var scopeFields = []string{
	"space_id", "actor_id", "run_id", "published_revision", "instance_id", "operation_id",
	"parent_operation_id", "call_id", "purpose", "target", "tool_id", "model_id", "kb_id",
	"index_revision", "index_signature",
	"session_id", "client", "agent", "turn", "step", "absent", "kind",
}

// ScopeFields returns the names that a scope may have.
func ScopeFields() []string { return slices.Clone(scopeFields) }

// Kinds are the normal tool kinds.
var kinds = []string{"shell", "read", "write", "edit", "search", "fetch", "mcp", "agent", "ask", "other"}

// Kinds returns the normal tool kinds.
func Kinds() []string { return slices.Clone(kinds) }

// IsKind reports whether kind is a normal tool kind.
func IsKind(kind string) bool { return slices.Contains(kinds, kind) }

// The instance classes.
const (
	Main  = "main"
	Child = "child"
)

// Scope says who and what a call is about: an object of strings, integers and nulls (absent is an
// array of the names of payload fields that a client didn't send).
type Scope struct {
	Value payload.Value
	Key   Key
}

// Key is what matching looks at. Instance is the class, main or child.
type Key struct{ Point, Purpose, Instance, Target, Kind, Client string }

// NewScope checks an object and derives what matching looks at. Missing purpose means action,
// missing instance_id means main.
func NewScope(v payload.Value) (Scope, error) {
	if !v.Exists() {
		v = payload.NewObject()
	}
	if v.Kind() != payload.Object {
		return Scope{}, fmt.Errorf("the scope is %s, want an object", v.Kind())
	}
	if n := v.Size(); n > MaxScope {
		return Scope{}, fmt.Errorf("the scope has %d bytes, at most %d are allowed", n, MaxScope)
	}
	s := Scope{Value: v, Key: Key{Purpose: "action", Instance: Main}}
	for name, kid := range v.Members() {
		if err := checkScopeField(name, kid); err != nil {
			return Scope{}, err
		}
		text := kid.Text()
		if kid.Kind() == payload.Null {
			continue
		}
		switch name {
		case "purpose":
			if s.Key.Purpose = purposeClass(text); s.Key.Purpose != text { // and that is what hooks see
				s.Value = v.With(payload.Field{Name: name, Value: payload.NewString(s.Key.Purpose)})
			}
		case "instance_id":
			if text != Main {
				s.Key.Instance = Child
			}
		case "target":
			s.Key.Target = text
		case "kind":
			s.Key.Kind = text
		case "client":
			s.Key.Client = text
		}
	}
	return s, nil
}

// purposeClass folds the internal purpose verification into completion, as the base contract does.
func purposeClass(p string) string {
	if p == "verification" {
		return "completion"
	}
	return p
}

func checkScopeField(name string, v payload.Value) error {
	if !slices.Contains(scopeFields, name) {
		return fmt.Errorf("the scope has no field %q; it has %s", name, strings.Join(scopeFields, ", "))
	}
	if name == "absent" {
		if v.Kind() != payload.Array || len(v.Strings()) != v.Len() {
			return fmt.Errorf("scope field %q is no list of strings", name)
		}
		return nil
	}
	if name == "kind" && v.Kind() == payload.String && !IsKind(v.Text()) {
		return fmt.Errorf("%q is no tool kind, want one of %v", v.Text(), kinds)
	}
	if _, isInt := v.Int64(); !isInt && v.Kind()&(payload.String|payload.Null) == 0 {
		return fmt.Errorf("scope field %q is %s, want a string, an integer or null", name, v.Kind())
	}
	return nil
}

// Get returns a field, null if the scope lacks it, absent if no scope has it.
func (s Scope) Get(name string) payload.Value {
	if v := s.Value.Get(name); v.Exists() {
		return v
	}
	if slices.Contains(scopeFields, name) {
		return payload.NewNull()
	}
	return payload.Value{}
}
