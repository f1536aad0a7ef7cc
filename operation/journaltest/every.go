package journaltest

import (
	"agentd/hookpoints/payload"
	"agentd/operation"
)

// EveryRow is rows of each type, with v wherever a value can be: for tests that must leave none out.
func EveryRow(op string, v payload.Value) []operation.Row { return everyRow(op, v) }
