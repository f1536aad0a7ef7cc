//go:build !crashpoints

package main

import "agentd/revision"

// otherEngine is nothing in a release: no variable can make it say that it is another one.
func otherEngine(func(string) string) (e revision.Engine, err error) { return e, nil }

// crashPoint is nothing in a release: no variable can make it die.
func crashPoint(func(string) string) func(string) { return nil }
