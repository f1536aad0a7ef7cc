package starlark

import (
	"fmt"

	"go.starlark.net/starlark"
)

func mustBe(v starlark.Value, want string) error {
	return fmt.Errorf("it is %s, want %s", v.Type(), want)
}

// strings reads a list or tuple of at most so many strings.
func (r *run) strings(v starlark.Value, most int) ([]string, error) {
	s, ok := sequenceOf(v)
	if !ok {
		return nil, mustBe(v, "a list of strings")
	}
	n := s.len()
	if n > most {
		return nil, fmt.Errorf("it has %d items, at most %d are allowed", n, most)
	}
	if err := r.charge(2+int64(n), slotBytes*int64(n)); err != nil {
		return nil, err
	}
	out := make([]string, n)
	for i := range out {
		item, err := s.at(r, i)
		if err != nil {
			return nil, err
		}
		text, ok := item.(starlark.String)
		if !ok {
			return nil, fmt.Errorf("item %d is %s, want string", i, item.Type())
		}
		out[i] = string(text)
	}
	return out, nil
}

// hookFunction reads a function that takes the context and the payload.
func hookFunction(v starlark.Value) (*starlark.Function, error) {
	fn, ok := v.(*starlark.Function)
	if !ok {
		return nil, mustBe(v, "a function of the script")
	}
	most := fn.NumParams() - fn.NumKwonlyParams()
	if fn.HasKwargs() {
		most--
	}
	least := 0
	for i := range most {
		if fn.ParamDefault(i) == nil {
			least++
		}
	}
	if fn.HasVarargs() {
		most, least = 2, least-1
	}
	if least > 2 || most < 2 || fn.NumKwonlyParams() > 0 && !optionalOnly(fn) {
		return nil, fmt.Errorf("%s can't be called with two arguments, the context and the payload", fn.Name())
	}
	return fn, nil
}

// optionalOnly reports whether all parameters that only go by name have a default.
func optionalOnly(fn *starlark.Function) bool {
	rest := fn.NumParams()
	for _, extra := range []bool{fn.HasKwargs(), fn.HasVarargs()} {
		if extra {
			rest--
		}
	}
	for i := rest - fn.NumKwonlyParams(); i < rest; i++ {
		if fn.ParamDefault(i) == nil {
			return false
		}
	}
	return true
}
