// Package contract compiles the payload schemas of points to checks over payload trees.
//
// A [Contract] is data: a closed list of fields, each with a [Type], and rules over several fields.
// It can be checked, and it can be written as JSON Schema 2020-12. It is checked whole when a host
// hands a payload in, and afterwards only in the fields that a patch named, because the rest is
// the same immutable tree. A schema library would cost three bare hook calls at each check.
package contract

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"agentd/hookpoints/payload"
)

// Type is what one field, or one item of an array, may be. The zero Type is any JSON value.
type Type struct {
	Kinds        payload.Kind // allowed kinds; 0 means any
	Integer      bool         // a number must be an integer
	Min, Max     float64      // bounds of a number, if HasMin and HasMax say so
	HasMin       bool
	HasMax       bool
	ExclusiveMin bool
	Enum         []string // the strings allowed, written without a type
	Const        string   // the only string allowed, written without a type; excludes Enum
	MinLength    int      // of a string, in characters
	MinItems     int      // of an array
	Items        *Type    // of an array's items; nil means any
	Required     []string // members an object must have
	Members      []Field  // types of an object's members
	Closed       bool     // an object may have no other members
}

// Field is a named Type.
type Field struct {
	Name     string
	Type     Type
	Required bool // of the enclosing payload
}

// The simple types.
var (
	Any    = Type{}
	Str    = Type{Kinds: payload.String}
	Bool   = Type{Kinds: payload.Bool}
	Int    = Type{Kinds: payload.Number, Integer: true}
	Num    = Type{Kinds: payload.Number}
	Obj    = Type{Kinds: payload.Object}
	Arr    = Type{Kinds: payload.Array}
	Strs   = ListOf(Str)
	Status = OneOf("not_started", "running", "succeeded", "failed", "unknown", "cancelled", "blocked")
)

// OneOf is a string out of a list.
func OneOf(values ...string) Type { return Type{Kinds: payload.String, Enum: values} }

// Only is one fixed string.
func Only(value string) Type { return Type{Kinds: payload.String, Const: value} }

// ListOf is an array of items of one type.
func ListOf(item Type) Type { return Type{Kinds: payload.Array, Items: &item} }

// Having is an object with certain members, whatever else it holds.
func Having(members ...string) Type { return Type{Kinds: payload.Object, Required: members} }

// Nullable also takes null.
func (t Type) Nullable() Type {
	t.Kinds |= payload.Null
	return t
}

// AtLeast bounds a number from below.
func (t Type) AtLeast(n float64) Type {
	t.Min, t.HasMin = n, true
	return t
}

// Above bounds a number from below, the bound itself excluded.
func (t Type) Above(n float64) Type {
	t.Min, t.HasMin, t.ExclusiveMin = n, true, true
	return t
}

// AtMost bounds a number from above.
func (t Type) AtMost(n float64) Type {
	t.Max, t.HasMax = n, true
	return t
}

// check returns what is wrong with v, or "".
func (t *Type) check(v payload.Value) string {
	if t.Kinds != 0 && v.Kind()&t.Kinds == 0 {
		return fmt.Sprintf("is %s, want %s", v.Kind(), t.name())
	}
	switch v.Kind() {
	case payload.String:
		return t.checkString(v)
	case payload.Number:
		return t.checkNumber(v)
	case payload.Array:
		return t.checkArray(v)
	case payload.Object:
		return t.checkObject(v)
	}
	return ""
}

func (t *Type) name() string {
	if t.Integer {
		return strings.ReplaceAll(t.Kinds.String(), "number", "integer")
	}
	return t.Kinds.String()
}

func (t *Type) checkString(v payload.Value) string {
	switch {
	case t.Const != "" && v.Text() != t.Const:
		return fmt.Sprintf("is not %q", t.Const)
	case t.Enum != nil && !slices.Contains(t.Enum, v.Text()):
		return "is none of " + strings.Join(t.Enum, ", ")
	case t.MinLength > 0 && utf8.RuneCountInString(v.Text()) < t.MinLength:
		return fmt.Sprintf("is shorter than %d", t.MinLength)
	}
	return ""
}

func (t *Type) checkNumber(v payload.Value) string {
	if !t.Integer && !t.HasMin && !t.HasMax {
		return ""
	}
	f, ok := v.Float64()
	switch {
	case !ok:
		return "is out of range"
	case t.Integer && f != math.Trunc(f): // 3.0 is an integer to JSON Schema
		return "is no integer"
	case t.HasMin && (f < t.Min || t.ExclusiveMin && f == t.Min):
		return "is below its least value"
	case t.HasMax && f > t.Max:
		return "is above its greatest value"
	}
	return ""
}

func (t *Type) checkArray(v payload.Value) string {
	if v.Len() < t.MinItems {
		return fmt.Sprintf("has fewer than %d items", t.MinItems)
	}
	if t.Items == nil {
		return ""
	}
	i := 0
	for item := range v.Items() {
		if why := t.Items.check(item); why != "" {
			return fmt.Sprintf("item %d %s", i, why)
		}
		i++
	}
	return ""
}

func (t *Type) checkObject(v payload.Value) string {
	for _, name := range t.Required {
		if !v.Get(name).Exists() {
			return fmt.Sprintf("lacks %q", name)
		}
	}
	for i := range t.Members {
		m := &t.Members[i]
		if kid := v.Get(m.Name); kid.Exists() {
			if why := m.Type.check(kid); why != "" {
				return fmt.Sprintf("member %q %s", m.Name, why)
			}
		}
	}
	if t.Closed {
		for name := range v.Members() {
			if !slices.ContainsFunc(t.Members, func(m Field) bool { return m.Name == name }) {
				return fmt.Sprintf("has an unknown member %q", name)
			}
		}
	}
	return ""
}
