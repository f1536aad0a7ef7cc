package interp

import (
	"errors"
	"fmt"

	"agentd/builtins/meter"
	"agentd/hookpoints"
)

// MaxMessage bounds the text of an error, which a script can make as long as its budget, in bytes.
const MaxMessage = 4 << 10

// ErrLate is why a run ended that the wall clock stopped.
var ErrLate = errors.New("the wall clock ran out")

// Ended is why a run ended, by its own state and never by the text of an error.
type Ended struct {
	Late   bool         // the wall clock stopped it
	Spent  bool         // its budget is
	Budget meter.Limits // that it had
}

// Say gives an error its cause, has its message say so where no line of the script is to blame, and
// cuts it.
func (w Ended) Say(e *Error) *Error {
	switch {
	case w.Late:
		e.Cause, e.Message = hookpoints.ErrHostTimeout, ErrLate.Error()
	case w.Spent:
		e.Cause, e.Message = hookpoints.ErrBudget, fmt.Sprintf("the budget of %d fuel and %d bytes is spent", w.Budget.Fuel, w.Budget.Bytes)
	default:
		e.Cause = hookpoints.ErrHookFailed
	}
	e.Message = hookpoints.Cut(e.Message, MaxMessage)
	return e
}
