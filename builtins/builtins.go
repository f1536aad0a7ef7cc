// Package builtins is what scripts can call, written once for all languages. A builtin takes and
// returns JSON values only: no callbacks, no handles, no interpreter types. Languages adapt them.
//
// A builtin can only be made with its charge, see [New]: nothing that a script calls works before
// its worst case is paid for.
package builtins

import (
	"fmt"

	"agentd/builtins/meter"
	"agentd/hookpoints/payload"
)

// Version numbers the set; it is in the manifest.
const Version = 1

// Param is one parameter. Kinds 0 means any; an optional one may be absent.
type Param struct {
	Name     string
	Kinds    payload.Kind
	Optional bool
}

// Func is one builtin.
type Func struct {
	Name   string // "path.inside": module and name
	Params []Param
	Doc    string // one sentence
	cost   Charge
	call   Body
}

// Charge is the worst case of a call, from its arguments alone. Absent arguments are zero Values.
type Charge func(args []payload.Value) meter.Cost

// Body does the work. Its error is shown to the script's author, without the builtin's name.
type Body func(args []payload.Value) (payload.Value, error)

// New makes a builtin. It panics without a charge or a body: builtins are program text.
func New(name, doc string, params []Param, cost Charge, call Body) *Func {
	if cost == nil || call == nil {
		panic("builtins: " + name + " has no charge or no body")
	}
	return &Func{name, params, doc, cost, call}
}

// Call checks the arguments, charges, and only then works. It takes one argument a parameter.
func (f *Func) Call(m *meter.Meter, args []payload.Value) (payload.Value, error) {
	if err := fit(f.Name, f.Params, args); err != nil {
		return payload.Value{}, err
	}
	if err := m.Charge(f.cost(args)); err != nil {
		return payload.Value{}, err
	}
	out, err := f.call(args)
	if err != nil {
		return payload.Value{}, fmt.Errorf("%s: %w", f.Name, err)
	}
	return out, nil
}

// Misfit is an argument of another kind than its parameter's.
type Misfit struct {
	Func  string // whose argument it is
	Param Param
	Place int // among the parameters, from 0
	Got   payload.Value
}

// Error implements error.
func (m *Misfit) Error() string {
	return fmt.Sprintf("%s: argument %s is %s, want %s", m.Func, m.Param.Name, m.Got.Kind(), m.Param.Kinds)
}

// fit holds arguments, one a parameter, against the parameters. A wrong kind is a *Misfit.
func fit(name string, params []Param, args []payload.Value) error {
	for i, p := range params {
		if !args[i].Exists() {
			if !p.Optional {
				return fmt.Errorf("%s: argument %s is missing", name, p.Name)
			}
		} else if p.Kinds != 0 && args[i].Kind()&p.Kinds == 0 {
			return &Misfit{name, p, i, args[i]}
		}
	}
	return nil
}

// All returns the shared builtins, sorted by name.
func All() []*Func { return all }

var all = sorted()
