package hookpoints

import (
	"errors"
	"slices"
)

// Progress keeps what hooks decided that aren't replay-safe, one by one: such a hook may have done
// something, so a chain that is computed again must not call it again. An error of Begin or End is
// the host's; it ends the chain and is returned by [Chain.Run].
type Progress interface {
	// Begin is asked just before the hook is called, on the payload that it will see. It returns what
	// the hook said the last time, or nil after it noted durably that the hook is about to run.
	Begin(c *Call, part Part) (*Said, error)
	// End notes durably what the hook said.
	End(c *Call, part Part, said Said) error
}

// Said is what a hook answered: its decisions, or one of the four errors.
type Said struct {
	Decisions []Decision
	Usage     Usage
	Err       error
}

// ParseVerb is the inverse of Verb.String.
func ParseVerb(name string) (Verb, bool) {
	i := slices.Index(verbNames[:], name)
	return Verb(max(i, 0)), i >= 0
}

// Known returns the error of a record's word.
func Known(word string) error {
	for _, err := range []error{ErrBudget, ErrNotPermitted, ErrHostTimeout} {
		if err.Error() == word {
			return err
		}
	}
	return ErrHookFailed
}

// Word is the word that a record has for the failure of a hook.
func Word(err error) string {
	for _, known := range []error{ErrBudget, ErrNotPermitted, ErrHostTimeout} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return ErrHookFailed.Error()
}

// Ignores reports whether a failure of the binding is recorded and changes nothing.
func (p *Point) Ignores(b *Binding) bool {
	return b.Untrusted || b.Background || b.FailurePolicy == Continue || p.Phase == Error || p.Phase == Finally
}
