package shell

import "strings"

// valueKind says what is known of the value of a variable.
type valueKind uint8

const (
	anything valueKind = iota // also: it may not be set
	number                    // an integer, but which one isn't known
	constant                  // text
	unset
)

// value is what a variable holds.
type value struct {
	kind valueKind
	text string
}

func known(text string) value { return value{constant, text} }

// numeric tells whether arithmetic over the value can't run anything.
func (v value) numeric() bool {
	switch v.kind {
	case number, unset:
		return true
	case constant:
		return isNumber(strings.Trim(v.text, " \t\n"))
	}
	return false
}

// isNumber accepts what both shells read as a number, and the empty text, which is 0.
func isNumber(s string) bool {
	s = strings.TrimLeft(s, "+-")
	if hex, ok := strings.CutPrefix(s, "0x"); ok && hex != "" {
		return strings.Trim(hex, "0123456789abcdefABCDEF") == ""
	}
	return strings.Trim(s, "0123456789") == ""
}

// either is what is known of a value that is one or the other.
func either(a, b value) value {
	switch {
	case a == b:
		return a
	case a.numeric() && b.numeric():
		return value{kind: number}
	}
	return value{}
}

// variable is a shell variable.
type variable struct {
	value
	integer bool // assignments are evaluated as arithmetic
	keys    bool // an associative array, whose subscripts are text
	export  bool // programs get to see it
	fixed   bool // read-only: an assignment may fail
	opaque  bool // an array, a reference, or changed by its attributes: its value isn't followed
}

func eitherVariable(a, b variable) variable {
	return variable{
		value: either(a.value, b.value), integer: a.integer || b.integer, keys: a.keys && b.keys,
		export: a.export || b.export, fixed: a.fixed || b.fixed, opaque: a.opaque || b.opaque,
	}
}
