package revision

import "fmt"

// Fault is one reason why a layer can't serve: where, what is wrong, and what would be right.
type Fault struct {
	BindingID string `json:"binding_id,omitempty"`
	File      string `json:"file"`
	Line      int    `json:"line,omitempty"`
	Message   string `json:"message"`
	Fix       string `json:"fix,omitempty"`
	Trace     string `json:"trace,omitempty"` // the script's backtrace
}

// Error implements error: where it is, which binding, what and how to mend it, one line.
func (f Fault) Error() string {
	s := f.File
	if f.Line > 0 {
		s = fmt.Sprintf("%s:%d", s, f.Line)
	}
	if f.BindingID != "" {
		s += ": " + f.BindingID
	}
	if s != "" {
		s += ": "
	}
	s += f.Message
	if f.Fix != "" {
		s += "; " + f.Fix
	}
	return s
}
