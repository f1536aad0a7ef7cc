package interp

import (
	"errors"

	"agentd/hookpoints"
)

// MaxPrinted bounds what one run prints, in bytes.
const MaxPrinted = 64 << 10

// Listener takes what a script prints: for the trace of a call, or for a test.
type Listener struct {
	Call *hookpoints.Call
	Test func(text string)
	Left int // bytes that it still takes
}

// Line takes one line.
func (l *Listener) Line(text string) {
	if l.Left <= 0 {
		return
	}
	text = hookpoints.Cut(text, l.Left)
	l.Left -= len(text) + 1
	switch {
	case l.Test != nil:
		l.Test(text)
	case l.Call != nil && l.Call.Tracer != nil:
		l.Call.Tracer.Trace(l.Call.Binding.BindingID, "print", text)
	}
}

// Report shows an error of a call, with its backtrace, to the script's author and to nobody else.
func Report(c *hookpoints.Call, err error) {
	var e *Error
	if c.Tracer != nil && errors.As(err, &e) {
		c.Tracer.Trace(c.Binding.BindingID, "error", e.Trace())
	}
}
