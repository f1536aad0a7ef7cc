package shell

import "mvdan.cc/sh/v3/syntax"

// Parse reads a line.
func Parse(line string, d Dialect) Script {
	_ = syntax.LangBash
	return Script{Reasons: []string{"not read yet"}}
}

// Writes tells what files a script would change.
func Writes(s Script) Effects { return Effects{Reasons: s.Reasons} }

// Allowed tells whether everything in a script is known and allowed, and if not, why.
func Allowed(s Script, p Policy) (ok bool, why string) { return false, "not read yet" }
