package interptest

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"agentd/hookpoints"
	"agentd/interp"
)

// What an attack may really allocate, garbage included.
const (
	HeapFactor = 3       // bytes for one that it was charged
	HeapSlack  = 4 << 20 // what loading and one call take whatever they do
)

// Outcome is what became of an attack.
type Outcome struct {
	Err       error
	Text      string // the error, the decisions and what was used, while loading and in the call
	Charged   int64  // bytes
	Read      int64  // bytes of all files
	Allocated int64  // bytes
}

// Called adds to an outcome what a call decided and used.
func (o *Outcome) Called(list []hookpoints.Decision, use hookpoints.Usage) {
	o.Charged += use.Bytes
	o.Text += fmt.Sprintf(" call %+v", use)
	for _, d := range list {
		o.Text += fmt.Sprintf(" %v %q %v", d.Verb, d.Text, d.Value)
	}
}

// Check holds an outcome against how the attack says that it ends.
func (a Attack) Check(t *testing.T, o Outcome) {
	t.Helper()
	var fault *interp.Error
	if o.Err != nil && !errors.As(o.Err, &fault) {
		t.Errorf("the error is no *interp.Error: %v", o.Err)
		return
	}
	failed := fault != nil && (strings.Contains(fault.Error(), "the interpreter failed") || strings.Contains(fault.Error(), "the compiler failed"))
	switch {
	case failed,
		a.Ends == EndsFine && fault != nil,
		a.Ends == EndsBudget && !errors.Is(o.Err, hookpoints.ErrBudget),
		a.Ends == EndsError && (!errors.Is(o.Err, hookpoints.ErrHookFailed) || !a.Pattern.MatchString(o.Err.Error())):
		t.Errorf("got %s", o.Text)
	}
}

// Allocated is how many bytes the process ever allocated.
func Allocated() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.TotalAlloc)
}
